// What the page says while something is dragged over it.

import { t } from "../language/words.js";

const DROP_MS = 300;

let timer = 0;

/** Something is being dragged: it says where that would go, and leaves the text alone. */
export function aim() {
  document.documentElement.dataset.aimed = t("Drop files to attach them");
  clearTimeout(timer);
  timer = setTimeout(dropped, DROP_MS);
}

/** Nothing is being dragged any more. */
export function dropped() {
  delete document.documentElement.dataset.aimed;
}
