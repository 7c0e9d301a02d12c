// Settings that are stored in this browser. If storage is full or forbidden, they last for this page only.

/** @returns {Storage | null} null where the browser forbids it */
export function openStorage() {
  try {
    return localStorage;
  } catch {
    return null;
  }
}

/**
 * The storage for unsent text: in a temporary chat, for this tab only.
 * @returns {Storage | null} null where the browser forbids it
 */
export function textStorage() {
  try {
    return document.querySelector("[data-temporary]") ? sessionStorage : localStorage;
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
 * @param {string | null} value null removes it
 */
export function remember(key, value) {
  try {
    if (value === null) openStorage()?.removeItem(key);
    else openStorage()?.setItem(key, value);
  } catch {
    // Full or forbidden storage must not prevent a choice.
  }
}
