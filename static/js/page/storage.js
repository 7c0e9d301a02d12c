// What is chosen in this browser, for the next page. Where storage is full or forbidden it holds for this page alone.

/** @returns {Storage | null} null where the browser forbids it */
export function openStorage() {
  try {
    return localStorage;
  } catch {
    return null;
  }
}

/**
 * @param {string} key
 * @returns {string | null}
 */
export function recall(key) {
  return openStorage()?.getItem(key) ?? null;
}

/**
 * @param {string} key
 * @param {string | null} value null forgets it
 */
export function remember(key, value) {
  try {
    if (value === null) openStorage()?.removeItem(key);
    else openStorage()?.setItem(key, value);
  } catch {
    // A full or forbidden storage must not stop anybody from choosing.
  }
}
