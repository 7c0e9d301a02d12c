// The rules of the composer: which key sends, and how long a message may be.

import { t, tn } from "../language/words.js";

/**
 * @typedef {object} Key the part of a keyboard event that is read here
 * @property {string} key
 * @property {boolean} shiftKey
 * @property {boolean} ctrlKey
 * @property {boolean} altKey
 * @property {boolean} metaKey
 * @property {boolean} isComposing
 * @property {number} [keyCode]
 */

/** Key code of a key that an input method is still working on; Safari reports only this after the composition ended. */
const KEY_OF_INPUT_METHOD = 229;

/**
 * Whether this key sends the message. Shift+Enter starts a new line; Enter that confirms a word in an input method
 * does neither.
 * @param {Key} event
 */
export function isSendKey(event) {
  if (event.key !== "Enter" || event.isComposing || event.keyCode === KEY_OF_INPUT_METHOD) return false;
  return !event.shiftKey && !event.altKey;
}

/**
 * A message that says why this text cannot be sent, or null.
 * @param {string} text
 * @param {number} limit in characters as the server counts them (code points)
 * @returns {string | null}
 */
export function problemWith(text, limit) {
  // A text has at most as many characters as UTF-16 units, so the exact count is needed only above the limit.
  if (text.length <= limit) return null;
  const excess = [...text].length - limit;
  if (excess <= 0) return null;
  return tn(
    "This message is %(n)s character too long. The limit is %(limit)s characters.",
    "This message is %(n)s characters too long. The limit is %(limit)s characters.",
    excess,
    { limit },
  );
}

/** The part of the limit that is left when the number of characters is shown. */
const NEAR = 0.1;

/**
 * How many characters are left, once there are few; null before that, and when the text is too long.
 * @param {string} text
 * @param {number} limit in code points
 * @returns {string | null}
 */
export function remainingCharacters(text, limit) {
  const near = limit - Math.min(500, limit * NEAR);
  if (text.length < near || !Number.isFinite(limit)) return null;
  const left = limit - [...text].length;
  if (left < 0 || left > limit - near) return null;
  return t("Characters left: %(left)s", { left });
}
