// Shows the other answers to a question beside the one on the open branch. The address contains the question, so that a
// reload shows them again; nothing else stores it.

import { closestTo, find, fromTemplate, parse, seek, showsAs } from "../page/dom.js";
import { t, tn } from "../language/words.js";
import { finishAll } from "../page/finishing.js";
import { Exchange } from "./exchange.js";
import { refusal } from "../language/refusals.js";
import { toast } from "../page/menus.js";
import { read, messageOf, postForm } from "../page/server.js";

/** @import { ChatComposer } from "../composer/composer.js" */
/** @import { ChatTranscript } from "../chat/transcript.js" */

/**
 * @typedef {object} Open what is compared
 * @property {Exchange} exchange
 * @property {string} question
 * @property {HTMLElement} section that contains the other versions
 * @property {HTMLElement[]} versions all of them, including the one that the exchange shows
 * @property {HTMLElement} head of the answer that the exchange shows
 * @property {string} asked the model that writes a version that is not stored yet
 * @property {MutationObserver} watching
 */

const RUNNING = "running";

export class Comparison {
  #transcript;
  /** @type {Open | null} */
  #open = null;
  #isKept = false;

  /** @param {ChatTranscript} transcript */
  constructor(transcript) {
    this.#transcript = transcript;
  }

  listen() {
    this.#transcript.addEventListener("submit", this.#kept);
    this.#transcript.addEventListener("chat:branch", this.#replaced);
    this.#transcript.addEventListener("click", (event) => {
      if (closestTo(event, "[data-action=end-comparison]")) this.#end();
    });
    const question = new URLSearchParams(location.search).get("compare");
    const exchange = question && this.#transcript.exchanges.find((each) => each.question === question);
    if (exchange) void this.show(exchange);
  }

  /**
   * @param {Exchange} exchange
   * @param {string} [asked] the model that is about to write one more version
   * @returns {Promise<boolean>} false if the versions could not be fetched
   */
  async show(exchange, asked = "") {
    const question = exchange.question;
    const section = question ? await fetched(question) : null;
    if (!question || !section || !exchange.element.isConnected) return false;
    this.#close();
    const watching = new MutationObserver(() => this.#changed());
    watching.observe(exchange.element, { attributeFilter: ["data-turn", "data-state"] });
    const head = fromTemplate("current-version", HTMLElement);
    this.#open = { exchange, question, section, versions: versionsIn(section), head, asked, watching };
    // Following the newest text would scroll to the end of the longest version.
    this.#dispatch("chat:comparing");
    find(exchange.element, ":scope > .answer", HTMLElement).before(head);
    exchange.element.append(section);
    this.#render(this.#open);
    exchange.element.scrollIntoView({ block: "start" });
    showsAs(`${location.pathname}?at=${question}&compare=${question}#m-${question}`);
    return true;
  }

  /**
   * Shows the versions of an exchange, or hides them.
   * @param {HTMLElement} element
   */
  async toggle(element) {
    if (this.#open?.exchange.element === element) return this.#end();
    await this.show(Exchange.of(element));
    if (!this.#open) return;
    find(this.#open.head, ".version-name", HTMLElement).focus({ preventScroll: true });
    const count = this.#open.versions.length;
    this.#dispatch("chat:announce", tn("%(n)s version side by side", "%(n)s versions side by side", count));
  }

  /** @param {Exchange} exchange @param {HTMLElement} chosen from the menu of models */
  async answerAgain(exchange, chosen) {
    if (isBusy()) return toast(refusal("E-X-BUSY"));
    const isShown = await this.show(exchange, chosen.textContent ?? "");
    const { question } = exchange;
    if (!isShown || !question) return;
    // Meanwhile the person may have asked something else, here or in another tab.
    if (isBusy()) return toast(refusal("E-X-BUSY"));
    const { choice } = chosen.dataset;
    this.#transcript.dispatchEvent(new CustomEvent("chat:regenerate", { detail: { question, choice } }));
  }

  /**
   * Continues the conversation with another version.
   * @param {SubmitEvent} event
   */
  #kept = async (event) => {
    const form = closestTo(event, "form.version-keep");
    const button = event.submitter;
    const open = this.#open;
    if (!open || !(form instanceof HTMLFormElement) || !(button instanceof HTMLButtonElement)) return;
    event.preventDefault();
    this.#isKept = true;
    await openBranch(this.#transcript, open.exchange, form.action, button.value, focusTools);
    this.#isKept = false;
    this.#close();
  };

  /** The transcript was replaced: reopens the comparison at the exchange with the same question. */
  #replaced = () => {
    if (!this.#open || this.#isKept || this.#open.exchange.element.isConnected) return;
    const { question } = this.#open;
    const exchange = this.#transcript.exchanges.find((each) => each.question === question);
    this.#close();
    if (exchange) void this.show(exchange);
  };

  /** Another turn answers the question, or the answer has ended. */
  async #changed() {
    const open = this.#open;
    if (!open) return;
    if (open.exchange.state !== RUNNING) {
      const section = await fetched(open.question);
      if (!section || this.#open !== open) return;
      open.section.replaceWith(section);
      open.section = section;
      open.versions = versionsIn(section);
    }
    this.#render(open);
  }

  /** @param {Open} open */
  #render({ exchange, section, versions, head, asked }) {
    const mine = versions.find((version) => isShown(version, exchange.element));
    for (const version of versions) {
      if (version === mine) version.remove();
      else if (!version.isConnected) section.prepend(version);
    }
    const name = mine && find(mine, ".version-name", HTMLElement);
    find(head, ".version-name", HTMLElement).replaceChildren(...(name ? copies(name) : [asked || t("New version")]));
    // They are newest first: the newest stands at the end of the row, as the later one.
    exchange.element.classList.toggle("shows-newest", !mine || mine === versions[0]);
    exchange.element.classList.toggle("comparing", versions.some((version) => version !== mine));
    const button = seek(exchange.element, "[data-action=compare]", HTMLElement);
    if (button) button.ariaExpanded = "true";
    finishAll(section);
  }

  /**
   * @param {string} name
   * @param {string} [detail]
   */
  #dispatch(name, detail) {
    this.#transcript.dispatchEvent(new CustomEvent(name, { detail }));
  }

  /** Closes the comparison with the answer that the exchange shows. */
  #end() {
    const element = this.#open?.exchange.element;
    this.#close();
    if (element) focusTools(element);
  }

  #close() {
    if (!this.#open) return;
    const { exchange, head, section, watching } = this.#open;
    this.#open = null;
    watching.disconnect();
    head.remove();
    section.remove();
    exchange.element.classList.remove("comparing");
    const button = seek(exchange.element, "[data-action=compare]", HTMLElement);
    if (button) button.ariaExpanded = "false";
    showsAs(location.pathname);
  }
}

/** Whether an answer is being written or requested: the server would refuse a second one. */
function isBusy() {
  const composer = /** @type {ChatComposer | null} */ (seek(document, "chat-composer", HTMLElement));
  return composer?.isRunning ?? false;
}

/** @param {HTMLElement} exchange */
function focusTools(exchange) {
  const compare = seek(exchange, "[data-action=compare]", HTMLElement);
  (compare ?? seek(exchange, ".answer-tools button", HTMLElement))?.focus({ preventScroll: true });
}

// All answers to a question, as the server shows them side by side.

/**
 * @param {string} question
 * @returns {Promise<HTMLElement | null>} the section with all answers to it
 */
async function fetched(question) {
  try {
    return find(parse(await read(`${location.pathname}messages/${question}/answers/`)), ".other-versions", HTMLElement);
  } catch (error) {
    toast(error instanceof Error ? error.message : t("The other versions could not be shown."));
    return null;
  }
}

/** @param {HTMLElement} section */
function versionsIn(section) {
  return [...section.querySelectorAll(".version")].filter((version) => version instanceof HTMLElement);
}

/**
 * Whether the exchange shows this very version.
 * @param {HTMLElement} version
 * @param {HTMLElement} exchange
 */
function isShown(version, exchange) {
  const { turn, imported } = exchange.dataset;
  if (turn || !imported) return version.dataset.ofTurn === turn;
  return seek(version, `[data-message="${CSS.escape(imported)}"]`, HTMLElement) !== null;
}

/** @param {HTMLElement} element */
function copies(element) {
  return [...element.childNodes].map((node) => node.cloneNode(true));
}

// Switches between versions of a question or an answer without a reload. Dispatches "chat:branch" when one is shown.

/**
 * Another version was chosen.
 * @param {ChatTranscript} transcript
 * @param {HTMLFormElement} form
 * @param {HTMLButtonElement} button that was pressed
 */
export async function showVersion(transcript, form, button) {
  const exchange = transcript.exchanges.find((exchange) => exchange.element.contains(form));
  const group = find(form, "[role=group]", HTMLElement).getAttribute("aria-label");
  const [place, label] = [`.siblings [role=group][aria-label="${group}"]`, button.getAttribute("aria-label")];
  await openBranch(transcript, exchange, form.action, button.value, (shown) => focus(shown, place, label));
}

/**
 * Opens the branch that contains a message, without moving what is on the screen.
 * @param {ChatTranscript} transcript
 * @param {Exchange | undefined} exchange with the message
 * @param {string} action the address that opens branches
 * @param {string} message
 * @param {(shown: HTMLElement) => void} opened is called with the exchange as it is on that branch, to move the focus
 */
export async function openBranch(transcript, exchange, action, message, opened) {
  const questions = [exchange?.question, message];
  const top = exchange?.element.getBoundingClientRect().top ?? 0;
  try {
    const html = await postForm(action, new URLSearchParams({ message }));
    transcript.replace(parse(html));
    transcript.dispatchEvent(new CustomEvent("chat:branch"));
  } catch (error) {
    toast(messageOf(error));
    return;
  }
  const shown = transcript.exchanges.find(({ question }) => questions.includes(question))?.element;
  if (!shown) return;
  opened(shown);
  // After focusing, because that scrolls to elements that were not laid out before, even with preventScroll.
  const scroller = transcript.closest(".scroller");
  if (scroller) scroller.scrollTop += shown.getBoundingClientRect().top - top;
}

/**
 * The pressed button was replaced by a new element: moves the focus there, so that keyboard users keep their place.
 * @param {HTMLElement} exchange
 * @param {string} group
 * @param {string | null} label
 */
function focus(exchange, group, label) {
  const place = seek(exchange, group, HTMLElement);
  if (!place) return;
  const same = seek(place, `button[aria-label="${label}"]:enabled`, HTMLElement);
  (same ?? seek(place, "button:enabled", HTMLElement))?.focus({ preventScroll: true });
}
