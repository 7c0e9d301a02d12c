// The card above the message box that shows the queued message, its editor and its buttons.

import { t } from "../language/words.js";
import { closestTo, find, fromTemplate } from "../page/dom.js";
import { QuestionEditor } from "../exchange/question-editor.js";

/** @import { NextMessage as Message } from "./next-messages.js" */
/** @typedef {{ send: () => void, edit: () => void, takeBack: () => void, edited: () => void }} Actions */

const WAITING = t("Sent when this answer is finished.");
const UNSENT = t("Not sent yet. It will be sent when the connection is back.");
const EDITING = t("Not sent while you edit it.");
const OFFERED = t("This message has not been sent yet.");
/** @type {Record<string, string | undefined>} by the state of the answer before it */
const REASONS = {
  stopped: t("The answer was stopped, so this message has not been sent."),
  failed: t("The answer was not finished, so this message has not been sent."),
  incomplete: t("The answer was not finished, so this message has not been sent."),
  interrupted: t("The answer was not finished, so this message has not been sent."),
};

/** Why a message is not sent automatically. @param {string} reason the state of the answer before it, or nothing */
export function offeredSentence(reason) {
  return REASONS[reason] ?? OFFERED;
}

/** What a queued message waits for. */
export function waitingSentence() {
  const { hidden, dataset } = banner();
  // After a final refusal the page does not reconnect.
  return hidden || dataset.kind === "final" ? WAITING : UNSENT;
}

/** The banner about the state of the connection. */
export function banner() {
  return find(document, ".banner-connection", HTMLElement);
}

export class NextMessageCard {
  /** In the page only while there is a queued message. */
  #element = fromTemplate("next-message", HTMLElement);
  #files = document.createElement("p");
  /** @type {QuestionEditor | null} */
  #editor = null;

  /** @param {Actions} actions */
  constructor({ send, edit, takeBack, edited }) {
    this.#files.className = "next-message-files";
    find(this.#element, ".question-text", HTMLElement).before(this.#files);
    this.#element.addEventListener("click", (event) => {
      const action = closestTo(event, "[data-action]")?.dataset.action;
      if (action === "send-next") send();
      else if (action === "edit") edit();
      else if (action === "take-back") takeBack();
    });
    this.#element.addEventListener("chat:editor-closed", () => {
      this.#editor = null;
      edited();
    });
  }

  get isEditing() {
    return this.#editor !== null;
  }

  get hasFocus() {
    return this.#element.contains(document.activeElement);
  }

  /**
   * @param {number} limit characters
   * @param {(text: string) => void} change
   */
  edit(limit, change) {
    this.#editor = new QuestionEditor(this.#element, limit, change);
  }

  close() {
    this.#editor?.close();
  }

  /** @param {Message | null} message */
  show(message) {
    if (!message || message.state === "sending") return this.#element.remove();
    if (!this.#element.isConnected) find(document, "chat-composer", HTMLElement).before(this.#element);
    const waits = message.state === "waiting";
    const sentence = waits ? waitingSentence() : offeredSentence(message.reason);
    find(this.#element, ".next-message-state", HTMLElement).textContent = this.isEditing ? EDITING : sentence;
    find(this.#element, ".question-text", HTMLElement).textContent = message.text;
    const names = (message.files ?? []).map(({ name }) => name);
    const [before = "", behind = ""] = t("With %(names)s", { names: "\n" }).split("\n");
    const isolated = names.map((name) => Object.assign(document.createElement("bdi"), { textContent: name }));
    this.#files.replaceChildren(before, ...isolated.flatMap((name, at) => (at ? [", ", name] : [name])), behind);
    this.#files.hidden = !names.length;
    find(this.#element, ".question-source", HTMLTemplateElement).content.replaceChildren(message.text);
    find(this.#element, "[data-action=send-next]", HTMLElement).hidden = waits;
  }
}
