// Finds a text in the displayed conversation, even if it is partly bold, a link or coloured code.

import { placesOf } from "../models/matches.js";

/** The elements of messages: questions, and the parts of the answers on the open branch. */
const TEXTS = ".exchange .question-text:not([hidden]), .exchange .parts > .part";
/** What is not visible text: the copy of a formula for screen readers, and the headers of code blocks. */
const LEFT_OUT = ".katex-mathml, .code-head, .visually-hidden";
/** A match does not span two of these. */
const BLOCKS = "p, li, td, th, pre, h1, h2, h3, h4, h5, h6, dt, dd, .place, .question-text";

/**
 * Every match in all messages on the page, in order.
 * @param {ParentNode} transcript
 * @param {string} wanted
 * @returns {Range[]}
 */
export function rangesIn(transcript, wanted) {
  return [...transcript.querySelectorAll(TEXTS)].flatMap((element) => rangesOf(element, wanted));
}

/**
 * @param {Element} element
 * @param {string} wanted
 */
function rangesOf(element, wanted) {
  const { text, nodes } = textOf(element);
  return placesOf(text, wanted).map(([start, end]) => {
    const range = new Range();
    range.setStart(...placeIn(nodes, start));
    range.setEnd(...placeIn(nodes, end - 1, 1));
    return range;
  });
}

/** @typedef {{ node: Text, start: number }} Placed a text node, and the offset of its text in the whole */

/** @param {Element} element */
function textOf(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  /** @type {Placed[]} */
  const nodes = [];
  let text = "";
  /** @type {Element | null | undefined} */
  let block;
  while (walker.nextNode()) {
    const node = /** @type {Text} */ (walker.currentNode);
    const parent = node.parentElement;
    if (!parent || parent.closest(LEFT_OUT)) continue;
    const mine = parent.closest(BLOCKS);
    // A separator that no search text can contain.
    if (block !== undefined && mine !== block) text += "\0";
    block = mine;
    nodes.push({ node, start: text.length });
    text += node.data;
  }
  return { text, nodes };
}

/**
 * @param {Placed[]} nodes
 * @param {number} place
 * @param {number} [more] added to `place` in the text node
 * @returns {[Text, number]}
 */
function placeIn(nodes, place, more = 0) {
  let [low, high] = [0, nodes.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (/** @type {Placed} */ (nodes[middle]).start <= place) low = middle;
    else high = middle - 1;
  }
  const { node, start } = /** @type {Placed} */ (nodes[low]);
  return [node, place - start + more];
}
