// Parses page ranges of a document.

/** The numbers in "1-12, 15"; empty if it cannot be parsed. @param {string} text */
export function numbers(text) {
  const found = /** @type {Set<number>} */ (new Set());
  for (const part of text.split(",")) {
    const match = /^\s*(\d{1,6})\s*(?:[-–]\s*(\d{1,6})\s*)?$/.exec(part);
    if (!match) return new Set();
    const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
    if (last < first || last - first > 100_000) return new Set();
    for (let number = first; number <= last; number += 1) found.add(number);
  }
  return found;
}
