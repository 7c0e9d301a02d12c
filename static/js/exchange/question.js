// Long questions are folded; a button shows all of one, or less of it again.

import { seek } from "../page/dom.js";

/** @param {HTMLElement} button inside the question */
export function toggleFold(button) {
  const question = button.closest(".question");
  if (!question) return;
  const isOpen = question.classList.toggle("question-open");
  button.ariaExpanded = String(isOpen);
  const [toOpen, toClose] = button.querySelectorAll("span");
  if (toOpen) toOpen.hidden = isOpen;
  if (toClose) toClose.hidden = !isOpen;
  if (!isOpen) button.scrollIntoView({ block: "nearest" });
}

// The text of a question, as it was written.

/** @param {HTMLElement} question the section that shows it */
export function sourceOf(question) {
  return seek(question, ".question-source", HTMLTemplateElement)?.content.textContent ?? "";
}
