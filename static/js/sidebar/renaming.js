// The box in which a conversation gets another title, in place: in the list or in the top bar. Loaded when the first
// one is renamed.

import { find, fromTemplate } from "../page/dom.js";

/**
 * @param {HTMLElement | null} item of the list; null for the open conversation, in the top bar
 * @param {(title: string, before: string) => void} save called with a changed title
 */
export function rename(item, save) {
  editTitle(item ? titledEntry(item) : openTitle(), save);
}

/**
 * @typedef {object} TitleParts a part of the page that shows a title
 * @property {HTMLElement} shown what the box replaces
 * @property {HTMLElement} title
 * @property {HTMLElement} more the button of the menu
 * @property {HTMLElement} back what has the focus afterwards
 */

/**
 * Shows an edit box instead of the title.
 * @param {TitleParts} titled
 * @param {(title: string, before: string) => void} save called with a changed title
 */
function editTitle({ shown, title: text, more, back }, save) {
  const form = fromTemplate("rename", HTMLFormElement);
  const input = find(form, "input", HTMLInputElement);
  const before = text.textContent?.trim() ?? "";
  input.value = before;
  let over = false;
  const finish = (/** @type {boolean} */ keep, /** @type {boolean} */ focus) => {
    if (over) return;
    over = true;
    removeEventListener("pagehide", leave);
    form.remove();
    shown.hidden = more.hidden = false;
    if (focus) back.focus();
    const title = input.value.trim();
    if (keep && title && title !== before) save(title, before);
  };
  form.addEventListener("submit", (event) => (event.preventDefault(), finish(true, true)));
  // Clicking elsewhere or leaving the page saves the text; Escape discards it.
  const leave = () => finish(true, false);
  input.addEventListener("blur", leave);
  addEventListener("pagehide", leave);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.stopPropagation();
    finish(false, true);
  });
  shown.hidden = more.hidden = true;
  shown.before(form);
  input.focus();
  input.select();
}

/**
 * @param {HTMLElement} item
 * @returns {TitleParts}
 */
function titledEntry(item) {
  const link = find(item, ".conversation-link", HTMLElement);
  const title = find(item, ".conversation-title", HTMLElement);
  return { shown: link, title, more: find(item, ".conversation-more", HTMLElement), back: link };
}

/** The title in the top bar. */
function openTitle() {
  const title = find(document, ".top-title", HTMLElement);
  const more = find(document, ".top-more", HTMLElement);
  return { shown: title, title, more, back: more };
}
