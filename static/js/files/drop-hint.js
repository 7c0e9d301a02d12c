// Shows a hint while something is dragged over the page.

import { t } from "../language/words.js";

const DROP_MS = 300;

let timer = 0;

/** Something is being dragged: shows where it would be dropped, without changing the text. */
export function showDropHint() {
  document.documentElement.dataset.aimed = t("Drop files to attach them");
  clearTimeout(timer);
  timer = setTimeout(hideDropHint, DROP_MS);
}

/** Nothing is being dragged any more. */
export function hideDropHint() {
  delete document.documentElement.dataset.aimed;
}
