// Several tabs of one browser: what only one of them may do, and what belongs to this one across a reload.

const MINE = "chatui:next";

/**
 * Runs something while no other tab runs anything under that name. Pages over plain http have no locks: what is done
 * must then be harmless when two tabs do it, such as sending under the same id.
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
    // Without storage it is offered after a reload, not sent.
  }
}

/**
 * Whether a message was written in this tab, be it before a reload.
 * @param {string | undefined} clientId
 */
export function isOfThisTab(clientId) {
  try {
    return clientId !== undefined && sessionStorage.getItem(MINE) === clientId;
  } catch {
    return false;
  }
}
