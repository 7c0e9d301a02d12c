// Filters names by a search: a match contains each of its words, in any order and case.

/**
 * @template {{ text: string }} Named
 * @param {readonly Named[]} offers
 * @param {string} search
 * @returns {Named[]}
 */
export function matching(offers, search) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return offers.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)));
}
