// The text for how full a model's context is.

/**
 * @param {number} percent of what the model can read at once; 0 if unknown
 * @param {number} leftOut how many of the oldest questions the model was not shown
 * @returns {string} empty where there is nothing to say
 */
export function contextText(percent, leftOut) {
  const left = leftOut === 1 ? "The oldest question is left out." : `The oldest ${leftOut} questions are left out.`;
  const full = `This conversation takes about ${percent} % of what the model can read at once.`;
  return [percent > 0 ? full : "", leftOut > 0 ? left : ""].filter(Boolean).join(" ");
}
