// Switches between versions of a question or an answer without a reload. Dispatches "chat:branch" when one is shown.

import { around, find, parse, seek } from "../page/dom.js";
import { RequestFailed, submit } from "../page/server.js";
import { toast } from "../page/toasts.js";

/** @import { ChatTranscript } from "../chat/transcript.js" */

export class Versions {
  #transcript;

  /** @param {ChatTranscript} transcript */
  constructor(transcript) {
    this.#transcript = transcript;
  }

  listen() {
    this.#transcript.addEventListener("submit", this.#submitted);
  }

  /**
   * Another version was chosen. Submitting the form would reload the page; this way the reader's place is kept.
   * @param {SubmitEvent} event
   */
  #submitted = async (event) => {
    const form = around(event, "form.siblings");
    const button = event.submitter;
    if (!(form instanceof HTMLFormElement) || !(button instanceof HTMLButtonElement)) return;
    event.preventDefault();
    const exchange = this.#transcript.exchanges.find((exchange) => exchange.element.contains(form));
    const questions = [exchange?.question, button.value];
    const top = exchange?.element.getBoundingClientRect().top ?? 0;
    const group = find(form, "[role=group]", HTMLElement).getAttribute("aria-label");
    try {
      const html = await submit(form.action, new URLSearchParams({ message: button.value }));
      this.#transcript.replace(parse(html));
      this.#transcript.dispatchEvent(new CustomEvent("chat:branch"));
    } catch (error) {
      toast(error instanceof RequestFailed ? error.message : "That version could not be shown.");
      return;
    }
    const shown = this.#transcript.exchanges.find(({ question }) => questions.includes(question))?.element;
    if (!shown) return;
    focus(shown, `.siblings [role=group][aria-label="${group}"]`, button.getAttribute("aria-label"));
    // After the focus, which scrolls to what was not laid out before, whatever it is told.
    const scroller = this.#transcript.closest(".scroller");
    if (scroller) scroller.scrollTop += shown.getBoundingClientRect().top - top;
  };
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
