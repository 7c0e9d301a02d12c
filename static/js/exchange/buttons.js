// The buttons of the exchanges. They copy text, open the editor, and dispatch "chat:edit", "chat:regenerate",
// "chat:continue" or "chat:answer-now" for the server, and "chat:take-back" to cancel a message that the server does
// not have. "chat:editing" and "chat:edited" tell when an editor has opened and when what was written in it was taken.

import { t } from "../language/words.js";
import { codeBeside, copy, copyLater, tableBeside } from "../page/code.js";
import { closestTo, find, fromTemplate, lifeOf, seek } from "../page/dom.js";
import { read } from "../page/server.js";
import { toast, menuOpener } from "../page/menus.js";
import { Exchange } from "./exchange.js";
import { toggleFold, sourceOf } from "./question.js";

/** @import { ChatComposer } from "../composer/composer.js" */
/** @import { QuestionEditor } from "./question-editor.js" */
/** @import { ChatTranscript } from "../chat/transcript.js" */
/** @import { Comparison } from "./comparison.js" */

/** @typedef {import("../files/chip.js").AttachedFile[] | null} Files */
/** @typedef {{ question: string, text: string, files: Files }} EditRequest */
/** @typedef {{ exchange: Exchange, form: HTMLFormElement, editor?: QuestionEditor }} Edit `editor`: once loaded */
/** @typedef {{ question: string, choice?: string }} RegenerateRequest `choice`: for this answer alone */
/** @typedef {{ turn: string }} ContinueRequest */

const COPIED_MS = 2_000;

export class ExchangeButtons {
  #transcript;
  /** The question that is being edited. @type {Edit | null} */
  #edit = null;
  /** The most characters that a question may have. */
  limit = Infinity;

  /** @param {HTMLElement} transcript */
  constructor(transcript) {
    this.#transcript = transcript;
  }

  listen() {
    this.#transcript.addEventListener("click", this.#clicked);
  }

  /** The exchange whose question is being edited, or null. */
  get editing() {
    return this.#edit?.exchange ?? null;
  }

  /**
   * The open edit was refused.
   * @param {string} sentence
   * @returns {boolean} whether an edit was open
   */
  refuseEdit(sentence) {
    return this.#edit?.editor?.refuse(sentence) ?? false;
  }

  /** The page is about to show these exchanges instead: an open editor moves to them. @param {Element[]} next */
  carryEdit(next) {
    const edit = this.#edit;
    this.#edit = null;
    const element = next.find((each) => each.getAttribute("data-question") === edit?.exchange.question);
    if (!edit?.form.isConnected || !(element instanceof HTMLElement)) return;
    // Moving it would take away the focus.
    if (!element.contains(edit.form)) find(element, ".question", HTMLElement).append(edit.form);
    edit.exchange = Exchange.of(element);
    edit.editor?.moved();
    this.#edit = edit;
  }

  /** The server accepted an edit from this tab or another one, and the new question is shown. */
  edited() {
    if (!this.#edit?.editor?.taken()) return;
    this.#dispatch("chat:edited", null);
    this.#edit = null;
  }

  /** @param {Event} event */
  #clicked = (event) => {
    const button = closestTo(event, "button[data-action]");
    const element = closestTo(event, ".exchange");
    if (!button || !element) return;
    const exchange = Exchange.of(element);
    switch (button.dataset.action) {
      case "copy-answer":
        return this.#copyAnswer(button, element);
      case "copy-code":
        return this.#copied(button, copy(codeBeside(button)));
      case "copy-table":
        return this.#copied(button, copy(tableBeside(button)));
      case "fold":
        return toggleFold(button);
      case "edit":
        return void this.#openEditor(exchange);
      case "regenerate":
        return this.#regenerate(exchange);
      case "continue":
        return this.#continue(exchange);
      case "ask-again":
        return void import("./cards.js").then(({ askAgain }) => askAgain(exchange, button), tellNotLoaded);
      case "rate":
        return void import("./rating.js").then(({ rate }) => rate(button), tellNotLoaded);
      case "delete-document":
        return void import("../files/answer-files.js").then(({ askToDelete }) => askToDelete(button), tellNotLoaded);
      case "answer-now":
        return this.#dispatch("chat:answer-now", exchange.turn);
      case "take-back":
        return this.#dispatch("chat:take-back", exchange.element.dataset.clientId);
    }
  };

  /**
   * @param {HTMLElement} button
   * @param {Promise<void>} copying
   */
  async #copied(button, copying) {
    const label = find(button, "span", HTMLElement);
    const before = label.dataset.label ?? label.textContent ?? "";
    label.dataset.label = before;
    try {
      await copying;
      label.textContent = t("Copied");
      this.#dispatch("chat:announce", t("Copied"));
    } catch {
      toast(t("The browser did not allow copying."));
      return;
    }
    setTimeout(() => (label.textContent = before), COPIED_MS);
  }

  /**
   * Copies an answer as Markdown, and as rich text beside it.
   * @param {HTMLElement} button
   * @param {HTMLElement} exchange
   */
  #copyAnswer(button, exchange) {
    const source = button.dataset.source ?? "";
    const parts = [...exchange.querySelectorAll(".part[data-message]")];
    const part = parts.find((each) => source.includes(`/${each.getAttribute("data-message")}/`));
    const html = part && import("./rich-text.js").then(({ richText }) => richText(part));
    return this.#copied(button, copyLater(read(source), html));
  }

  /** @param {Exchange} exchange */
  async #openEditor(exchange) {
    const { question } = exchange;
    if (!question) return;
    this.#edit?.form.remove();
    this.#edit?.editor?.close(true);
    const section = () => find(edit.exchange.element, ".question", HTMLElement);
    // What is typed while the editor is loading is text, not a shortcut.
    const form = fromTemplate("question-editor", HTMLFormElement);
    /** @type {Edit} */
    const edit = this.#edit = { exchange, form };
    form.classList.add("visually-hidden");
    section().append(form);
    const area = find(form, "textarea", HTMLTextAreaElement);
    const { drafts } = /** @type {ChatComposer} */ (find(document, "chat-composer", HTMLElement));
    const [name, before] = [`edit:${question}`, sourceOf(section())];
    area.value = drafts.load(name).text || before;
    area.focus({ preventScroll: true });
    const close = () => {
      if (form.isConnected) seek(section(), "[data-action=edit]", HTMLElement)?.focus();
      form.remove();
    };
    form.addEventListener("keydown", (event) => {
      if (edit.editor || event.key !== "Escape" || event.isComposing) return;
      event.stopPropagation();
      area.value = before;
      close();
    });
    const loaded = await import("./question-editor.js").catch(tellNotLoaded);
    if (!loaded || !form.isConnected) {
      drafts.keep(name, area.value === before ? "" : area.value);
      return close();
    }
    // Before the editor makes the page longer: following the newest text would scroll it out of view.
    this.#dispatch("chat:editing", null);
    edit.editor = new loaded.QuestionEditor(section(), this.limit, (text, files) => {
      this.#edit = edit;
      this.#dispatch("chat:edit", /** @type {EditRequest} */ ({ question, text, files }));
    }, form);
  }

  /** @param {Exchange} exchange */
  #regenerate({ question }) {
    if (question) this.#dispatch("chat:regenerate", /** @type {RegenerateRequest} */ ({ question }));
  }

  /** @param {Exchange} exchange */
  #continue({ turn }) {
    if (turn) this.#dispatch("chat:continue", /** @type {ContinueRequest} */ ({ turn }));
  }

  /**
   * @param {string} name
   * @param {unknown} detail
   */
  #dispatch(name, detail) {
    this.#transcript.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

/** A module could not be loaded. */
function tellNotLoaded() {
  toast(t("There is no connection to the server. Please try again when it is back."));
}

// Handles the buttons for other versions of an answer: switching, comparing side by side, and answering with another
// model. Loads the code for them on first use.

/** @param {ChatTranscript} transcript */
export function listenForVersions(transcript) {
  /** @type {Promise<Comparison> | null} */
  let loading = null;
  const load = () => (loading ??= begun(transcript));
  /** @returns {Promise<Comparison | null>} null if it could not be loaded; the person was told */
  const comparison = () => load().catch(() => {
    loading = null;
    return noVersionsLoaded();
  });
  transcript.addEventListener("submit", async (event) => {
    const form = closestTo(event, "form.siblings");
    const button = event.submitter;
    if (!(form instanceof HTMLFormElement) || !(button instanceof HTMLButtonElement)) return;
    // Submitting the form would reload the page; this way the reader's place is kept.
    event.preventDefault();
    (await import("./comparison.js").catch(noVersionsLoaded))?.showVersion(transcript, form, button);
  });
  listenToAgainMenu(comparison, lifeOf(transcript));
  transcript.addEventListener("click", async (event) => {
    const element = closestTo(event, ".exchange");
    if (element && closestTo(event, "button[data-action=compare]")) (await comparison())?.toggle(element);
  });
  if (new URLSearchParams(location.search).has("compare")) void comparison();
}

function noVersionsLoaded() {
  toast(t("There is no connection to the server. Please try again when it is back."));
  return null;
}

/** @param {ChatTranscript} transcript */
async function begun(transcript) {
  const { Comparison } = await import("./comparison.js");
  const comparison = new Comparison(transcript);
  comparison.listen();
  return comparison;
}

// The menu "Another model" of an answer: the models that the message box offers. The chosen model writes another answer
// beside the existing ones. It is a trial: the message box stays with its model, which the menu says.

/** @param {() => Promise<Comparison | null>} comparison @param {AbortSignal} signal of the page's life */
function listenToAgainMenu(comparison, signal) {
  document.addEventListener("beforetoggle", filled, { capture: true, signal });
  document.addEventListener("click", async (event) => {
    const item = closestTo(event, "[data-action=answer-again-with]");
    const element = menuOpener()?.closest(".exchange");
    if (item && element instanceof HTMLElement) await (await comparison())?.answerAgain(Exchange.of(element), item);
  }, { signal });
}

/** @param {Event} event */
function filled({ target }) {
  if (!(target instanceof HTMLElement) || target.id !== "again-menu") return;
  const box = seek(document, "chat-composer select[name=choice]", HTMLSelectElement);
  const note = fromTemplate("again-note", HTMLElement);
  const model = box?.selectedOptions[0]?.text ?? "";
  note.textContent = t("For this answer alone. The message box stays with %(model)s.", { model });
  target.replaceChildren(note, ...[...(box?.options ?? [])].map((offer) => {
    const item = fromTemplate("again-item", HTMLElement);
    item.dataset.choice = offer.value;
    item.textContent = offer.text;
    item.dir = offer.dir;
    return item;
  }));
}
