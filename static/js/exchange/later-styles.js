// Loads the styles of parts that are shown only on request. The page has a disabled link to their style sheet, which
// browsers do not load, so that the sheet keeps its place in the cascade.

import { find } from "../page/dom.js";

/** @type {Promise<void> | null} */
let loading = null;

/**
 * Rejects if the sheet could not be fetched. The next call tries again.
 * @returns {Promise<void>} settled when its rules apply
 */
export function laterStyles() {
  loading ??= enabled(find(document, "link[data-later]", HTMLLinkElement)).catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

/** @param {HTMLLinkElement} link */
function enabled(link) {
  return new Promise((/** @type {(_: void) => void} */ resolve, reject) => {
    link.addEventListener("load", () => resolve(), { once: true });
    link.addEventListener("error", () => {
      link.disabled = true;
      reject(new Error("the style sheet did not load"));
    }, { once: true });
    link.disabled = false;
  });
}
