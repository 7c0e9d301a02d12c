// The entries of the list of conversations: makes one, finds its place, and lets its title be edited.

import { find, piece, pieceAbout, seek } from "../page/dom.js";

/** @import { Listed } from "../wire/wire.js" */
/** @typedef {Omit<Listed, "type">} Entry */

/**
 * @param {Entry} entry
 * @returns {HTMLElement}
 */
export function newEntry({ conversation, is_imported: isImported }) {
  const item = pieceAbout("conversation", HTMLElement, conversation);
  if (!isImported) find(item, ".imported-mark", HTMLElement).remove();
  return item;
}

/**
 * Puts an entry where its time says, the latest first. One that stands there already is not moved: it may have the
 * focus.
 * @param {HTMLElement} items
 * @param {HTMLElement} item
 */
export function place(items, item) {
  const others = [...items.querySelectorAll(".conversation-item")].filter((other) => other !== item);
  const place = others.findIndex((other) => timeOf(other) < timeOf(item));
  const [before, after] = place < 0 ? [others.at(-1), undefined] : [others[place - 1], others[place]];
  const all = [...items.querySelectorAll(".conversation-item")];
  const now = all.indexOf(item);
  if (now >= 0 && all[now - 1] === before && all[now + 1] === after) return;
  const more = seek(items, ".conversation-page", HTMLElement);
  if (after) after.before(item);
  else if (more) more.before(item);
  else items.append(item);
}

/**
 * @param {HTMLElement} items
 * @param {Element[]} fresh entries from the server, the latest first
 */
export function update(items, fresh) {
  const [last] = fresh.slice(-1);
  if (!(last instanceof HTMLElement)) return;
  const keys = new Set(fresh.map((item) => item.getAttribute("data-conversation")));
  for (const item of items.querySelectorAll(".conversation-item")) {
    const isOlder = timeOf(item) < timeOf(last);
    if (keys.has(item.getAttribute("data-conversation")) || !isOlder) item.remove();
  }
  items.prepend(...fresh);
}

/**
 * Shows a box for the title in the place of the link.
 * @param {HTMLElement} item
 * @param {(title: string, before: string) => void} save called with a title that is another one
 */
export function editTitle(item, save) {
  const link = find(item, ".conversation-link", HTMLElement);
  const more = find(item, ".conversation-more", HTMLElement);
  const form = piece("rename", HTMLFormElement);
  const input = find(form, "input", HTMLInputElement);
  const before = find(item, ".conversation-title", HTMLElement).textContent ?? "";
  input.value = before;
  let over = false;
  const finish = (/** @type {boolean} */ keep, /** @type {boolean} */ focus) => {
    if (over) return;
    over = true;
    form.remove();
    link.hidden = more.hidden = false;
    if (focus) link.focus();
    const title = input.value.trim();
    if (keep && title && title !== before) save(title, before);
  };
  form.addEventListener("submit", (event) => (event.preventDefault(), finish(true, true)));
  input.addEventListener("blur", () => finish(true, false));
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.stopPropagation();
    finish(false, true);
  });
  link.hidden = more.hidden = true;
  item.prepend(form);
  input.focus();
  input.select();
}

/** @param {Element} item */
function timeOf(item) {
  return Date.parse(item.getAttribute("data-updated") ?? "") || 0;
}
