// The editor for a question that was sent. Sending creates a new branch; the old question stays on its own. Like the
// message box, it stores the text in this browser until it is sent or cancelled.

import { t } from "../language/words.js";
import { atEnd, complain, find, fromTemplate, grow, lifeOf, seek } from "../page/dom.js";
import { Drafts, problemWith, isSendKey } from "../composer/drafts.js";
import { EditedFiles } from "../files/edited-files.js";
import { sourceOf } from "./question.js";

/** @import { ChatComposer } from "../composer/composer.js" */
/** @import { Act } from "../page/dom.js" */
/** @import { AttachedFile } from "../files/chip.js" */

export class QuestionEditor {
  #question;
  #form;
  #area;
  #send;
  #limit;
  /** The files of a question that was sent. A queued message has its files elsewhere. */
  #files;
  /** Where its text is kept. @type {{ drafts: Drafts, name: string, before: string }} */
  #draft;
  #ending = new AbortController();

  /**
   * @param {HTMLElement} question the section that shows the question
   * @param {number} limit characters
   * @param {(text: string, files: AttachedFile[] | null) => void} send `files`: null if they are unchanged
   * @param {HTMLFormElement} [early] a form that received what was typed, and maybe submitted, while this module was
   * loading
   */
  constructor(question, limit, send, early) {
    const form = early ?? fromTemplate("question-editor", HTMLFormElement);
    this.#question = question;
    this.#form = form;
    this.#area = find(form, "textarea", HTMLTextAreaElement);
    this.#limit = limit;
    this.#send = send;
    const before = sourceOf(question);
    if (!early) this.#area.value = before;
    this.#form.dataset.ready = "";
    this.#form.addEventListener("submit", this.#submit);
    this.#form.addEventListener("keydown", this.#key);
    this.#area.addEventListener("input", this.#typed);
    find(this.#form, "[data-action=cancel-edit]", HTMLElement).addEventListener("click", () => this.close());
    this.#hideQuestion(true);
    form.classList.remove("visually-hidden");
    if (!form.isConnected) question.append(form);
    const { question: id } = /** @type {HTMLElement | null} */ (question.closest(".exchange"))?.dataset ?? {};
    this.#files = id ? new EditedFiles(this.#form, question, id, (sentence) => this.#say(sentence)) : null;
    const composer = /** @type {ChatComposer} */ (find(document, "chat-composer", HTMLElement));
    // An edit of a queued message stays in the page, which asks before it is left.
    const drafts = id ? composer.drafts : new Drafts(null, composer.dataset.person ?? "");
    this.#draft = { drafts, name: `edit:${id ?? "next"}`, before };
    this.#listen();
    this.#typed();
    this.#area.focus({ preventScroll: true });
    // In the early form, what was typed last or selected stays as it is.
    if (!early) this.#area.setSelectionRange(this.#area.value.length, this.#area.value.length);
    // Focusing alone would scroll the text into view, but leave the buttons hidden behind the message box. So would
    // files and complaints that come later.
    new ResizeObserver(this.#resized).observe(form);
    // After the caller has stored the new editor.
    if ("asked" in form.dataset) queueMicrotask(() => form.requestSubmit());
  }

  /**
   * The edit was refused: it can be changed and sent again.
   * @param {string} sentence
   * @param {Act} [act]
   * @returns {boolean} whether the editor is still open
   */
  refuse(sentence, act) {
    this.#lock(false);
    this.#say(sentence, act);
    this.#area.focus();
    return !this.#ending.signal.aborted;
  }

  /** The page shows the question in another element, and has moved the form there. */
  moved() {
    this.#question = this.#form.parentElement ?? this.#question;
    this.#hideQuestion(true);
  }

  /**
   * The server accepted an edit of this question or another one, maybe from another tab.
   * @returns {boolean} whether it replaces this question
   */
  taken() {
    if (this.#form.isConnected) return false;
    if (this.#area.readOnly) this.#draft.drafts.clear(this.#draft.name);
    this.#ending.abort();
    return true;
  }

  /** @param {boolean} [keeps] whether the text is there again when the editor is reopened */
  close(keeps = false) {
    const isSent = this.#area.readOnly;
    // A queued message is changed at once; an edit is sent when the server has it.
    if (!keeps && !(isSent && this.#files)) this.#draft.drafts.clear(this.#draft.name);
    this.#ending.abort();
    this.#form.remove();
    this.#files?.end(isSent || keeps);
    this.#hideQuestion(false);
    this.#question.dispatchEvent(new CustomEvent("chat:editor-closed"));
    seek(this.#question, "[data-action=edit]", HTMLElement)?.focus();
  }

  #listen() {
    const { signal } = this.#ending;
    atEnd(lifeOf(this.#form), () => this.#ending.abort());
    // The connection broke while the edit was on its way.
    const held = () => this.#say(fromTemplate("unconfirmed", HTMLElement).textContent?.trim() ?? "");
    find(document, "chat-transcript", HTMLElement).addEventListener("chat:edit-held", held, { signal });
  }

  #resized = () => {
    if (this.#form.contains(document.activeElement)) this.#form.scrollIntoView({ block: "nearest" });
  };

  #typed = () => {
    grow(this.#area);
    const { value: text } = this.#area;
    this.#draft.drafts.keep(this.#draft.name, text === this.#draft.before ? "" : text);
    this.#say("");
  };

  /** @param {Event} event */
  #submit = (event) => {
    event.preventDefault();
    const text = this.#area.value.trim();
    if (!text) return void this.refuse(t("There is nothing to send."));
    if (problemWith(text, this.#limit)) return void this.refuse("");
    const problem = this.#files?.problem;
    if (problem) return void this.refuse(problem, this.#files?.act);
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
    } else if (event.target === this.#area && isSendKey(event)) {
      event.preventDefault();
      this.#form.requestSubmit();
    }
  };

  /**
   * @param {string} sentence empty for none; but a text that is too long is complained about as long as it is
   * @param {Act} [act] what puts an end to it
   */
  #say(sentence, act) {
    const problem = sentence ? null : problemWith(this.#area.value.trim(), this.#limit);
    const place = find(this.#form, ".question-editor-problem", HTMLElement);
    complain(place, problem ?? sentence, problem ? this.#files?.attaching : act);
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
