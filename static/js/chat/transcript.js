// <chat-transcript>: the exchanges on the page. Applies what the server says about turns; says "chat:edit", "chat:regenerate", "chat:continue".

import { codeBeside } from "../page/code.js";
import { copy, copyLater } from "../page/clipboard.js";
import { around, find, parse, seek } from "../page/dom.js";
import { Exchange } from "./exchange.js";
import { finishAll } from "../page/finishing.js";
import { QuestionEditor } from "./question-editor.js";
import { RequestFailed, read, submit } from "../page/server.js";
import { toast } from "../page/toasts.js";

/** @import { Created, Delta, Flush, Snapshot } from "../models/protocol.js" */
/** @typedef {{ question: string, text: string }} Edited */
/** @typedef {{ question: string }} Again */
/** @typedef {{ turn: string }} Onward */
/** @typedef {Pick<Created, "turn" | "question" | "after" | "kind" | "continues"> & { replaces?: string }} Beginning `replaces`: the question that this tab edited */

const COPIED_MS = 2_000;

export class ChatTranscript extends HTMLElement {
  /** The bubble of the message that is on its way, by its client id. @type {Map<string, Exchange>} */
  #sending = new Map();
  /** The question that is being edited. @type {{ exchange: Exchange, editor: QuestionEditor } | null} */
  #edit = null;
  /** Characters that a question may have. */
  limit = Infinity;

  connectedCallback() {
    this.addEventListener("click", this.#clicked);
    this.addEventListener("submit", this.#submitted);
    for (const exchange of this.#all()) if (exchange.isRunning) exchange.working(0);
    finishAll(this);
  }

  /** The exchanges whose answers the page shows as being written. */
  get running() {
    return this.#all().filter((exchange) => exchange.isRunning && exchange.turn);
  }

  get isEmpty() {
    return this.childElementCount === 0;
  }

  /** @param {string} turn */
  byTurn(turn) {
    // From the end: the turn that is asked for is nearly always the last.
    for (let child = this.lastElementChild; child; child = child.previousElementSibling) {
      if (child instanceof HTMLElement && child.dataset.turn === turn) return Exchange.of(child);
    }
    return null;
  }

  /**
   * Shows a message at once, before the server has it.
   * @param {string} clientId
   * @param {string} text
   */
  send(clientId, text) {
    const exchange = Exchange.sending(text);
    this.#sending.set(clientId, exchange);
    this.append(exchange.element);
  }

  /**
   * The server did not take it.
   * @param {string} clientId
   */
  unsend(clientId) {
    this.#sending.get(clientId)?.element.remove();
    this.#sending.delete(clientId);
  }

  /**
   * The edit that is open was refused.
   * @param {string} sentence
   * @returns {boolean} whether there was one
   */
  refuseEdit(sentence) {
    this.#edit?.editor.refuse(sentence);
    return this.#edit !== null;
  }

  /**
   * The server has the message with this client id; its turn is known.
   * @param {string} clientId
   * @param {string} turn
   */
  accepted(clientId, turn) {
    const mine = this.#sending.get(clientId);
    this.#sending.delete(clientId);
    // The turn may have begun on the page before this reply came; then its exchange is there already.
    if (mine && mine.turn !== turn && this.byTurn(turn)) mine.element.remove();
    else if (mine && !mine.turn) mine.element.dataset.turn = turn;
  }

  /**
   * A turn begins, in this tab or another one.
   * @param {Beginning} event
   * @returns {Exchange | null} null when the page is too old to know where it belongs
   */
  begin(event) {
    const known = this.byTurn(event.turn);
    if (known && !("sending" in known.element.dataset)) return known;
    const exchange = known ?? this.#placeFor(event);
    if (!exchange) return null;
    this.#removeAfter(exchange);
    if (event.kind === "edit") this.#edit = null;
    if (event.kind === "continue") exchange.goOn(event.turn);
    else exchange.begin(event.turn, event.question);
    return exchange;
  }

  /** @param {Beginning} event */
  #placeFor({ question, after, kind, replaces, continues }) {
    if (kind === "regenerate") return this.#holding(question);
    if (kind === "continue") return continues ? this.byTurn(continues) : null;
    if (kind === "edit") {
      const place = replaces ? this.#holding(replaces) : (this.#placeAfter(after) ?? this.#edit?.exchange);
      return place ? this.#blank(place) : null;
    }
    const waiting = [...this.#sending.values()].find((exchange) => !exchange.turn);
    if (waiting) return waiting;
    const previous = after ? this.#holding(after) : null;
    if (previous) this.#removeAfter(previous);
    const exchange = Exchange.sending("");
    this.append(exchange.element);
    return exchange;
  }

  /** @param {string | null | undefined} after id of a message that stays; nothing means that the conversation begins anew */
  #placeAfter(after) {
    const next = after ? this.#holding(after)?.element.nextElementSibling : this.firstElementChild;
    return next instanceof HTMLElement ? Exchange.of(next) : null;
  }

  /** @param {string} message */
  #holding(message) {
    return this.#all().find((exchange) => exchange.holds(message)) ?? null;
  }

  /**
   * A new exchange in the place of an old one.
   * @param {Exchange} old
   */
  #blank(old) {
    const area = seek(old.element, ".question-editor-text", HTMLTextAreaElement);
    const exchange = Exchange.sending(area?.value ?? "");
    old.element.replaceWith(exchange.element);
    return exchange;
  }

  /** @param {Exchange} exchange */
  #removeAfter(exchange) {
    while (exchange.element.nextElementSibling) exchange.element.nextElementSibling.remove();
  }

  /** @param {Delta | Flush} event */
  write(event) {
    const exchange = this.byTurn(event.turn);
    if (!exchange) return;
    exchange.rest();
    const part = exchange.part(event.message_id, event.type === "chatui:preamble.delta" ? "preamble" : "final");
    if (event.type === "response.delta.flush") exchange.close(part, event.block, event.html);
    else if (typeof event.html === "string") exchange.open(part, event.block, event.html);
    else if (typeof event.text === "string") exchange.append(part, event.block, event.text);
  }

  /**
   * @param {Snapshot} snapshot
   * @returns {boolean} false when the page does not know that turn
   */
  resume(snapshot) {
    const exchange = this.byTurn(snapshot.turn);
    if (!exchange) return false;
    exchange.element.dataset.state = "running";
    delete exchange.element.dataset.sending;
    exchange.resume(snapshot.messages, snapshot.steps ?? [], snapshot.thought ?? null);
    if (snapshot.working) exchange.working(snapshot.elapsed);
    else exchange.rest();
    return true;
  }

  /**
   * Takes over the branch that the server shows in a whole page.
   * @param {DocumentFragment} page
   */
  replace(page) {
    const fresh = seek(page, "chat-transcript", HTMLElement);
    if (!fresh || signature(fresh) === signature(this)) return;
    this.#edit = null;
    const sending = [...this.#sending.values()].map((exchange) => exchange.element);
    this.replaceChildren(...fresh.children, ...sending);
    for (const exchange of this.#all()) if (exchange.isRunning) exchange.working(0);
    finishAll(this);
  }

  #all() {
    return [...this.children].filter((child) => child instanceof HTMLElement).map((child) => Exchange.of(child));
  }

  /** @param {Event} event */
  #clicked = (event) => {
    const button = around(event, "button[data-action]");
    const element = around(event, ".exchange");
    if (!button || !element) return;
    const exchange = Exchange.of(element);
    switch (button.dataset.action) {
      case "copy-answer":
        return this.#copied(button, copyLater(read(button.dataset.source ?? "")));
      case "copy-code":
        return this.#copied(button, copy(codeBeside(button)));
      case "edit":
        return this.#openEditor(exchange);
      case "regenerate":
        return this.#again(exchange);
      case "continue":
        return this.#onward(exchange);
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
      label.textContent = "Copied";
      this.dispatchEvent(new CustomEvent("chat:announce", { bubbles: true, detail: "Copied" }));
    } catch {
      toast("The browser did not allow copying.");
      return;
    }
    setTimeout(() => (label.textContent = before), COPIED_MS);
  }

  /** @param {Exchange} exchange */
  #openEditor(exchange) {
    this.#edit?.editor.close();
    const question = exchange.question;
    if (!question) return;
    const section = find(exchange.element, ".question", HTMLElement);
    const editor = new QuestionEditor(section, this.limit, (text) => {
      this.#edit = { exchange, editor };
      this.dispatchEvent(new CustomEvent("chat:edit", { detail: /** @type {Edited} */ ({ question, text }) }));
    });
    this.#edit = { exchange, editor };
  }

  /** @param {Exchange} exchange */
  #again(exchange) {
    const question = exchange.question;
    if (question) this.dispatchEvent(new CustomEvent("chat:regenerate", { detail: /** @type {Again} */ ({ question }) }));
  }

  /** @param {Exchange} exchange */
  #onward(exchange) {
    const turn = exchange.turn;
    if (turn) this.dispatchEvent(new CustomEvent("chat:continue", { detail: /** @type {Onward} */ ({ turn }) }));
  }

  /**
   * Another version was chosen. The form would reload the page; so the page stays where the reader is.
   * @param {SubmitEvent} event
   */
  #submitted = async (event) => {
    const form = around(event, "form.siblings");
    if (!(form instanceof HTMLFormElement) || !(event.submitter instanceof HTMLButtonElement)) return;
    event.preventDefault();
    const order = this.#all().findIndex((exchange) => exchange.element.contains(form));
    const [label, group] = [event.submitter.getAttribute("aria-label"), find(form, "[role=group]", HTMLElement).getAttribute("aria-label")];
    try {
      const html = await submit(form.action, new URLSearchParams({ message: event.submitter.value }));
      this.replace(parse(html));
      this.dispatchEvent(new CustomEvent("chat:branch"));
    } catch (error) {
      toast(error instanceof RequestFailed ? error.message : "That version could not be shown.");
      return;
    }
    // The button that was pressed is a new element now; keyboard users go on where they were.
    const exchange = this.#all()[order]?.element;
    const place = exchange && seek(exchange, `.siblings [role=group][aria-label="${group}"]`, HTMLElement);
    const button = place && (seek(place, `button[aria-label="${label}"]:enabled`, HTMLElement) ?? seek(place, "button:enabled", HTMLElement));
    button?.focus({ preventScroll: true });
  };
}

/**
 * Which exchanges are shown, and in what state.
 * @param {HTMLElement} transcript
 */
function signature(transcript) {
  return [...transcript.children].map((child) => `${child.getAttribute("data-question")} ${child.getAttribute("data-turn")} ${child.getAttribute("data-state")}`).join("\n");
}

customElements.define("chat-transcript", ChatTranscript);
