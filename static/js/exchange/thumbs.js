// Shows how an answer is rated.

/**
 * @param {string} message the answer's id
 * @param {string | undefined} verdict "up", "down" or nothing
 */
export function showRating(message, verdict) {
  for (const thumb of document.querySelectorAll(`[data-rating*="/${CSS.escape(message)}/"] > button`)) {
    thumb.setAttribute("aria-pressed", String(thumb.getAttribute("data-verdict") === verdict));
  }
}
