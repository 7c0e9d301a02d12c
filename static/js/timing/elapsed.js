// The texts for how long the model has been working, and for how long it worked before it answered.

import { t } from "../language/words.js";

/**
 * @param {number} milliseconds since the turn began
 * @returns {string} in English "Working…", "Working… 12 s", "Working… 2 min 5 s"
 */
export function workingText(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 1) return t("Working…");
  if (seconds < 60) return t("Working… %(seconds)s s", { seconds });
  return t("Working… %(minutes)s min %(seconds)s s", parts(seconds));
}

/**
 * @param {number} seconds whole ones, before the answer began
 * @returns {string} in English "Thought for a moment", "Thought for 12 s", "Thought for 2 min 5 s"
 */
export function thoughtText(seconds) {
  if (seconds < 1) return t("Thought for a moment");
  if (seconds < 60) return t("Thought for %(seconds)s s", { seconds });
  return t("Thought for %(minutes)s min %(seconds)s s", parts(seconds));
}

/** @param {number} seconds */
function parts(seconds) {
  return { minutes: Math.floor(seconds / 60), seconds: seconds % 60 };
}
