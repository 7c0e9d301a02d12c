// The text for how long a debug view stays open.

import { t, tc } from "../language/words.js";

/**
 * @param {number} milliseconds until it closes
 * @returns {string} "Closes in 3 h 12 min", "Closes in 14 min", "Closes in 45 s", "Closed"
 */
export function remainingText(milliseconds) {
  const seconds = Math.ceil(milliseconds / 1000);
  if (seconds <= 0) return tc("the debug view", "Closed");
  if (seconds < 60) return t("Closes in %(seconds)s s", { seconds });
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 60) return t("Closes in %(minutes)s min", { minutes });
  const rest = minutes % 60;
  const hours = Math.floor(minutes / 60);
  if (!rest) return t("Closes in %(hours)s h", { hours });
  return t("Closes in %(hours)s h %(minutes)s min", { hours, minutes: rest });
}
