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

// Random ids for commands, so that the server recognizes a command that is sent twice.

/** A random id. `crypto.randomUUID` is missing on pages served over plain http. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (/** @type {number} */ (bytes[6]) & 0x0f) | 0x40;
  bytes[8] = (/** @type {number} */ (bytes[8]) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
