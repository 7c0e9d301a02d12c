// The text for how long a debug view stays open.

/**
 * @param {number} milliseconds until it closes
 * @returns {string} "Closes in 3 h 12 min", "Closes in 14 min", "Closes in 45 s", "Closed"
 */
export function remainingText(milliseconds) {
  const seconds = Math.ceil(milliseconds / 1000);
  if (seconds <= 0) return "Closed";
  if (seconds < 60) return `Closes in ${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 60) return `Closes in ${minutes} min`;
  const rest = minutes % 60;
  return rest ? `Closes in ${Math.floor(minutes / 60)} h ${rest} min` : `Closes in ${minutes / 60} h`;
}
