// Settings that are stored in this browser. If storage is full or forbidden, they last for this page only.

/** @returns {Storage | null} null where the browser forbids it */
export function openStorage() {
  try {
    return localStorage;
  } catch {
    return null;
  }
}

/** The same for what belongs to one tab and ends with it. @returns {Storage | null} */
export function openTabStorage() {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}

const PREFIX = "chatui:search:";

/** What the tab's person searches their conversations for. */
export function keptSearch() {
  const key = keyOfSearch();
  return openTabStorage()?.getItem(key) ?? "";
}

/** For whoever loads the page again, or comes back to it. @param {string} typed empty for no search */
export function keepSearch(typed) {
  const key = keyOfSearch();
  try {
    if (typed) openTabStorage()?.setItem(key, typed);
    else openTabStorage()?.removeItem(key);
  } catch {
    // Full storage prevents no search.
  }
}

function keyOfSearch() {
  return `${PREFIX}${document.documentElement.dataset.person ?? ""}:`;
}

/** @type {Map<string, string>} */
const texts = new Map();

/**
 * Unsent text that may not be stored, or could not be. It lasts as long as the page, which asks before it is left.
 * @type {import("../composer/drafts.js").TextStorage}
 */
export const pageTexts = {
  getItem: (key) => texts.get(key) ?? null,
  setItem: (key, text) => void texts.set(key, text),
  removeItem: (key) => void texts.delete(key),
  key: (index) => [...texts.keys()][index] ?? null,
  get length() {
    return texts.size;
  },
};

/** The storage for unsent text: nothing of a temporary chat is stored in the browser. */
export function textStorage() {
  return (!document.querySelector("[data-temporary]") && openStorage()) || pageTexts;
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
