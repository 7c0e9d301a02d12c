// The words for time that passes while the model works.

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
