// The script of the page for inviting people: copies all links at once. Without it, people can select them.

import { t } from "./language/words.js";
import "./site.js";
import { copy } from "./page/code.js";

for (const button of document.querySelectorAll("button[data-copies]")) {
  if (button instanceof HTMLButtonElement) prepare(button);
}

/** @param {HTMLButtonElement} button */
function prepare(button) {
  const text = document.getElementById(button.dataset.copies ?? "");
  if (!(text instanceof HTMLTextAreaElement)) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await copy(text.value);
      button.textContent = t("Copied");
    } catch {
      text.select();
      button.textContent = t("Could not copy");
    }
  });
}
