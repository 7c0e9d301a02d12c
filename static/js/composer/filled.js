// A link may fill the message box of a new conversation: /?q=…, a browser's search keyword, or what a phone shares
// ("share_target" in the manifest). It fills, and never sends.

import { t } from "../language/words.js";
import { showsAs } from "../page/address.js";
import { find } from "../page/dom.js";

/** @import { ChatComposer } from "./composer.js" */

/** What a phone shares has a title and an address beside its text. */
const NAMES = ["title", "q", "url"];

/** @param {ChatComposer} composer */
export function fill(composer) {
  const text = taken();
  if (!text || composer.text.trim().endsWith(text)) return;
  composer.append(text);
  const note = document.createElement("p");
  note.className = "composer-note";
  note.role = "status";
  find(composer, ".composer-count", HTMLElement).before(note);
  note.textContent = t("A link filled this in. Read it before you send it."); // somebody else may have written it
  for (const name of ["input", "chat:send"]) composer.addEventListener(name, () => note.remove(), { once: true });
}

/**
 * Takes the text out of the page's address: neither a reload nor the browser's history has it.
 * @returns {string}
 */
function taken() {
  const address = new URL(location.href);
  const texts = NAMES.map((name) => shown(address.searchParams.get(name) ?? ""));
  for (const name of NAMES) address.searchParams.delete(name);
  showsAs(address.href);
  return [...new Set(texts.filter(Boolean))].join("\n");
}

/**
 * Without what stands in a text and cannot be read there: controls, and the invisible copies of ASCII letters in which
 * a link could hide instructions for the model.
 * @param {string} text
 */
function shown(text) {
  return text.replace(/\r\n?/g, "\n").replace(/[^\P{Cc}\n\t]|[\u{e0000}-\u{e007f}]/gu, "").trim();
}
