// What people copy by selecting it: formulas as TeX, once and whole; tables as tables; none of the page's own words.
// Loaded when something is selected.

import { plainCopy, serialized } from "../exchange/rich-text.js";

/** Where the browser's own copy is right: it has the lines of code and what a person types. */
const AS_IT_IS = "pre, input, textarea, [contenteditable]";
/** What a part of a list, table or quotation is put into, so that it stays one. */
const CONTAINERS = "ul, ol, li, table, thead, tbody, tr, blockquote";
/** The texts of a conversation: what stands around and between them is the page's. */
const TEXTS = ".question-text:not([hidden]), .parts > .part";

document.addEventListener("copy", (event) => {
  const copied = event.defaultPrevented ? null : selected();
  if (!copied || !event.clipboardData) return;
  event.clipboardData.setData("text/html", serialized(copied));
  event.clipboardData.setData("text/plain", textOf(copied));
  event.preventDefault();
});

/**
 * What is selected of the texts on a page, cleaned; null for nothing, or where the browser does it.
 * @returns {HTMLElement | null}
 */
function selected() {
  const selection = getSelection();
  if (!selection?.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0).cloneRange();
  // A formula has no halves: its typeset pieces are no text.
  elementOf(range.startContainer)?.closest(".math") && range.setStartBefore(mathAt(range.startContainer));
  elementOf(range.endContainer)?.closest(".math") && range.setEndAfter(mathAt(range.endContainer));
  const around = elementOf(range.commonAncestorContainer);
  if (!around || around.closest(AS_IT_IS) || !(around.closest(".prose") || around.querySelector(".prose"))) return null;
  const whole = document.createElement("div");
  const inside = around.closest(TEXTS) ? [] : [...around.querySelectorAll(TEXTS)];
  const texts = inside.filter((text) => range.intersectsNode(text));
  if (texts.length) {
    whole.append(...texts.map((text) => partOf(text, range)));
    return plainCopy(whole);
  }
  /** @type {Node} */
  let content = range.cloneContents();
  const above = (/** @type {Element} */ each) => /** @type {Element} */ (each.parentElement);
  for (let each = around; each.matches(`${CONTAINERS}, .table-place`); each = above(each)) {
    // One item or one cell is only its text.
    if (each === around && each.matches("li, blockquote")) continue;
    const container = each.cloneNode(false);
    container.appendChild(content);
    content = container;
  }
  whole.append(content);
  return plainCopy(whole);
}

/**
 * What is selected of one text. Nothing else is copied even for a moment: a copy of a live element would begin to work.
 * @param {Element} text
 * @param {Range} range
 */
function partOf(text, range) {
  const part = document.createRange();
  part.selectNodeContents(text);
  if (text.contains(range.startContainer)) part.setStart(range.startContainer, range.startOffset);
  if (text.contains(range.endContainer)) part.setEnd(range.endContainer, range.endOffset);
  const copy = text.cloneNode(false);
  copy.appendChild(part.cloneContents());
  return copy;
}

/** @param {Node} node */
function elementOf(node) {
  return node instanceof Element ? node : node.parentElement;
}

/** @param {Node} node */
function mathAt(node) {
  return /** @type {Element} */ (elementOf(node)?.closest(".math"));
}

/**
 * The text as it looks, with tabs between the cells of a table. Browsers know that only of what is displayed.
 * @param {HTMLElement} copied
 */
function textOf(copied) {
  const place = document.createElement("div");
  place.className = "visually-hidden";
  place.ariaHidden = "true";
  place.append(copied);
  document.body.append(place);
  const text = copied.innerText;
  place.remove();
  return text.replace(/\n{3,}/g, "\n\n").trim();
}
