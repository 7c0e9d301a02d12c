// A link may fill the message box of a new conversation: /?q=…, a browser's search keyword, or what a phone shares
// ("share_target" in the manifest). It fills, and never sends.

import { t } from "../language/words.js";
import { find, showsAs } from "../page/dom.js";

/** @import { ChatComposer } from "./composer.js" */

/** What a phone shares has a title and an address beside its text. */
const NAMES = ["title", "q", "url"];

/** Appends what the link has to the message box, with a note. @param {ChatComposer} composer */
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

const HIDDEN = String.raw`\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb`;
/** What nobody can see: control characters, all that programs may leave unshown, and letters without ink. */
const UNSEEN = new RegExp(String.raw`(?:[^\P{Cc}\n\t]|[${HIDDEN}])+`, "gu");
const TAKES_IT = String.raw`[^\x00-\x7f\p{Cc}${HIDDEN}\p{Script=Latin}\p{Script=Hangul}\p{Script=Han}]`;
/** Of that what draws emoji, and joins or parts letters of scripts that need it, with the character before it. */
const DRAWN = new RegExp(String.raw`(?:${TAKES_IT}(?:\ufe0e|\ufe0f|\ufe0f?\u200d|\u200c)|[0-9#*]\ufe0f)$`, "u");

/**
 * Without what stands in a text and cannot be read there: in invisible characters a link could hide instructions for
 * the model, and those that turn the direction of text show a person another text than the one that is sent.
 * @param {string} text
 */
function shown(text) {
  const seen = text.replace(/\r\n?/g, "\n").replace(UNSEEN, (run, at, whole) => {
    return DRAWN.test(whole.slice(Math.max(0, at - 2), at) + run) ? run : "";
  });
  return seen.trim();
}
