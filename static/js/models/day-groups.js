// Under which heading a conversation stands in the list.

/** @typedef {"Today" | "Yesterday" | "Earlier"} DayGroup */

/**
 * @param {Date} updated
 * @param {Date} now
 * @returns {DayGroup} by the calendar days of the reader's own time zone
 */
export function dayGroup(updated, now) {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  // A clock that runs behind the server's must not push a fresh conversation anywhere else.
  if (updated >= today) return "Today";
  return updated >= yesterday ? "Yesterday" : "Earlier";
}
