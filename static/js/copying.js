// The script of pages that show a link or key once: copies it. Without it, people can select it.

import { t } from "./language/words.js";
import "./site.js";
import { copy } from "./page/code.js";

for (const button of document.querySelectorAll("button[data-copies]")) {
  if (button instanceof HTMLButtonElement) prepare(button);
}

/** @param {HTMLButtonElement} button */
function prepare(button) {
  const source = document.getElementById(button.dataset.copies ?? "");
  if (!source) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    if (await copied(source, button)) return;
    getSelection()?.selectAllChildren(source);
    say(button, t("Could not copy"));
  });
  // A page with a single link copies it at once. Browsers that refuse this without a click leave it to the button.
  if (document.querySelector(`[data-copies-at-once="${source.id}"]`)) copied(source, button);
}

/**
 * @param {HTMLElement} source
 * @param {HTMLButtonElement} button
 */
async function copied(source, button) {
  try {
    await copy(source instanceof HTMLTextAreaElement ? source.value : (source.textContent ?? ""));
  } catch {
    return false;
  }
  say(button, t("Copied"));
  return true;
}

/**
 * @param {HTMLButtonElement} button
 * @param {string} words
 */
function say(button, words) {
  (button.querySelector("span") ?? button).textContent = words;
}
