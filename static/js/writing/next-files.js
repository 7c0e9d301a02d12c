// Merges further text and files into the queued message, and returns its files to the message box.

import { t } from "../language/words.js";
import { problemWith } from "../models/typing.js";

/** @import { ChatComposer, OutgoingMessage } from "../chat/composer.js" */
/** @import { NextMessage as Message } from "./next-messages.js" */

const MAX_FILES = 10;
const OCCUPIED = t("Please send the message above first, or cancel it.");
export const TAKEN = t("This message was sent or changed in another tab.");

/**
 * @param {Message | null} before that is queued already; while it waits, both are sent as one
 * @param {OutgoingMessage} written
 * @param {number} limit characters
 */
export function joined(before, written, limit) {
  const isJoined = before?.state === "waiting";
  const text = isJoined ? `${before.text}\n\n${written.text}` : written.text;
  const first = isJoined ? before.files ?? [] : [];
  const files = [...first, ...(written.files ?? []).filter(({ id }) => first.every((file) => file.id !== id))];
  const most = t("A message can have at most %(count)s files.", { count: String(MAX_FILES) });
  const problem = problemWith(text, limit) ?? (files.length > MAX_FILES ? most : null);
  return { text, files, problem: before && !isJoined ? OCCUPIED : problem };
}

/** @param {ChatComposer} composer @param {Message} message whose text is back in the box */
export function bringBack(composer, { files }) {
  if (!files?.length) return;
  import("../files/pending-files.js").then(({ bring }) => bring(composer, "", [], ""), () => undefined);
}
