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

// The words of a search, as "chatui/store/search_index.py" compares them.

/** Scripts without spaces between words. */
const WITHOUT_SPACES =
  "\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Bopo}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Mymr}\\p{sc=Khmr}" + // and their marks
  "\u3005-\u3007\u3099\u309a\u30fc";
const LETTER = `(?![${WITHOUT_SPACES}])[\\p{L}\\p{N}]`;
const PART = `${LETTER}(?:${LETTER}|\\p{M})*`;
/** The soft hyphen, and characters without width that may stand inside a word: nobody types them in a search. */
const UNSEEN = "[\u00ad\u200b-\u200d\u2060\ufeff]";
const WORD = new RegExp(`(?<run>[${WITHOUT_SPACES}]+)|${PART}(?:${UNSEEN}+${PART})*`, "gu");
const UNSEEN_INSIDE = new RegExp(UNSEEN, "g");
/** Accents, and the vowel points of Hebrew and Arabic. */
const OPTIONAL = new RegExp(
  "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]", "gu",
);
const MAX_WORDS = 8;
const HANGUL = /^[\uac00-\ud7a3]/;
/** Letters of a compound before the part that is found by itself, of such a part, and of the whole. */
const [BEFORE_PART, PART_CHARS, COMPOUND_CHARS] = [3, 4, 40];
/** A particle behind a Korean word, or a syllable that is only begun: nobody looks for them. */
const ENDING = new RegExp(
  "(?<=[\uac00-\ud7a3])[\u1100-\u1112]+$|" +
  "(?<=[\uac00-\ud7a3]{2})(?:에서는|으로는|에서|에게|으로|까지|부터|에는|을|를|은|는|에)$",
);

/**
 * @typedef {{ start: number, end: number, isRun: boolean, hasCapital: boolean, folded: string }} Word `isRun`: of a
 * script without spaces; `hasCapital`: at its beginning
 */

/**
 * Every place of any word of `typed` in `text`, without overlap, if all of them are in it: case and accents do not
 * matter, and a word is found by its beginning, or inside a Korean word or a compound; in scripts without spaces by any
 * part.
 * @param {string} text
 * @param {string} typed
 * @returns {[number, number][]}
 */
export function placesOfWords(text, typed) {
  const wanted = wordsOf(typed).slice(0, MAX_WORDS);
  for (const word of wanted) word.folded = word.folded.replace(ENDING, "");
  const missing = new Set(wanted);
  /** @type {[number, number][]} */
  const places = [];
  for (const word of wordsOf(text).flatMap((each) => [each, ...partsOf(each, text)])) {
    for (const each of wanted) {
      if (each.isRun !== word.isRun) continue;
      const found = placesInWord(word, each.folded);
      if (found.length) missing.delete(each);
      places.push(...found);
    }
  }
  return missing.size ? [] : apart(places).slice(0, MAX_MATCHES);
}

/** @param {string} text @returns {Word[]} */
function wordsOf(text) {
  return [...text.matchAll(WORD)].map(({ 0: word, index, groups }) => {
    const isRun = groups?.run !== undefined;
    const place = { start: index, end: index + word.length };
    return { ...place, isRun, hasCapital: /^\p{Lu}/u.test(word), folded: isRun ? word : folded(word) };
  });
}

/**
 * The parts of a word between unseen characters, each a word that is found, too.
 * @param {Word} word
 * @param {string} text
 * @returns {Word[]}
 */
function partsOf({ start, end, isRun }, text) {
  const parts = text.slice(start, end).split(UNSEEN_INSIDE);
  if (isRun || parts.length === 1) return [];
  let at = start;
  return parts.map((part) => {
    const place = { start: at, end: at + part.length };
    at = place.end + 1;
    return { ...place, isRun: false, hasCapital: /^\p{Lu}/u.test(part), folded: folded(part) };
  });
}

/** @param {string} word */
function folded(word) {
  const apart = word.replace(UNSEEN_INSIDE, "").normalize("NFKD").toUpperCase().toLowerCase().normalize("NFKD");
  return apart.replace(OPTIONAL, "").normalize("NFC");
}

/**
 * @param {Word} word
 * @param {string} wanted
 * @returns {[number, number][]}
 */
function placesInWord(word, wanted) {
  if (!word.isRun) {
    const mayBegin = wanted.length > 1 || HANGUL.test(wanted);
    const isFound = mayBegin ? word.folded.startsWith(wanted) : word.folded === wanted;
    return isFound || isInside(word, wanted) ? [[word.start, word.end]] : [];
  }
  return placesOf(word.folded, wanted).map(([start, end]) => [word.start + start, word.start + end]);
}

/**
 * Whether a part of a word that is found by itself begins with `wanted`: at any syllable of Korean; otherwise from the
 * fourth letter of a word with a capital, as all German nouns have one.
 * @param {Word} word
 * @param {string} wanted
 */
function isInside({ folded, hasCapital }, wanted) {
  if (wanted.length < (HANGUL.test(wanted) ? 2 : PART_CHARS)) return false;
  const isCompound = hasCapital && folded.length <= COMPOUND_CHARS && /^\p{L}+$/u.test(folded);
  for (let at = folded.indexOf(wanted, 1); at > 0; at = folded.indexOf(wanted, at + 1)) {
    if (HANGUL.test(folded.slice(at)) || (isCompound && at >= BEFORE_PART)) return true;
  }
  return false;
}

/**
 * In order, with those that overlap as one.
 * @param {[number, number][]} places
 */
function apart(places) {
  /** @type {[number, number][]} */
  const kept = [];
  for (const [start, end] of places.sort(([one], [other]) => one - other)) {
    const last = kept.at(-1);
    if (last && start < last[1]) last[1] = Math.max(last[1], end);
    else kept.push([start, end]);
  }
  return kept;
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

/**
 * Scrolls every element around a match, so that the match is in the middle, and in view where it must be scrolled
 * sideways, as in wide code.
 * @param {Range} range
 */
export function reveal(range) {
  const root = document.scrollingElement;
  for (let around = range.startContainer.parentElement; around; around = around.parentElement) {
    const { overflowX, overflowY } = getComputedStyle(around);
    const place = range.getBoundingClientRect();
    const isRoot = around === root;
    const box = isRoot ? new DOMRect(0, 0, innerWidth, innerHeight) : around.getBoundingClientRect();
    const isInView = place.left >= box.left && place.right <= box.right;
    const by = {
      top: isRoot || isScrolled(overflowY) ? (place.top + place.bottom - box.top - box.bottom) / 2 : 0,
      left: !isInView && (isRoot || isScrolled(overflowX)) ? place.left - box.left - box.width / 3 : 0,
    };
    if (by.top || by.left) around.scrollBy({ ...by, behavior: "instant" });
  }
}

/** @param {string} overflow */
function isScrolled(overflow) {
  return overflow === "auto" || overflow === "scroll";
}
