// The tools that are off in a new conversation: the person's last choice in this browser.

import { seek } from "../page/dom.js";
import { recall, remember } from "../page/storage.js";

const TOOLS_OFF_KEY = "chatui:tools";

/** Their names, separated by commas; empty if no tools are offered. */
export function toolsOff() {
  return seek(document, "#tools-menu", HTMLElement) ? (recall(TOOLS_OFF_KEY) ?? "") : "";
}

/** @param {string[]} names */
export function keepToolsOff(names) {
  remember(TOOLS_OFF_KEY, names.length ? names.join(",") : null);
}
