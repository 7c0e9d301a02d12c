// Where a word stands in texts, and the words for how often.

/** More places than these are neither marked nor stepped through. */
export const MOST_MATCHES = 5_000;

/**
 * Every place of `wanted` in `text`, whatever the case, as [start, end).
 * @param {string} text
 * @param {string} wanted
 * @returns {[number, number][]}
 */
export function placesOf(text, wanted) {
  if (!wanted) return [];
  // Not by changing both to lower case: that can change how long a text is, and the places would be off.
  const pattern = new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
  /** @type {[number, number][]} */
  const places = [];
  for (const match of text.matchAll(pattern)) {
    places.push([match.index, match.index + match[0].length]);
    if (places.length === MOST_MATCHES) break;
  }
  return places;
}

/**
 * The place after or before `current`, round and round.
 * @param {number} current -1 for none yet
 * @param {number} count
 * @param {1 | -1} step
 * @returns {number} -1 where there is none
 */
export function stepped(current, count, step) {
  if (count === 0) return -1;
  if (current < 0) return step > 0 ? 0 : count - 1;
  return (current + step + count) % count;
}

/**
 * @typedef {{ wanted: string, matches: number, current: number, frames: number, all: number }} Found
 * `frames` of `all` are shown
 */

/**
 * @param {Found} found
 * @returns {string}
 */
export function foundText({ wanted, matches, current, frames, all }) {
  const shown = frames === all ? (all === 1 ? "1 frame" : `${all} frames`) : `${frames} of ${all} frames`;
  if (!wanted) return shown;
  if (matches === 0) return `No match in ${shown}`;
  const place = current < 0 ? "" : `${current + 1} of `;
  return `${place}${matches} ${matches === 1 ? "match" : "matches"} in ${shown}`;
}
