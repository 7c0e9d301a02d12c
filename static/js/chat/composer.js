// <chat-composer>: the message box. Dispatches "chat:send" with {text, effort, choice, clientId}, and "chat:stop".

import { find } from "../page/dom.js";
import { grow } from "../page/growing.js";
import { openStorage } from "../page/storage.js";
import { newId } from "../models/client-id.js";
import { Drafts } from "../models/drafts.js";
import { problemWith, sends } from "../models/typing.js";
import { ModelChoice } from "./model-choice.js";

/** @typedef {{ text: string, effort: string, choice: string, clientId: string }} Written */

const DRAFT_DELAY_MS = 250;
const BUSY = "Please wait for the answer, or stop it first.";
const HELD = "Your last message has not been sent yet. Please wait for the connection.";

export class ChatComposer extends HTMLElement {
  #form = find(this, "form", HTMLFormElement);
  #area = find(this, "textarea", HTMLTextAreaElement);
  #send = find(this, ".send", HTMLButtonElement);
  #stop = find(this, ".stop", HTMLButtonElement);
  #problem = find(this, ".composer-problem", HTMLElement);
  #limit = Number(this.#form.dataset.textChars) || Infinity;
  #drafts = new Drafts(openStorage(), this.dataset.person ?? "");
  /** @type {string | null} */
  #conversation = this.dataset.conversation ?? null;
  #model = new ModelChoice(this, () => this.#conversation === null);
  /**
   * The id under which the text in the box was sent before, without a reply.
   * @type {{ text: string, clientId: string } | null}
   */
  #unanswered = null;
  /** @type {number | undefined} */
  #saving;
  #running = false;
  #forgotten = false;
  /** Whether a message waits for the connection: the next one has to wait, too. */
  held = false;

  connectedCallback() {
    this.#form.addEventListener("submit", this.#submit);
    this.#area.addEventListener("keydown", this.#key);
    this.#area.addEventListener("input", this.#typed);
    this.#stop.addEventListener("click", () => this.dispatchEvent(new CustomEvent("chat:stop")));
    this.addEventListener("click", this.#takeExample);
    addEventListener("pagehide", this.#save);
    this.#model.listen();
    const draft = this.#drafts.load(this.#conversation);
    // What was typed before this script was there is newer than a draft.
    this.#put(this.#area.value || draft.text);
    if (draft.clientId) this.#unanswered = { text: draft.text, clientId: draft.clientId };
  }

  get limit() {
    return this.#limit;
  }

  get effort() {
    return this.#model.effort;
  }

  get choice() {
    return this.#model.choice;
  }

  /** The page is there: sends what the person asked to send before. */
  begin() {
    const isAsked = "asked" in this.#form.dataset;
    this.#form.dataset.ready = "";
    if (isAsked) this.#form.requestSubmit();
  }

  /** The person signs out: nothing that they wrote stays in this browser, and the page must not save it again. */
  forget() {
    this.#forgotten = true;
    this.#drafts.forgetAll();
    this.#model.forget();
  }

  focus() {
    this.#area.focus();
  }

  /** @param {boolean} running whether an answer is being written: Stop takes the place of Send */
  set running(running) {
    const focusMoves = document.activeElement === (running ? this.#send : this.#stop);
    this.#running = running;
    this.#send.hidden = running;
    this.#stop.hidden = !running;
    if (focusMoves) (running ? this.#stop : this.#area).focus();
    if (!running) this.say("");
  }

  /** @param {string} sentence @param {"problem" | "hint"} [kind] */
  say(sentence, kind = "problem") {
    this.#problem.dataset.kind = kind;
    this.#problem.textContent = sentence;
  }

  /**
   * The server has stored the message: only now is the draft removed. Text typed since then stays.
   * @param {string} conversation that the message is now part of
   */
  accepted(conversation) {
    this.#drafts.clear(this.#conversation);
    this.#conversation = conversation;
    this.#unanswered = null;
    this.#save();
  }

  /**
   * The server refused the message, or it was taken back: its text returns to the box, before anything typed since.
   * @param {string} text
   * @param {string} sentence
   */
  refused(text, sentence) {
    const since = this.#area.value.trim();
    this.#unanswered = null;
    this.#put(since ? `${text}\n\n${since}` : text);
    this.#save();
    this.say(sentence);
    this.#area.focus();
  }

  /** @param {Event} event */
  #submit = (event) => {
    event.preventDefault();
    const text = this.#area.value.trim();
    if (!text) return;
    if (this.#running) return this.say(BUSY, "hint");
    if (this.held) return this.say(HELD, "hint");
    const problem = problemWith(text, this.#limit);
    if (problem) return this.say(problem);
    const clientId = this.#unanswered?.text === text ? this.#unanswered.clientId : newId();
    clearTimeout(this.#saving);
    this.#drafts.keep(this.#conversation, text, clientId);
    this.#unanswered = { text, clientId };
    this.#put("");
    this.say("");
    /** @type {Written} */
    const detail = { text, effort: this.effort, choice: this.choice, clientId };
    this.dispatchEvent(new CustomEvent("chat:send", { detail }));
  };

  /** @param {KeyboardEvent} event */
  #key = (event) => {
    if (!sends(event)) return;
    event.preventDefault();
    this.#form.requestSubmit();
  };

  /** Adds an example to the end of the text in the box, to be changed or sent. @param {Event} event */
  #takeExample = (event) => {
    const example = event.target instanceof Element ? event.target.closest("[data-action='example']") : null;
    if (!example) return;
    this.#put([this.#area.value.trim(), example.textContent?.trim()].filter(Boolean).join("\n\n"));
    this.#save();
    this.#area.focus();
  };

  #typed = () => {
    grow(this.#area);
    this.#show();
    this.say(problemWith(this.#area.value.trim(), this.#limit) ?? "");
    clearTimeout(this.#saving);
    this.#saving = setTimeout(this.#save, DRAFT_DELAY_MS);
  };

  #save = () => {
    clearTimeout(this.#saving);
    if (this.#forgotten) return;
    const text = this.#area.value;
    // The box is empty while a message is being sent: that must not delete the message's draft.
    if (!text && this.#unanswered) return;
    const clientId = this.#unanswered?.text === text.trim() ? this.#unanswered.clientId : null;
    this.#drafts.keep(this.#conversation, text, clientId);
  };

  /** @param {string} text */
  #put(text) {
    this.#area.value = text;
    grow(this.#area);
    this.#show();
  }

  #show() {
    this.#send.disabled = !this.#area.value.trim();
  }
}

customElements.define("chat-composer", ChatComposer);
