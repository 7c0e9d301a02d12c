// Which files go with the message that waits for the end of the answer: they are not at the message box.

import { textStorage } from "../page/storage.js";
import { NextMessages } from "../writing/next-messages.js";
import { conversationHere } from "./sending.js";

/** The ids of those files. @param {string} person */
export function queuedFiles(person) {
  const message = new NextMessages(textStorage(), person).load(conversationHere());
  return new Set((message?.files ?? []).map(({ id }) => id));
}
