// Shows under the message box how full the model's context is after the last answer of the displayed branch.

import { contextText } from "../models/context-use.js";

/** @import { ChatTranscript } from "./transcript.js" */

export class ContextUse {
  #line;
  #transcript;

  /**
   * @param {HTMLElement} line
   * @param {ChatTranscript} transcript
   */
  constructor(line, transcript) {
    this.#line = line;
    this.#transcript = transcript;
  }

  /** Observes the transcript: answers end, and exchanges are added and removed. */
  watch() {
    const show = () => this.#show();
    // Two observers, because observing the whole subtree would fire many times a second while an answer is written.
    new MutationObserver(show).observe(this.#transcript, { childList: true });
    const told = { subtree: true, attributeFilter: ["data-context", "data-left-out"] };
    new MutationObserver(show).observe(this.#transcript, told);
    this.#show();
  }

  #show() {
    const known = [...this.#transcript.children].filter((child) => child instanceof HTMLElement);
    const last = known.findLast((exchange) => "context" in exchange.dataset || "leftOut" in exchange.dataset);
    const text = contextText(Number(last?.dataset.context ?? 0), Number(last?.dataset.leftOut ?? 0));
    if (this.#line.textContent !== text) this.#line.textContent = text;
  }
}
