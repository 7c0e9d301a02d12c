// The texts for how long the model has been working, and for how long it worked before it answered.

/**
 * @param {number} milliseconds since the turn began
 * @returns {string} "Working…", "Working… 12 s", "Working… 2 min 5 s"
 */
export function workingText(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 1) return "Working…";
  if (seconds < 60) return `Working… ${seconds} s`;
  return `Working… ${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/**
 * @param {number} seconds whole ones, before the answer began
 * @returns {string} "Thought for a moment", "Thought for 12 s", "Thought for 2 min 5 s"
 */
export function thoughtText(seconds) {
  if (seconds < 1) return "Thought for a moment";
  if (seconds < 60) return `Thought for ${seconds} s`;
  return `Thought for ${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
