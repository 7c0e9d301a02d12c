// Finds a search text in other texts, and words the number of matches.

import { t, tn } from "../language/words.js";

/** Matches beyond this number are neither highlighted nor stepped through. */
export const MAX_MATCHES = 5_000;

/**
 * Every match of `wanted` in `text`, regardless of case, as [start, end).
 * @param {string} text
 * @param {string} wanted
 * @returns {[number, number][]}
 */
export function placesOf(text, wanted) {
  if (!wanted) return [];
  // Not by converting both to lower case: that can change the length of a text and make the positions wrong.
  const pattern = new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
  /** @type {[number, number][]} */
  const places = [];
  for (const match of text.matchAll(pattern)) {
    places.push([match.index, match.index + match[0].length]);
    if (places.length === MAX_MATCHES) break;
  }
  return places;
}

/**
 * The match after or before `current`, wrapping around at the ends.
 * @param {number} current -1 for none yet
 * @param {number} count
 * @param {1 | -1} step
 * @returns {number} -1 if there is none
 */
export function nextMatch(current, count, step) {
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
  const some = t("%(some)s of %(all)s frames", { some: frames, all });
  const shown = frames === all ? tn("%(n)s frame", "%(n)s frames", all) : some;
  if (!wanted) return shown;
  if (matches === 0) return t("No match in %(frames)s", { frames: shown });
  if (current < 0) return tn("%(n)s match in %(frames)s", "%(n)s matches in %(frames)s", matches, { frames: shown });
  return tn("%(place)s of %(n)s match in %(frames)s", "%(place)s of %(n)s matches in %(frames)s", matches, {
    place: current + 1,
    frames: shown,
  });
}

// Highlights ranges of text without changing the elements, so that growing text is not disturbed.

/**
 * Older browsers show no highlights.
 * @param {string} name as in the style sheet
 * @param {Range[]} ranges
 */
export function mark(name, ranges) {
  if (!("highlights" in CSS)) return;
  if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges));
  else CSS.highlights.delete(name);
}
