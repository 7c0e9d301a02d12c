// The queued message, sent while an answer is being written: it can be edited and cancelled, and is sent once when the
// answer is finished. After a stopped or failed answer, the person has to confirm it.

import { textStorage } from "../page/storage.js";
import { NextMessages } from "./next-messages.js";
import { t } from "../language/words.js";
import { closestTo, find, fromTemplate, lifeOf, seek } from "../page/dom.js";
import { QuestionEditor } from "../exchange/question-editor.js";
import { problemWith } from "./drafts.js";

/** @import { ChatComposer, OutgoingMessage } from "./composer.js" */
/** @import { NextMessage as Message } from "./next-messages.js" */

/**
 * @typedef {object} PageParts
 * @property {ChatComposer} composer
 * @property {import("../chat/transcript.js").ChatTranscript} transcript
 * @property {import("../chat/open-conversation.js").OpenConversation} open
 * @property {(written: OutgoingMessage) => void} send without scrolling the page
 * @property {(written: OutgoingMessage) => void} sendNow scrolls to it
 * @property {(sentence: string) => void} announce
 * @property {() => string} newId an id for a command
 * @property {(turn: string, wanted: boolean) => boolean} makeWay whether the server could be told
 */


export class NextMessage {
  #around;
  #messages;
  #card = new NextMessageCard({
    send: () => this.#sendNow(),
    add: () => this.#add(),
    edit: () => this.#edit(),
    takeBack: () => this.#takeBack(),
    edited: () => this.#edited(),
  });
  /** The id of what this tab has sent, until the server replies. */
  #sent = "";
  /** The turn that is not to make way any more, until the server could be told. */
  #left = "";
  /** The turn that makes way for it because this tab has said so. */
  #wanted = "";
  /** The id of a message that was refused because of an answer that this page did not know. */
  #early = "";

  /** @param {PageParts} around */
  constructor(around) {
    this.#around = around;
    this.#messages = new NextMessages(textStorage(), around.composer.dataset.person ?? "");
  }

  /** The page is ready and knows whether an answer is being written. */
  start() {
    const { composer } = this.#around;
    composer.addEventListener("chat:next", this.#written);
    composer.addEventListener("chat:running", this.#followed);
    composer.addEventListener("chat:settled", this.#settled);
    addEventListener("storage", this.#changed, { signal: lifeOf(composer) });
    new MutationObserver(() => this.#card.isEditing || this.#reload()).observe(banner(), { attributes: true });
    const message = this.#messages.load(this.#conversation);
    // It is unknown whether the server has what a page was sending that is gone: under the same id, it takes it once.
    if (message?.state === "sending" && isOfThisTab(message.clientId)) this.#sendAgain(message);
    else if (message?.state === "sending") this.#keep({ ...message, state: "offered", reason: "" });
    else if (isOfThisTab(message?.clientId)) this.#followed();
    else if (!composer.isRunning) this.#offer("");
    this.#reload();
  }

  /** The person signs out: nothing is stored any more. */
  forget() {
    this.#messages.forget();
  }

  /** The conversation's id. A message queued before it had one is moved to it. */
  get #conversation() {
    const { id } = this.#around.open;
    if (id !== null) this.#messages.adopt(id);
    return id;
  }

  /** The queued message, as stored for all tabs. */
  get #message() {
    const message = this.#messages.load(this.#conversation);
    return message?.state === "sending" ? null : message;
  }

  get #runningTurn() {
    return this.#around.transcript.running.at(-1)?.turn ?? "";
  }

  /** Something was sent while an answer is being written: appends it to the queued message. @param {Event} event */
  #written = (event) => {
    const { composer } = this.#around;
    const written = /** @type {CustomEvent<OutgoingMessage>} */ (event).detail;
    const problem = this.#queue(written, joined(this.#message, written, composer.limit));
    if (!problem) return;
    event.preventDefault();
    composer.say(problem, "hint");
  };

  /**
   * The server refused it, because the answer of another page is being written: queues it before what was queued since.
   * @param {OutgoingMessage} sent
   */
  early(sent) {
    const { composer } = this.#around;
    const since = this.#message;
    const isFirst = since?.state === "waiting";
    const before = isFirst ? { ...since, text: sent.text, files: sent.files ?? [] } : since;
    const last = isFirst ? since : sent;
    const problem = this.#queue(last, joined(before, last, composer.limit));
    this.#early = this.#message?.clientId ?? "";
    if (!problem) return composer.queued();
    composer.refused(sent.text);
    composer.say(problem, "hint");
  }

  /** @param {OutgoingMessage} written @param {ReturnType<typeof joined>} all @returns {string | null} why not */
  #queue({ effort, choice }, { text, files, problem }) {
    if (problem) return problem;
    const clientId = this.#around.newId();
    markAsOfThisTab(clientId);
    const { addsTo } = this.#message ?? {};
    const waits = { state: /** @type {const} */ ("waiting"), turn: this.#runningTurn, reason: "", addsTo };
    this.#keep({ text, effort, choice, clientId, files, ...waits });
    this.#around.composer.dispatchEvent(new CustomEvent("chat:queued", { detail: files }));
    this.#around.announce(waitingSentence());
    return null;
  }

  /** An answer has started or ended, or the connection is back. */
  #followed = () => {
    const { composer, transcript } = this.#around;
    if (this.#left) this.#leave({ addsTo: this.#left });
    const message = this.#message;
    if (message?.state !== "waiting") return;
    const turn = this.#runningTurn;
    if (turn && turn !== message.turn) return this.#keep({ ...message, turn });
    // The server knows this no longer than its connection lasts.
    if (turn && turn === message.addsTo && isOfThisTab(message.clientId) && this.#around.makeWay(turn, true)) {
      this.#wanted = turn;
    }
    const last = transcript.exchanges.at(-1);
    if (composer.isRunning || last?.isRunning) return;
    // The answer in its way may have ended before the page heard of it: then it is the last one now.
    const isBehind = last?.turn === message.turn || (!message.turn && message.clientId === this.#early);
    if (isBehind && last?.state === "completed") void this.#send(message, this.#around.send);
    else this.#offer(isBehind ? last?.state ?? "" : "");
  };

  /** @param {string} reason */
  #offer(reason) {
    const message = this.#message;
    if (message?.state !== "waiting") return;
    this.#keep({ ...message, state: "offered", reason });
    this.#around.announce(offeredSentence(reason));
  }

  /** The running answer makes way for it before its next step, or no longer. */
  #add() {
    const message = this.#message;
    const turn = this.#runningTurn;
    if (message?.state !== "waiting" || !turn) return this.#reload();
    const wanted = message.addsTo !== turn;
    if (!this.#around.makeWay(turn, wanted)) return this.#around.composer.say(NO_CONNECTION, "hint");
    this.#wanted = wanted ? turn : "";
    this.#keep({ ...message, turn, addsTo: wanted ? turn : undefined });
    this.#around.announce(wanted ? ADDED : waitingSentence());
  }

  /** It is edited or withdrawn: the answer does not wait for it. @param {Pick<Message, "addsTo">} message */
  #leave({ addsTo }) {
    this.#wanted = "";
    if (addsTo) this.#left = this.#around.makeWay(addsTo, false) ? "" : addsTo;
  }

  /** Sends it unless another tab does. @param {Message} message @param {(written: OutgoingMessage) => void} send */
  async #send(message, send) {
    const { composer } = this.#around;
    // The claim is stored, so nothing is lost if this tab is closed before the server has the message.
    const claimed = await exclusively(this.#messages.key(this.#conversation), () => {
      if (composer.isRunning || composer.held) return null;
      return this.#messages.claim(this.#conversation, message.clientId);
    });
    if (!claimed) return this.#reload();
    markAsOfThisTab(claimed.clientId);
    this.#sent = claimed.clientId;
    if (this.#card.hasFocus) composer.focus();
    this.#card.show(claimed);
    send(claimed);
  }

  /** This tab left its page before the server replied. @param {Message} message */
  #sendAgain(message) {
    this.#sent = message.clientId;
    this.#around.send(message);
  }

  /** The server accepted or refused the message, or it was cancelled. @param {Event} event */
  #settled = (event) => {
    const message = this.#messages.load(this.#conversation);
    const isMine = this.#sent && message?.clientId === this.#sent;
    if (isMine && event.cancelable) {
      event.preventDefault();
      this.#early = message.clientId;
      this.#messages.keep(this.#conversation, { ...message, state: "waiting", turn: this.#runningTurn, reason: "" });
    } else if (isMine) {
      this.#messages.clear(this.#conversation);
      if (event instanceof CustomEvent && event.detail) bringBack(this.#around.composer, message);
    }
    this.#sent = "";
    this.#reload();
  };

  #sendNow() {
    const { composer, sendNow } = this.#around;
    const message = this.#message;
    if (!message) return this.#reload();
    if (!composer.isRunning) return void this.#send(message, sendNow);
    markAsOfThisTab(message.clientId);
    this.#keep({ ...message, state: "waiting", turn: this.#runningTurn, reason: "" });
  }

  #takeBack() {
    const message = this.#message;
    if (!message) return this.#reload();
    this.#leave(message);
    this.#messages.clear(this.#conversation);
    this.#reload();
    this.#around.composer.putBack(message.text, "");
    bringBack(this.#around.composer, message);
  }

  /** While it is edited, it is not sent. */
  #edit() {
    const message = this.#message;
    if (!message || this.#card.isEditing) return;
    this.#card.edit(this.#around.composer.limit, (text) => this.#change(message, text));
    this.#leave(message);
    this.#keep({ ...message, state: "offered", reason: "", addsTo: undefined });
  }

  /** @param {Message} edited @param {string} text */
  #change(edited, text) {
    const message = this.#message;
    const isStill = message?.clientId === edited.clientId;
    if (isStill) this.#keep({ ...message, text, clientId: this.#around.newId() });
    this.#card.close();
    if (!isStill) this.#around.composer.putBack(text, TAKEN);
    else if (!this.#around.composer.isRunning) this.#sendNow();
  }

  /** The editor is closed: the message waits again, if there is a running answer. */
  #edited() {
    if (this.#message && this.#around.composer.isRunning) this.#sendNow();
    else this.#reload();
  }

  /** @param {StorageEvent} event */
  #changed = (event) => {
    if (event.key !== this.#messages.key(this.#conversation)) return;
    // Another tab has withdrawn or changed it, or sends it.
    if (this.#wanted && this.#wanted !== this.#message?.addsTo) this.#leave({ addsTo: this.#wanted });
    if (!this.#card.isEditing) this.#reload();
  };

  #reload() {
    this.#card.show(this.#messages.load(this.#conversation));
  }

  /** @param {Message} message */
  #keep(message) {
    this.#messages.keep(this.#conversation, message);
    this.#card.show(message);
  }
}

// The card above the message box that shows the queued message, its editor and its buttons.

/** @typedef {Record<"send" | "add" | "edit" | "takeBack" | "edited", () => void>} Actions */

const WAITING = t("Sent when this answer is finished.");
const UNSENT = t("Not sent yet. It will be sent when the connection is back.");
const ADDED = t("Added to this answer at its next step, or sent when it is finished if there is none.");
const ADD = t("Add to this answer");
const WAIT = t("Wait for the end");
const NO_CONNECTION = t("There is no connection to the server. Please try again when it is back.");
const EDITING = t("Not sent while you edit it.");
const OFFERED = t("This message has not been sent yet.");
/** @type {Record<string, string | undefined>} by the state of the answer before it */
const REASONS = {
  stopped: t("The answer was stopped, so this message has not been sent."),
  failed: t("The answer was not finished, so this message has not been sent."),
  incomplete: t("The answer was not finished, so this message has not been sent."),
  interrupted: t("The answer was not finished, so this message has not been sent."),
};

/** Why a message is not sent automatically. @param {string} reason the state of the answer before it, or nothing */
function offeredSentence(reason) {
  return REASONS[reason] ?? OFFERED;
}

/** What a queued message waits for. */
function waitingSentence() {
  const { hidden, dataset } = banner();
  // After a final refusal the page does not reconnect.
  return hidden || dataset.kind === "final" ? WAITING : UNSENT;
}

/** The banner about the state of the connection. */
function banner() {
  return find(document, ".banner-connection", HTMLElement);
}

class NextMessageCard {
  /** In the page only while there is a queued message. */
  #element = fromTemplate("next-message", HTMLElement);
  #files = document.createElement("p");
  /** @type {QuestionEditor | null} */
  #editor = null;

  /** @param {Actions} actions */
  constructor({ send, add, edit, takeBack, edited }) {
    this.#files.className = "next-message-files";
    find(this.#element, ".question-text", HTMLElement).before(this.#files);
    this.#element.addEventListener("click", (event) => {
      const action = closestTo(event, "[data-action]")?.dataset.action;
      if (action === "send-next") send();
      else if (action === "add") add();
      else if (action === "edit") edit();
      else if (action === "take-back") takeBack();
    });
    this.#element.addEventListener("chat:editor-closed", () => {
      this.#editor = null;
      edited();
    });
  }

  get isEditing() {
    return this.#editor !== null;
  }

  get hasFocus() {
    return this.#element.contains(document.activeElement);
  }

  /**
   * @param {number} limit characters
   * @param {(text: string) => void} change
   */
  edit(limit, change) {
    this.#editor = new QuestionEditor(this.#element, limit, change);
  }

  close() {
    this.#editor?.close();
  }

  /** @param {Message | null} message */
  show(message) {
    if (!message || message.state === "sending") return this.#element.remove();
    if (!this.#element.isConnected) find(document, "chat-composer", HTMLElement).before(this.#element);
    const waits = message.state === "waiting";
    const adds = waits && message.addsTo !== undefined && message.addsTo === message.turn;
    const sentence = adds ? ADDED : waits ? waitingSentence() : offeredSentence(message.reason);
    find(this.#element, ".next-message-state", HTMLElement).textContent = this.isEditing ? EDITING : sentence;
    find(this.#element, ".question-text", HTMLElement).textContent = message.text;
    const names = (message.files ?? []).map(({ name }) => name);
    const [before = "", behind = ""] = t("With %(names)s", { names: "\n" }).split("\n");
    const isolated = names.map((name) => Object.assign(document.createElement("bdi"), { textContent: name }));
    this.#files.replaceChildren(before, ...isolated.flatMap((name, at) => (at ? [", ", name] : [name])), behind);
    this.#files.hidden = !names.length;
    find(this.#element, ".question-source", HTMLTemplateElement).content.replaceChildren(message.text);
    find(this.#element, "[data-action=send-next]", HTMLElement).hidden = waits;
    const button = find(this.#element, "[data-action=add]", HTMLElement);
    // An answer takes several steps only if the model may call tools.
    button.hidden = !waits || !message.turn || !seek(document, "#tools-menu", HTMLElement);
    button.querySelectorAll("svg").forEach((icon, at) => icon.toggleAttribute("hidden", adds !== Boolean(at)));
    // Both take their place, so that no other button moves under the pointer.
    find(button, "span", HTMLElement).replaceChildren(...[ADD, WAIT].map((words) => {
      const isMeant = words === (adds ? WAIT : ADD);
      return Object.assign(document.createElement("span"), { textContent: words, className: isMeant ? "" : "unmeant" });
    }));
  }
}

// Merges further text and files into the queued message, and returns its files to the message box.

const MAX_FILES = 10;
const OCCUPIED = t("Please send the message above first, or cancel it.");
const TAKEN = t("This message was sent or changed in another tab.");

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
function bringBack(composer, { files }) {
  if (!files?.length) return;
  import("../files/pending-files.js").then(({ bring }) => bring(composer, ""), () => undefined);
}

// Coordinates the tabs of a browser: actions for one tab only, and ids that belong to this tab across a reload.

const MINE = "chatui:mine";

/**
 * Runs a function under a lock that all tabs share. Pages over plain http have no locks: the function must then be
 * harmless if two tabs run it, such as sending under the same id.
 * @template T
 * @param {string} name
 * @param {() => T} run
 * @returns {Promise<T>}
 */
async function exclusively(name, run) {
  const { locks } = /** @type {{ locks?: LockManager }} */ (navigator);
  return locks ? locks.request(name, async () => run()) : run();
}

/** @param {string} clientId of a message that was written in this tab, or is sent by it */
function markAsOfThisTab(clientId) {
  try {
    sessionStorage.setItem(MINE, clientId);
  } catch {
    // Without storage, it is offered after a reload, not sent.
  }
}

/**
 * Whether a message was written or sent in this tab, maybe before a reload.
 * @param {string | undefined} clientId
 */
function isOfThisTab(clientId) {
  try {
    return clientId !== undefined && sessionStorage.getItem(MINE) === clientId;
  } catch {
    return false;
  }
}
