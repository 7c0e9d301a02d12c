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
