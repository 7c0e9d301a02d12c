// Which files do not belong to the message box: those of the queued message or of an editor.

import { textStorage } from "../page/storage.js";
import { NextMessages } from "../writing/next-messages.js";
import { conversationHere } from "./uploads.js";

/** The ids of those files. @param {string} person */
export function queuedFiles(person) {
  const message = new NextMessages(textStorage(), person).load(conversationHere());
  return new Set((message?.files ?? []).map(({ id }) => id));
}

/** Whether a file goes with a question that is being edited. @param {string} id */
export function isEdited(id) {
  return document.querySelector(`.question-editor [data-file="${CSS.escape(id)}"]`) !== null;
}
