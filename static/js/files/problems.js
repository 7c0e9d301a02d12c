// Why a message with these files cannot be sent as it is.

import { t } from "../language/words.js";
import { find } from "../page/dom.js";

/** @import { ChatComposer } from "../chat/composer.js" */
/** @import { Chip } from "./chip.js" */

export const MAX_FILES = 10;
export const TOO_MANY = t("A message can have at most %(count)s files.", { count: String(MAX_FILES) });
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
  const { kind } = find(composer, ".composer-problem", HTMLElement).dataset;
  if (sentence || kind === "hint") composer.say(sentence, "hint");
}

/** @param {Chip[]} chips */
function hintFor(chips) {
  const problem = problemOf(chips);
  if (problem || !chips.length) return problem;
  return document.querySelector("chat-transcript .question-editor") ? EDITING : "";
}

/** Whether it is a picture. @param {File} file */
export function isPicture({ type }) {
  return type.startsWith("image/") && type !== "image/svg+xml";
}

/** @param {File} picture */
export function seesNone({ name }) {
  return t("%(name)s: the model reads text only, and cannot see pictures.", { name });
}

/** Why they cannot be sent now; empty if they can. @param {Chip[]} chips */
export function whyNot(chips) {
  if (chips.some((chip) => chip.isBusy)) return READING;
  if (chips.some((chip) => !chip.taken)) return t("A file could not be read. Remove it, or try again.");
  return problemOf(chips);
}
