// The text for how full a model's context is.

/**
 * @param {number} percent of what the model can read at once; 0 if unknown
 * @param {number} leftOut how many of the oldest questions the model was not shown
 * @returns {string} empty where there is nothing to say
 */
export function contextText(percent, leftOut) {
  const full = percent > 0 ? `About ${percent} % of what the model can read at once` : "";
  const left = leftOut > 0 ? `oldest ${leftOut === 1 ? "question" : `${leftOut} questions`} left out` : "";
  const text = [full, left].filter(Boolean).join(" · ");
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
