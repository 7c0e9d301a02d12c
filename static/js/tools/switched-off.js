// Which tools a new conversation begins without: what the person chose last, in this browser.

import { seek } from "../page/dom.js";
import { recall, remember } from "../page/storage.js";

const KEY = "chatui:tools";

/** Their names, with commas between them; empty where no tools are offered. */
export function toolsOff() {
  return seek(document, "#tools-menu", HTMLElement) ? (recall(KEY) ?? "") : "";
}

/** @param {string[]} names */
export function keepToolsOff(names) {
  remember(KEY, names.length ? names.join(",") : null);
}
