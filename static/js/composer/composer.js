// <chat-composer>: the message box. Dispatches "chat:send" with {text, effort, choice, clientId}, or "chat:next", which
// can be refused, while an answer is being written; "chat:early" for a message that was sent just before the page knew
// of that answer; "chat:stop"; "chat:running" when an answer begins or ends; and "chat:settled" when the server has
// accepted or refused what was sent.

import { closestTo, complain, find, grow, lifeOf, listen, seek } from "../page/dom.js";
import { brought, isSendKey, MessageDraft, problemWith, remainingCharacters } from "./drafts.js";
import { newId, openStorage, recall, remember, textStorage } from "../page/storage.js";
import { number, t, tn } from "../language/words.js";

/** @import { ChatTranscript } from "../chat/transcript.js" */
/** @import { Act } from "../page/dom.js" */
/** @import { Brought } from "./drafts.js" */
/** @import { NextMessage, PageParts } from "./next-message.js" */

/** @typedef {import("../files/chip.js").AttachedFile[] | null} Files */
/** What a link fills in ("filled.js"). */
const FILLED = /[?&](?:q|title|url)=/;

/** @typedef {{ text: string, effort: string, choice: string, clientId: string, files?: Files }} OutgoingMessage */

export class ChatComposer extends HTMLElement {
  #form = find(this, "form", HTMLFormElement);
  #area = find(this, "textarea", HTMLTextAreaElement);
  #send = find(this, ".send", HTMLButtonElement);
  #stop = find(this, ".stop", HTMLButtonElement);
  #problem = find(this, ".composer-problem", HTMLElement);
  limit = Number(this.#form.dataset.textChars) || Infinity;
  #count = find(this, ".composer-count", HTMLElement);
  #own = new MessageDraft(this, this.dataset.person ?? "", this.dataset.conversation ?? null);
  #drafts = [this.#own];
  /** The one in the box. */
  #draft = this.#own;
  /** The address of the page that is being opened. */
  #next = "";
  /** Whether that page sends what is submitted until it is there. */
  #passesOn = false;
  drafts = this.#own.drafts;
  #model = new ModelChoice(this, () => this.#own.isNew);
  #running = false;
  #isTooLong = false;
  /** Why nothing can be sent now, in words; empty if it can. */
  held = "";
  /** The files to send with a message. @type {() => Files} */
  files = () => null;

  connectedCallback() {
    filesOnDemand(this);
    this.#form.addEventListener("submit", this.#submit);
    this.#area.addEventListener("keydown", this.#key);
    this.#area.addEventListener("input", this.#typed);
    this.#stop.addEventListener("click", () => this.dispatchEvent(new CustomEvent("chat:stop")));
    this.addEventListener("click", this.#takeExample);
    this.#model.listen();
    this.#draft.begin(lifeOf(this));
    this.text = this.text;
    if (this.#draft.isNew && FILLED.test(location.search)) void import("./filled.js").then(({ fill }) => fill(this));
    if (document.activeElement === document.body) this.#focus();
  }

  /** Not where an on-screen keyboard would cover the conversation. */
  #focus() {
    if (matchMedia("(pointer: fine)").matches) this.#area.focus({ preventScroll: true });
  }

  /** The text in the box. */
  get text() {
    return this.#area.value;
  }

  set text(text) {
    this.#area.value = text;
    grow(this.#area);
    this.#show();
    if (this.#isTooLong || problemWith(text.trim(), this.limit)) this.say("");
  }

  get effort() {
    return this.#model.effort;
  }

  get choice() {
    return this.#model.choice;
  }

  /** The page is ready: sends what the person submitted before that. */
  begin() {
    const isAsked = "asked" in this.#form.dataset;
    this.#form.dataset.ready = "";
    if (isAsked) this.#form.requestSubmit();
  }

  /** Stores what was typed just now. */
  flush() {
    this.#draft.flush();
  }

  /**
   * Another conversation is being opened: until its page is there, the box is that one's. Nothing is sent from here.
   * @param {string} address
   * @param {string | null} conversation null for a new one
   * @param {boolean} [passesOn] whether no page is loaded: then it is sent from there
   */
  giveTo(address, conversation, passesOn = false) {
    this.#next = address;
    this.#passesOn = passesOn;
    delete this.#form.dataset.asked;
    this.#draft.leaveBox();
    const known = this.#drafts.find((draft) => draft.conversation === conversation);
    this.#draft = known ?? new MessageDraft(this, this.dataset.person ?? "", conversation, openStorage());
    this.text = "";
    if (known) known.takeBox(this);
    else (this.#drafts.push(this.#draft), this.#draft.begin(lifeOf(this)));
    this.#focus();
  }

  /** The other page does not come: the box is this conversation's again. */
  stay() {
    if (this.#next) this.giveTo("", this.#own.conversation);
  }

  /** The person signs out: nothing is saved any more. */
  forget() {
    for (const draft of this.#drafts) draft.forget();
    this.#model.forget();
  }

  focus() {
    this.#area.focus();
  }

  get isRunning() {
    return this.#running;
  }

  /** @param {boolean} running whether an answer is being written: Stop replaces Send while the box is empty */
  set running(running) {
    const focusMoves = document.activeElement === (running ? this.#send : this.#stop);
    const hasEnded = this.#running && !running;
    this.#running = running;
    this.#stop.hidden = !running;
    this.#show();
    if (focusMoves) (running ? this.#stop : this.#area).focus();
    if (hasEnded) this.say("");
    this.dispatchEvent(new CustomEvent("chat:running"));
  }

  /**
   * @param {string} sentence empty for none; but a text that is too long is complained about as long as it is
   * @param {"problem" | "hint"} [kind]
   * @param {Act} [act] what puts an end to it
   */
  say(sentence, kind = "problem", act) {
    const problem = sentence ? null : problemWith(this.text.trim(), this.limit);
    // Whoever pasted it probably wants a file.
    const attach = () => this.dispatchEvent(new CustomEvent("chat:attach-text"));
    if (problem) this.say(problem, "problem", { label: t("Attach it as a file"), run: attach });
    this.#isTooLong = problem !== null;
    if (problem) return;
    this.#problem.dataset.kind = kind;
    complain(this.#problem, sentence, act);
  }

  /** The server has stored the message. Text typed since then stays. @param {string} conversation it is now part of */
  accepted(conversation) {
    this.#own.accepted(conversation);
    this.dispatchEvent(new CustomEvent("chat:settled"));
  }

  /** The server refused the message, or the person cancelled it: its text returns to the box. @param {string} text */
  refused(text) {
    this.#own.refused();
    this.dispatchEvent(new CustomEvent("chat:settled", { detail: true }));
    this.putBack(text, "");
  }

  /**
   * The server refused the message, because the answer of another page is being written: it is the next one.
   * @param {OutgoingMessage} message
   */
  early(message) {
    const settled = new CustomEvent("chat:settled", { detail: true, cancelable: true });
    if (!this.dispatchEvent(settled)) return this.queued(); // it was queued before
    this.dispatchEvent(new CustomEvent("chat:early", { detail: message }));
  }

  /** The message waits for the end of the answer, and its draft is not needed any more. Text typed since then stays. */
  queued() {
    this.#own.refused();
    this.#own.save();
  }

  /**
   * Inserts a text into the box, before anything typed since.
   * @param {string} text
   * @param {string} sentence
   */
  putBack(text, sentence) {
    this.#own.putBack(text);
    if (this.#next) return;
    this.say(sentence);
    this.#area.focus();
  }

  /** Puts a text before the one in the box, for whenever the person needs it. @param {string} text */
  keep(text) {
    this.#own.putBack(text);
  }

  /** Puts a text below the one in the box, for the person to edit or send. @param {string} text */
  append(text) {
    this.text = [this.text.trim(), text].filter(Boolean).join("\n\n");
    this.#draft.save();
  }

  /** @param {Event} event */
  #submit = (event) => {
    event.preventDefault();
    const text = this.text.trim();
    if (!text) return;
    // Its page shows the text, and sends it to the right conversation.
    if (this.#passesOn) return void (this.#form.dataset.asked = "");
    if (this.#next) return location.assign(this.#next);
    if (this.held) return this.say(this.held, "hint");
    if (problemWith(text, this.limit)) return this.say("");
    if (this.#running) return this.#sendNext(text);
    const clientId = this.#draft.sent(text);
    this.text = "";
    this.say("");
    this.#dispatch("chat:send", text, clientId);
  };

  /** An answer is being written: the message is the next one. @param {string} text */
  #sendNext(text) {
    if (!this.#dispatch("chat:next", text, "")) return;
    this.text = "";
    this.#draft.save();
    this.say("");
    this.#area.focus();
  }

  /**
   * @param {string} name
   * @param {string} text
   * @param {string} clientId
   * @returns {boolean} whether it was not refused
   */
  #dispatch(name, text, clientId) {
    /** @type {OutgoingMessage} */
    const detail = { text, effort: this.effort, choice: this.choice, clientId, files: this.files() };
    return this.dispatchEvent(new CustomEvent(name, { detail, cancelable: true }));
  }

  /** @param {KeyboardEvent} event */
  #key = (event) => {
    if (!isSendKey(event)) return;
    event.preventDefault();
    this.#form.requestSubmit();
  };

  /** @param {Event} event */
  #takeExample = (event) => {
    const example = closestTo(event, "[data-action='example']");
    if (!example) return;
    this.append(example.textContent?.trim() ?? "");
    this.#area.focus();
  };

  #typed = () => {
    grow(this.#area);
    this.#show();
    this.say("");
    this.#draft.typed();
    if (this.text[0] === "/") void import("./saved-prompts.js").then(({ offer }) => offer(this));
  };

  #show() {
    const text = this.text.trim();
    this.#send.disabled = !text;
    this.#send.hidden = this.#running && !text;
    this.#count.textContent = remainingCharacters(text, this.limit) ?? "";
  }
}

// Shows under the message box how full the model's context is after the last answer of the displayed branch.

export class ContextUse {
  #line;
  #transcript;

  /**
   * @param {HTMLElement} line
   * @param {ChatTranscript} transcript
   */
  constructor(line, transcript) {
    this.#line = line;
    this.#transcript = transcript;
  }

  /** Observes the transcript: answers end, and exchanges are added and removed. */
  watch() {
    const show = () => this.#show();
    // Two observers, because observing the whole subtree would fire many times a second while an answer is written.
    new MutationObserver(show).observe(this.#transcript, { childList: true });
    const told = { subtree: true, attributeFilter: ["data-context", "data-left-out"] };
    new MutationObserver(show).observe(this.#transcript, told);
    this.#show();
  }

  #show() {
    const known = [...this.#transcript.children].filter((child) => child instanceof HTMLElement);
    const last = known.findLast((exchange) => "context" in exchange.dataset || "leftOut" in exchange.dataset);
    const text = contextText(Number(last?.dataset.context ?? 0), Number(last?.dataset.leftOut ?? 0));
    if (this.#line.textContent !== text) this.#line.textContent = text;
  }
}

// The text for how full a model's context is.

/**
 * @param {number} percent of what the model can read at once; 0 if unknown
 * @param {number} leftOut how many of the oldest questions the model was not shown
 * @returns {string} empty if there is nothing to show
 */
export function contextText(percent, leftOut) {
  const share = number(percent / 100, { style: "percent" });
  const full = percent > 0 ? t("About %(share)s of what the model can read at once", { share }) : "";
  const left = leftOut > 0 ? tn("Oldest question left out", "Oldest %(n)s questions left out", leftOut) : "";
  return [left, full].filter(Boolean).join(" · "); // a narrow screen cuts the end
}

// The choice of model and reasoning effort beside the message box.

const EFFORT_KEY = "chatui:effort";
const CHOICE_KEY = "chatui:choice";

class ModelChoice {
  #composer;
  #effort;
  #isNew;

  /**
   * @param {HTMLElement} composer
   * @param {() => boolean} isNew whether no conversation has begun yet
   */
  constructor(composer, isNew) {
    this.#composer = composer;
    this.#isNew = isNew;
    this.#effort = find(composer, "select[name=effort]", HTMLSelectElement);
  }

  /** Null if there is only one model, and it is the default. */
  get #choice() {
    return seek(this.#composer, "select[name=choice]", HTMLSelectElement);
  }

  listen() {
    this.#effort.addEventListener("change", () => remember(EFFORT_KEY, this.#effort.value));
    this.#composer.addEventListener("change", this.#chose);
    if (this.#isNew()) this.#begin();
    if (!this.#effort.value) this.#effort.value = "medium";
  }

  get effort() {
    return this.#effort.value;
  }

  /** The model that the page names, as the server names it; empty only if none is offered. */
  get choice() {
    return this.#choice?.value ?? this.#composer.dataset.choice ?? "";
  }

  forget() {
    remember(CHOICE_KEY, null);
  }

  /**
   * A new conversation begins with the model that a link or its assistant named, else that of the last one, and with
   * the effort of its assistant, else the one that was chosen last, or else the model's default.
   */
  #begin() {
    const last = "linked" in this.#composer.dataset ? null : recall(CHOICE_KEY);
    const isOffered = [...(this.#choice?.options ?? [])].some((option) => option.value === last);
    if (this.#choice && last && isOffered && last !== this.choice) {
      this.#choice.value = last;
      this.#isChosen();
    }
    const usual = this.#choice?.selectedOptions[0]?.dataset.effort;
    if ("keepsEffort" in this.#composer.dataset) return;
    this.#effort.value = recall(EFFORT_KEY) ?? usual ?? this.#effort.value;
  }

  /** @param {Event} event */
  #chose = ({ target }) => {
    if (target !== this.#choice) return;
    remember(CHOICE_KEY, this.choice);
    this.#isChosen();
    if (this.#isNew()) this.#begin();
  };

  /** The person says which model is next: what stands there about another one is over. */
  #isChosen() {
    this.#composer.querySelector(".composer-gone")?.remove();
  }
}

// The menu of tools, fetched when it is opened.

/** @param {HTMLElement} composer */
export function listenToToolsMenu(composer) {
  const menu = seek(composer, "#tools-menu", HTMLElement);
  menu?.addEventListener("beforetoggle", (event) => {
    const { newState } = /** @type {ToggleEvent} */ (event);
    if (newState !== "open") return;
    const kept = { toolsOff, keepToolsOff };
    void import("./tools-menu.js").then((made) => made.open(menu, kept));
  });
}

// The tools that are off in a new conversation: the person's last choice in this browser, or what an assistant begins
// with, which this page alone keeps.

const TOOLS_OFF_KEY = "chatui:tools";

/** Their names, separated by commas; empty if no tools are offered. */
export function toolsOff() {
  const menu = seek(document, "#tools-menu", HTMLElement);
  return menu ? (menu.dataset.off ?? recall(TOOLS_OFF_KEY) ?? "") : "";
}

/** @param {string[]} names */
function keepToolsOff(names) {
  const menu = seek(document, "#tools-menu[data-off]", HTMLElement);
  if (menu) menu.dataset.off = names.join(",");
  else remember(TOOLS_OFF_KEY, names.length ? names.join(",") : null);
}

// Loads the module for the queued message when an answer is being written, or when this browser already stores a queued
// message.

const PREFIX = "chatui:next:";
const NO_CONNECTION = t("There is no connection to the server. Please try again when it is back.");

/** @param {Omit<PageParts, "newId">} around */
export function nextMessageOnDemand(around) {
  const { composer } = around;
  const signal = lifeOf(composer);
  /** @type {NextMessage | null} */
  let next = null;
  /** @type {Promise<void> | null} */
  let loading = null;
  const load = () => (loading ??= import("./next-message.js").then((module) => {
    if (signal.aborted) return;
    next = new module.NextMessage({ ...around, newId });
    next.start();
  }, (error) => {
    loading = null;
    throw error;
  }));
  /** A failed attempt is reported only to a person who sends something. */
  const prepare = () => void load().catch(() => undefined);

  composer.addEventListener("chat:running", () => composer.isRunning && prepare());
  composer.addEventListener("chat:next", (event) => {
    if (next) return;
    // The text stays in the box until it can be queued.
    event.preventDefault();
    const form = find(composer, "form", HTMLFormElement);
    load().then(() => form.requestSubmit(), () => composer.say(NO_CONNECTION, "hint"));
  });
  listen(composer, "chat:early", (/** @type {OutgoingMessage} */ message) => {
    const putBack = () => (composer.refused(message.text), composer.say(NO_CONNECTION, "hint"));
    const isLate = !next;
    load().then(() => {
      next?.early(message);
      // The answer that it waits for may have ended while this was loaded.
      if (isLate) around.transcript.dispatchEvent(new CustomEvent("chat:branch"));
    }, putBack);
  });
  addEventListener("storage", ({ key }) => key?.startsWith(PREFIX) && prepare(), { signal });
  return {
    /** The page is ready and knows whether an answer is being written. */
    start() {
      const storage = textStorage();
      const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "");
      if (composer.isRunning || keys.some((key) => key.startsWith(PREFIX))) prepare();
    },
    /** The person signs out: nothing is stored any more. */
    forget: () => next?.forget(),
  };
}

// Loads the file modules when somebody first attaches a file, with the button or by dragging or pasting anywhere on the
// page, or already has files.

/** @param {ChatComposer} composer */
export function filesOnDemand(composer) {
  const { files } = composer.dataset;
  const bring = (/** @type {[string, Brought?]} */ ...all) => void import("../files/pending-files.js").then((made) => {
    made.bring(composer, ...all);
  });
  if (files === "") bring(files);
  for (const button of composer.querySelectorAll("button.earlier")) {
    button.addEventListener("click", () => bring(button.matches("[data-servers]") ? "servers" : "earlier"));
  }
  composer.addEventListener("chat:attach-text", () => bring("text"));
  for (const name of ["change", "dragover", "drop", "paste"]) {
    addEventListener(name, (event) => {
      const what = brought(event);
      if (!what) return;
      if (!what.isNative) event.preventDefault();
      bring(name, what);
    }, { signal: lifeOf(composer) });
  }
}

customElements.define("chat-composer", ChatComposer);
