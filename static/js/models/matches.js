// Finds a search text in other texts, and words the number of matches.

/** Matches beyond this number are neither highlighted nor stepped through. */
export const MOST_MATCHES = 5_000;

/**
 * Every match of `wanted` in `text`, regardless of case, as [start, end).
 * @param {string} text
 * @param {string} wanted
 * @returns {[number, number][]}
 */
export function placesOf(text, wanted) {
  if (!wanted) return [];
  // Not by converting both to lower case: that can change the length of a text, and the positions would be wrong.
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
 * The match after or before `current`, wrapping around at the ends.
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
