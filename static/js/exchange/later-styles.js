// Loads the styles of parts that are shown only on request. The page has a disabled link to their style sheet, which
// browsers do not load, so that the sheet keeps its place in the cascade. A page without that link has the styles that
// it needs in its own sheets.

import { seek } from "../page/dom.js";

/** @type {Promise<void> | null} */
let loading = null;

/**
 * Rejects if the sheet could not be fetched. The next call tries again.
 * @returns {Promise<void>} settled when its rules apply
 */
export function laterStyles() {
  const link = seek(document, "link[data-later]", HTMLLinkElement);
  if (!link) return Promise.resolve();
  loading ??= enabled(link).catch((error) => {
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
