// The headings of the conversation list: Today, Yesterday, Earlier.

import { t } from "../language/words.js";

/**
 * @param {Date} updated
 * @param {Date} now
 * @returns {string} by the calendar days of the reader's own time zone
 */
export function dayGroup(updated, now) {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  // Even if the browser's clock is behind the server's, a new conversation must appear under Today.
  if (updated >= today) return t("Today");
  return updated >= yesterday ? t("Yesterday") : t("Earlier");
}
