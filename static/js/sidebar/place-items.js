// The menu items that move a conversation: hides those for its current place.

/** @typedef {"list" | "pinned" | "archive"} Place */

/**
 * @param {ParentNode} menu
 * @param {Place} place where the conversation is
 */
export function showPlace(menu, place) {
  for (const item of menu.querySelectorAll('[data-action="put"]')) {
    if (!(item instanceof HTMLElement)) continue;
    const { place: to, from } = item.dataset;
    // An archived conversation is moved into the list before it is pinned.
    item.hidden = from ? from !== place : to === place || (to === "pinned" && place === "archive");
  }
}
