// What the address of a page says is sought in its conversation: the words of a search, or the text of the find bar.

/**
 * @typedef {{ text: string, message: string, by: 1 | -1, isWords: boolean }} Sought `message`: where to begin, and in
 * which direction `by` it was reached; `isWords`: of a search in all conversations, where every word is matched by
 * itself
 */

import { showsAs } from "./dom.js";

const NAMES = ["words", "find", "by"];

/** @param {Sought} sought @returns {string} for the address that leads to the message */
export function queryOf({ text, by, isWords }) {
  return new URLSearchParams(isWords ? { words: text, by: String(by) } : { find: text, by: String(by) }).toString();
}

/** @returns {Sought | null} */
export function soughtHere() {
  const asked = new URLSearchParams(location.search);
  const [words, message] = [asked.get("words"), asked.get("at")];
  const text = words ?? asked.get("find");
  if (!text?.trim() || !message) return null;
  return { text, message, by: asked.get("by") === "-1" ? -1 : 1, isWords: words !== null };
}

/** The bar was closed, or looks for something else: loading the page again does not bring back what it looked for. */
export function forgetSought() {
  const address = new URL(location.href);
  if (!NAMES.some((name) => address.searchParams.has(name))) return;
  for (const name of NAMES) address.searchParams.delete(name);
  showsAs(address.href);
}
