// What was being found, kept while a message is opened that another page shows.

const KEY = "chatui:find";

/** @typedef {{ conversation: string, text: string, message: string }} Kept */

/** @param {Kept} kept for the page that shows the message */
export function keepForNextPage(kept) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // Then the message is opened, and the bar is not.
  }
}

/** @returns {Kept | null} */
export function takeFromLastPage() {
  try {
    const kept = /** @type {unknown} */ (JSON.parse(sessionStorage.getItem(KEY) ?? "null"));
    sessionStorage.removeItem(KEY);
    return typeof kept === "object" ? /** @type {Kept | null} */ (kept) : null;
  } catch {
    return null;
  }
}
