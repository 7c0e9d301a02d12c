// Loads the styles of what is shown only when somebody asks for it. The page names their sheet in a link that is
// disabled, which browsers do not load; so it has its place among the others.

import { find } from "../page/dom.js";

/** @type {Promise<void> | null} */
let loading = null;

/**
 * It fails where the sheet could not be fetched. The next call tries again.
 * @returns {Promise<void>} settled when its rules hold
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
