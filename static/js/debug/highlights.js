// Highlights the matches of a search in the text of a frame.

import { placesOf } from "../models/matches.js";

/**
 * Every match of a text in a frame's body and header.
 * @param {HTMLElement} frame
 * @param {string} wanted
 * @returns {Range[]}
 */
export function rangesIn(frame, wanted) {
  const ranges = [];
  for (const body of frame.querySelectorAll(".frame-text, .chip-value")) {
    body.normalize();
    const text = body.firstChild;
    if (!(text instanceof Text)) continue;
    for (const [start, end] of placesOf(text.data, wanted)) {
      const range = new Range();
      range.setStart(text, start);
      range.setEnd(text, end);
      ranges.push(range);
    }
  }
  return ranges;
}

/** @param {Range} range */
export function reveal(range) {
  const body = range.startContainer.parentElement;
  if (!body) return;
  const place = range.getBoundingClientRect();
  const box = body.getBoundingClientRect();
  if (place.top < box.top || place.bottom > box.bottom) body.scrollTop += place.top - box.top - body.clientHeight / 2;
  const now = range.getBoundingClientRect();
  scrollBy({ top: now.top - innerHeight / 2, behavior: "instant" });
}
