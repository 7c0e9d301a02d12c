// The text of a question, as it was written.

import { seek } from "../page/dom.js";

/** @param {HTMLElement} question the section that shows it */
export function sourceOf(question) {
  return seek(question, ".question-source", HTMLTemplateElement)?.content.textContent ?? "";
}
