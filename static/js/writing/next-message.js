// The queued message, sent while an answer is being written: it can be edited and cancelled, and is sent once when the
// answer is finished. After a stopped or failed answer, the person has to confirm it.

import { textStorage } from "../page/storage.js";
import { TAKEN, bringBack, joined } from "./next-files.js";
import { NextMessageCard, banner, offeredSentence, waitingSentence } from "./next-message-card.js";
import { NextMessages } from "./next-messages.js";
import { exclusively, isOfThisTab, markAsOfThisTab } from "./tabs.js";

/** @import { ChatComposer, OutgoingMessage } from "../chat/composer.js" */
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
 */


export class NextMessage {
  #around;
  #messages;
  #card = new NextMessageCard({
    send: () => this.#sendNow(),
    edit: () => this.#edit(),
    takeBack: () => this.#takeBack(),
    edited: () => this.#edited(),
  });
  /** The id of what this tab has sent, until the server replies. */
  #sent = "";

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
    addEventListener("storage", this.#changed);
    new MutationObserver(() => this.#card.isEditing || this.#reload()).observe(banner(), { attributes: true });
    const message = this.#messages.load(this.#conversation);
    // It is unknown whether the server has what another page was sending: it can be sent again under the same id.
    if (message?.state === "sending") this.#keep({ ...message, state: "offered", reason: "" });
    else if (isOfThisTab(message?.clientId)) this.#followed();
    else if (!composer.isRunning) this.#offer("");
    this.#reload();
  }

  /** The person signs out: deletes what they wrote from this browser. */
  forget() {
    this.#messages.forgetAll();
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
    const { text, files, problem } = joined(this.#message, written, composer.limit);
    if (problem) {
      event.preventDefault();
      return composer.say(problem, "hint");
    }
    const [{ effort, choice }, clientId] = [written, this.#around.newId()];
    markAsOfThisTab(clientId);
    this.#keep({ text, effort, choice, clientId, files, state: "waiting", turn: this.#runningTurn, reason: "" });
    composer.dispatchEvent(new CustomEvent("chat:queued"));
    this.#around.announce(waitingSentence());
  };

  /** An answer has started or ended. */
  #followed = () => {
    const { composer, transcript } = this.#around;
    const message = this.#message;
    if (message?.state !== "waiting") return;
    const turn = this.#runningTurn;
    if (turn && turn !== message.turn) return this.#keep({ ...message, turn });
    const last = transcript.exchanges.at(-1);
    if (composer.isRunning || last?.isRunning) return;
    if (last?.turn === message.turn && last.state === "completed") void this.#send(message, this.#around.send);
    else this.#offer(last?.turn === message.turn ? last.state : "");
  };

  /** @param {string} reason */
  #offer(reason) {
    const message = this.#message;
    if (message?.state !== "waiting") return;
    this.#keep({ ...message, state: "offered", reason });
    this.#around.announce(offeredSentence(reason));
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
    this.#sent = claimed.clientId;
    if (this.#card.hasFocus) composer.focus();
    this.#card.show(claimed);
    send(claimed);
  }

  /** The server accepted or refused the message, or it was cancelled. @param {Event} event */
  #settled = (event) => {
    const message = this.#messages.load(this.#conversation);
    if (this.#sent && message?.clientId === this.#sent) {
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
    this.#keep({ ...message, state: "offered", reason: "" });
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
    if (event.key === this.#messages.key(this.#conversation) && !this.#card.isEditing) this.#reload();
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
