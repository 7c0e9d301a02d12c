// The items of a menu that put a conversation somewhere else: those that lead to where it is are not shown.

/** @typedef {"list" | "pinned" | "archive"} Place */

/**
 * @param {ParentNode} menu
 * @param {Place} place where the conversation is
 */
export function showPlace(menu, place) {
  for (const item of menu.querySelectorAll('[data-action="put"]')) {
    if (!(item instanceof HTMLElement)) continue;
    const { place: to, from } = item.dataset;
    // What is archived is put into the list before it is pinned.
    item.hidden = from ? from !== place : to === place || (to === "pinned" && place === "archive");
  }
}
