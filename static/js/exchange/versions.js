// Switches between versions of a question or an answer without a reload. Dispatches "chat:branch" when one is shown.

import { find, parse, seek } from "../page/dom.js";
import { messageOf, postForm } from "../page/server.js";
import { toast } from "../page/toasts.js";

/** @import { ChatTranscript } from "../chat/transcript.js" */
/** @import { Exchange } from "./exchange.js" */

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
