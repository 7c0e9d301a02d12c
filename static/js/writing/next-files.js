// What waits behind an answer, text and files, with what is written behind it; and files that come back.

import { t } from "../language/words.js";
import { problemWith } from "../models/typing.js";

/** @import { ChatComposer, Written } from "../chat/composer.js" */
/** @import { NextMessage } from "./next-messages.js" */

const MOST = 10;
const OCCUPIED = t("Please send the message above first, or cancel it.");
export const TAKEN = t("This message was sent or changed in another tab.");

/**
 * @param {NextMessage | null} before that is there already; while it waits, both go out as one
 * @param {Written} written
 * @param {number} limit characters
 */
export function joined(before, written, limit) {
  const isJoined = before?.state === "waiting";
  const text = isJoined ? `${before.text}\n\n${written.text}` : written.text;
  const first = isJoined ? before.files ?? [] : [];
  const files = [...first, ...(written.files ?? []).filter(({ id }) => first.every((file) => file.id !== id))];
  const most = t("A message can have at most %(count)s files.", { count: String(MOST) });
  const problem = problemWith(text, limit) ?? (files.length > MOST ? most : null);
  return { text, files, problem: before && !isJoined ? OCCUPIED : problem };
}

/** @param {ChatComposer} composer @param {NextMessage} message whose text is in the box again */
export function bringBack(composer, { files }) {
  if (!files?.length) return;
  import("../files/bringing.js").then(({ bring }) => bring(composer, "", [], ""), () => undefined);
}
