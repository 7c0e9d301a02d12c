// Toasts: short messages that disappear by themselves and may offer one action.

import { find, fromTemplate } from "./dom.js";

const PLAIN_MS = 5_000;
/** A toast with an action stays longer, to leave time to reach it. */
const ACTION_MS = 12_000;

/**
 * @param {string} text
 * @param {{ label: string, run: () => void }} [action]
 */
export function toast(text, action) {
  const element = fromTemplate("toast", HTMLElement);
  find(element, ".toast-text", HTMLElement).textContent = text;
  let timer = 0;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => element.remove(), action ? ACTION_MS : PLAIN_MS);
  };
  if (action) {
    const button = find(element, ".toast-action", HTMLButtonElement);
    button.textContent = action.label;
    button.hidden = false;
    button.addEventListener("click", () => {
      clearTimeout(timer);
      element.remove();
      action.run();
    });
  }
  // The button must not disappear while somebody is reaching for it.
  for (const name of ["pointerenter", "focusin"]) element.addEventListener(name, () => clearTimeout(timer));
  for (const name of ["pointerleave", "focusout"]) element.addEventListener(name, wait);
  find(document, ".toasts", HTMLElement).append(element);
  wait();
}
