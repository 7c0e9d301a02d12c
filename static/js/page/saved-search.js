// Stores the search while a message on another page is opened.

const KEY = "chatui:find";

/** @typedef {{ conversation: string, text: string, message: string, by: 1 | -1 }} SavedSearch `by`: direction */

/** @param {SavedSearch} kept for the page that shows the message */
export function saveSearch(kept) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // Then the message opens without the bar.
  }
}

/** @returns {SavedSearch | null} */
export function restoreSearch() {
  try {
    const kept = /** @type {unknown} */ (JSON.parse(sessionStorage.getItem(KEY) ?? "null"));
    sessionStorage.removeItem(KEY);
    return typeof kept === "object" ? /** @type {SavedSearch | null} */ (kept) : null;
  } catch {
    return null;
  }
}
