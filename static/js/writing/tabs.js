// Coordinates the tabs of a browser: actions for one tab only, and ids that belong to this tab across a reload.

const MINE = "chatui:next";

/**
 * Runs a function under a lock that all tabs share. Pages over plain http have no locks: the function must then be
 * harmless if two tabs run it, such as sending under the same id.
 * @template T
 * @param {string} name
 * @param {() => T} run
 * @returns {Promise<T>}
 */
export async function exclusively(name, run) {
  const { locks } = /** @type {{ locks?: LockManager }} */ (navigator);
  return locks ? locks.request(name, async () => run()) : run();
}

/** @param {string} clientId of a message that was written in this tab */
export function markAsOfThisTab(clientId) {
  try {
    sessionStorage.setItem(MINE, clientId);
  } catch {
    // Without storage, it is offered after a reload, not sent.
  }
}

/**
 * Whether a message was written in this tab, maybe before a reload.
 * @param {string | undefined} clientId
 */
export function isOfThisTab(clientId) {
  try {
    return clientId !== undefined && sessionStorage.getItem(MINE) === clientId;
  } catch {
    return false;
  }
}
