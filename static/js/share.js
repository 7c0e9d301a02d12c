// The script of the pages for share links: copies links, code and tables, finishes code and mathematics. A shared page
// can be read without this script.

import { t } from "./language/words.js";
import "./site.js";
import { toggleFold } from "./exchange/question.js";
import { codeBeside, copy, tableBeside } from "./page/code.js";
import { closestTo, find } from "./page/dom.js";
import { finishAll } from "./page/finishing.js";

const COPIED_MS = 2_000;

finishAll(document);
document.addEventListener("click", clicked);

/** @param {Event} event */
async function clicked(event) {
  const button = closestTo(event, "button[data-action]");
  if (button?.dataset.action === "fold") return toggleFold(button);
  const text = button && textFor(button);
  if (!button || text === null) return;
  const label = find(button, "span", HTMLElement);
  const before = label.dataset.label ?? label.textContent ?? "";
  label.dataset.label = before;
  try {
    await copy(text);
    label.textContent = t("Copied");
  } catch {
    label.textContent = t("Could not copy");
  }
  setTimeout(() => (label.textContent = before), COPIED_MS);
}

/**
 * @param {HTMLElement} button
 * @returns {string | null} null for a button that copies nothing
 */
function textFor(button) {
  if (button.dataset.action === "copy-code") return codeBeside(button);
  if (button.dataset.action === "copy-table") return tableBeside(button);
  if (button.dataset.action !== "copy-link") return null;
  const row = button.closest(".share-link-row");
  return row ? find(row, ".share-link-address", HTMLInputElement).value : null;
}
