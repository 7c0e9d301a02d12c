// The editor for a question that was sent. Sending creates a new branch; the old question stays on its own.

import { t } from "../language/words.js";
import { find, piece, seek } from "../page/dom.js";
import { grow } from "../page/growing.js";
import { problemWith, sends } from "../models/typing.js";
import { EditedFiles } from "../files/editing.js";

/** @import { BroughtFile } from "../files/chip.js" */

export class QuestionEditor {
  #question;
  #form = piece("question-editor", HTMLFormElement);
  #area = find(this.#form, "textarea", HTMLTextAreaElement);
  #send;
  #limit;
  /** Of a question that was sent. What waits for the end of an answer has its files elsewhere. */
  #files;

  /**
   * @param {HTMLElement} question the section that shows the question
   * @param {number} limit characters
   * @param {(text: string, files: BroughtFile[] | null) => void} send `files`: null where they stay as they are
   */
  constructor(question, limit, send) {
    this.#question = question;
    this.#limit = limit;
    this.#send = send;
    this.#area.value = seek(question, ".question-source", HTMLTemplateElement)?.content.textContent ?? "";
    this.#form.addEventListener("submit", this.#submit);
    this.#form.addEventListener("keydown", this.#key);
    this.#area.addEventListener("input", this.#typed);
    find(this.#form, "[data-action=cancel-edit]", HTMLElement).addEventListener("click", () => this.close());
    this.#hideQuestion(true);
    question.append(this.#form);
    const { question: id } = /** @type {HTMLElement | null} */ (question.closest(".exchange"))?.dataset ?? {};
    this.#files = id ? new EditedFiles(this.#form, question, id, (sentence) => this.#say(sentence)) : null;
    grow(this.#area);
    this.#area.focus({ preventScroll: true });
    this.#area.setSelectionRange(this.#area.value.length, this.#area.value.length);
    // The focus alone would show the text, and leave the buttons below it behind the message box.
    this.#form.scrollIntoView({ block: "nearest" });
  }

  /** The edit was refused: it can be changed and sent again. @param {string} sentence */
  refuse(sentence) {
    this.#lock(false);
    this.#say(sentence);
    this.#area.focus();
  }

  close() {
    const isSent = this.#area.readOnly;
    this.#form.remove();
    this.#files?.end(isSent);
    this.#hideQuestion(false);
    this.#question.dispatchEvent(new CustomEvent("chat:editor-closed"));
    seek(this.#question, "[data-action=edit]", HTMLElement)?.focus();
  }

  #typed = () => {
    grow(this.#area);
    this.#say(problemWith(this.#area.value.trim(), this.#limit) ?? "");
  };

  /** @param {Event} event */
  #submit = (event) => {
    event.preventDefault();
    const text = this.#area.value.trim();
    const wrong = text ? problemWith(text, this.#limit) : t("There is nothing to send.");
    const problem = wrong ?? this.#files?.problem;
    if (problem) return this.refuse(problem);
    this.#say("");
    this.#lock(true);
    this.#send(text, this.#files?.uses ?? null);
  };

  /** @param {KeyboardEvent} event */
  #key = (event) => {
    if (event.key === "Escape" && !event.isComposing) {
      // The page's own Escape would stop a running answer.
      event.stopPropagation();
      this.close();
    } else if (event.target === this.#area && sends(event)) {
      event.preventDefault();
      this.#form.requestSubmit();
    }
  };

  /** @param {string} sentence */
  #say(sentence) {
    find(this.#form, ".question-editor-problem", HTMLElement).textContent = sentence;
  }

  /** @param {boolean} locked */
  #lock(locked) {
    this.#area.readOnly = locked;
    this.#files?.lock(locked);
    find(this.#form, "[type=submit]", HTMLButtonElement).disabled = locked;
  }

  /** @param {boolean} hidden */
  #hideQuestion(hidden) {
    const selector = ":scope > :is(.question-text, .question-tools, .files)";
    for (const each of this.#question.querySelectorAll(selector)) each.toggleAttribute("hidden", hidden);
  }
}
