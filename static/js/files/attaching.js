// Shows a hint while something is dragged over the page.

import { t, tn } from "../language/words.js";
import { toast } from "../page/menus.js";
import { textStorage } from "../page/storage.js";
import { NextMessages } from "../composer/next-messages.js";
import { conversationHere } from "./chip.js";
import { isPicture } from "../composer/drafts.js";
import { find, parse } from "../page/dom.js";

/** @import { Chip } from "./chip.js" */
/** @import { Act } from "../page/dom.js" */
/** @import { ChatComposer } from "../composer/composer.js" */
/** @import { Brought } from "../composer/drafts.js" */

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

// Turns a long pasted text into a file, and back into text.

/** @typedef {HTMLTextAreaElement | ChatComposer} Box */

/**
 * Adds the files that were brought, or the words that they are a picture of.
 * @param {Box} box
 * @param {Brought} what
 * @param {(files: File[]) => Chip | undefined} add
 */
export function takeIn(box, { files, text, html, isNative, target }, add) {
  hideDropHint();
  if (isNative) return offerText(box, text, add);
  const words = files.every(isPicture) ? text.trim() && text || wordsOf(html) : "";
  if (!words) return void add(files);
  const isField = target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement;
  (isField ? target : box).focus();
  document.execCommand("insertText", false, words); // as if typed: it can be undone
}

/**
 * The words of HTML from another program, a line for each block. No element of it is made: the page's policy would
 * report its styles and scripts, although they would have no effect.
 * @param {string} html
 */
function wordsOf(html) {
  const text = html.replace(/<!--.*?-->|<(script|style|template|title)\b.*?<\/\1\s*>/gis, "").replace(/\s+/g, " ")
    .replace(/<\/t[dh]\b[^>]*>/gi, "\t").replace(/<(?:br|\/(?:div|h\d|li|p|tr))\b[^>]*>/gi, "\n")
    .replace(/<[a-z/!?](?:=\s*"[^"]*"|=\s*'[^']*'|=(?!\s*["'])|[^>=])*>/gi, "").replace(/</g, "&lt;");
  const words = parse(text).textContent; // with its characters instead of their names
  return words.replace(/ *([\t\n]) */g, "$1").replace(/\t*\n+/g, "\n").trim();
}

/**
 * @param {Box} box
 * @param {string} text
 * @param {(files: File[]) => Chip | undefined} add
 */
function offerText(box, text, add) {
  pasted = text;
  toast(t("You pasted a long text."), { label: t("Attach it as a file"), run: () => attachText(box, text, add) });
}

/** The last long text that was pasted. */
let pasted = "";

/**
 * The text in the box is too long: attaches what was pasted, or all of it where that is no longer known.
 * @param {Box} box
 * @param {(files: File[]) => Chip | undefined} add
 */
export function attachLong(box, add) {
  attachText(box, pasted && read(box).includes(pasted) ? pasted : read(box), add);
}

/**
 * @param {Box} box
 * @param {string} text
 * @param {(files: File[]) => Chip | undefined} add
 */
function attachText(box, text, add) {
  const before = read(box);
  if (!before.includes(text)) return;
  const chip = add([new File([text], `${t("Pasted text")}.txt`, { type: "text/plain" })]);
  if (!chip) return;
  write(box, before.replace(text, () => ""));
  toast(t("The text was attached as a file."), { label: t("Undo"), run: () => {
    chip.remove();
    write(box, before);
  } });
}

/** @param {Box} box */
function read(box) {
  return box instanceof HTMLTextAreaElement ? box.value : box.text;
}

/** @param {Box} box @param {string} text */
function write(box, text) {
  if (box instanceof HTMLTextAreaElement) box.value = text;
  else box.text = text;
  const area = box instanceof HTMLTextAreaElement ? box : find(box, "textarea", HTMLTextAreaElement);
  area.dispatchEvent(new Event("input")); // it is stored as the draft, too
}

// Which files do not belong to the message box: those of the queued message or of an editor.

/** The ids of those files. @param {string} person */
export function queuedFiles(person) {
  const message = new NextMessages(textStorage(), person).load(conversationHere());
  return new Set((message?.files ?? []).map(({ id }) => id));
}

/** Whether a file goes with a question that is being edited. @param {string} id */
export function isEdited(id) {
  return document.querySelector(`.question-editor [data-file="${CSS.escape(id)}"]`) !== null;
}

// Why a message with these files cannot be sent as it is.

export const MAX_FILES = 10;
export const TOO_MANY = t("A message can have at most %(count)s files.", { count: String(MAX_FILES) });

/** Why a file is not attached beside these; empty if it is. @param {Chip[]} chips @param {File} file */
export function whyNotBeside(chips, file) {
  if (chips.some((chip) => chip.holds(file))) return t("%(name)s is already attached.", { name: file.name });
  return chips.length < MAX_FILES ? "" : TOO_MANY;
}

const EDITING = t("These files are sent with your next message. The question that you are editing has its own files.");
const READING = t("A file is still being read. You can send the message when that is done.");

/** The problem with the choices; empty if there is none. @param {Chip[]} chips */
function problemOf(chips) {
  const room = Math.min(...chips.map((chip) => chip.taken?.room ?? Infinity));
  const tokens = chips.reduce((sum, chip) => sum + chip.tokens, 0);
  const wrong = chips.map((chip) => chip.problem).find(Boolean);
  if (wrong) return wrong;
  if (tokens <= room) return "";
  return t("Together, the files are too long for the model. Remove some, or choose parts of them.");
}

/**
 * Shows what people should know about their files before they send them. Leaves unrelated messages alone.
 * @param {ChatComposer} composer
 * @param {Chip[]} chips
 */
export function hint(composer, chips) {
  const sentence = hintFor(chips);
  const { dataset: { kind }, textContent: told } = find(composer, ".composer-problem", HTMLElement);
  if (told.startsWith(READING) && chips.some((chip) => chip.isBusy)) return; // still so, whatever else has changed
  if (sentence || kind === "hint") composer.say(sentence, "hint");
}

/** @param {Chip[]} chips */
function hintFor(chips) {
  const problem = problemOf(chips);
  if (problem || !chips.length) return problem;
  return document.querySelector("chat-transcript .question-editor") ? EDITING : "";
}

/** Why they cannot be sent now; empty if they can. @param {Chip[]} chips */
export function whyNot(chips) {
  if (chips.some((chip) => chip.isBusy)) return READING;
  const refused = refusedAmong(chips).length;
  if (!refused) return problemOf(chips);
  return tn(
    "A file could not be attached. Remove it to send the message.",
    "%(n)s files could not be attached. Remove them to send the message.",
    refused,
  );
}

/**
 * Sends the message without its refused files; undefined if it has none, or a file is still being read.
 * @param {Chip[]} chips
 * @param {HTMLFormElement} form that sends the message
 * @returns {Act | undefined}
 */
export function withoutRefused(chips, form) {
  const refused = refusedAmong(chips);
  if (!refused.length || chips.some((chip) => chip.isBusy)) return undefined;
  return { label: tn("Send without it", "Send without them", refused.length), run: () => {
    for (const chip of refused) chip.remove();
    form.requestSubmit();
  } };
}

/** Those that the message can only be sent without. @param {Chip[]} chips */
function refusedAmong(chips) {
  return chips.filter((chip) => !chip.isBusy && !chip.taken);
}
