// Sends the person's commands to the server. Each is stored until the server has answered it. A message without a
// connection is shown as waiting, and is sent once after the reconnect.

import { t } from "../language/words.js";
import { find, lifeOf, listen } from "../page/dom.js";
import { newId } from "../page/storage.js";
import { listenToToolsMenu, toolsOff } from "../composer/composer.js";

/** @import { Connection, ConnectionBanner } from "../page/connection.js" */
/** @import { Ask } from "../wire/wire.js" */
/** @import { ChatComposer, OutgoingMessage } from "../composer/composer.js" */
/** @import { ContinueRequest, EditRequest, RegenerateRequest } from "../exchange/buttons.js" */
/** @import { OpenConversation } from "./open-conversation.js" */
/** @import { ChatTranscript } from "./transcript.js" */

/**
 * @typedef {object} PageParts the parts of the page that commands are built from, or that show a command being sent
 * @property {ChatComposer} composer
 * @property {ChatTranscript} transcript
 * @property {ConnectionBanner} banner
 * @property {Connection} connection
 * @property {OpenConversation} open
 */

const NO_CONNECTION = t("There is no connection to the server. Please try again when it is back.");

export class Commands {
  #around;
  #seen;
  #outbox = new Outbox();
  /** Stop was pressed before the server had given the turn its id. */
  #stopWanted = false;
  /** Whether the person has pressed Stop or Answer now: only of these does a refusal without a client_id tell them. */
  mayBeRefused = false;
  /** Why nothing can be sent, in words; empty if it can. */
  #held = "";

  /** @param {PageParts} around */
  constructor(around) {
    this.#around = around;
    listenToToolsMenu(around.composer);
    this.#seen = new Seen(around.connection, around.open, lifeOf(around.composer));
    around.transcript.addEventListener("chat:edited", () => this.#focusStop());
    around.transcript.addEventListener("chat:answered", () => ((this.mayBeRefused = false), this.#seen.answered()));
    listen(around.transcript, "chat:answer-now", (/** @type {string} */ turn) => this.#answerNow(turn));
  }

  /** Whether the server is working on a command. Commands that wait for the connection do not count. */
  get isWorking() {
    return this.#outbox.size > 0 && !this.#held;
  }

  /** @param {OutgoingMessage} written */
  send({ text, effort, choice, clientId, files = null }) {
    this.#around.transcript.send(clientId, text);
    const { id: conversation, folder, isTemporary: temporary } = this.#around.open;
    const assistant = conversation ? null : this.#around.open.assistant;
    const off = conversation ? null : toolsOff();
    const format = conversation ? null : (this.#around.composer.dataset.format ?? null);
    const command = { client_id: clientId, conversation, folder, assistant, text, effort, choice, files, temporary };
    const collections = conversation ? null : this.#around.open.collections;
    this.#ask({ type: "send", ...command, collections, tools_off: off, answer_format: format });
  }

  /** @param {EditRequest} asked */
  edit({ question, text, files }) {
    const conversation = this.#around.open.id;
    const { effort, choice } = this.#around.composer;
    if (this.#held) return void this.#around.transcript.refuseEdit(this.#held);
    if (!conversation) return;
    this.#ask({ type: "edit", client_id: newId(), conversation, question, text, effort, choice, files });
  }

  /** @param {RegenerateRequest} asked */
  regenerate({ question, choice: another }) {
    const conversation = this.#around.open.id;
    const { effort, choice: own } = this.#around.composer;
    if (!conversation || this.#cannotAsk()) return;
    const choices = { choice: another ?? own, stays_with: another ? own : null };
    this.#ask({ type: "regenerate", client_id: newId(), conversation, question, effort, ...choices });
    this.#focusStop();
  }

  /** @param {ContinueRequest} asked */
  continue({ turn }) {
    const conversation = this.#around.open.id;
    if (!conversation || this.#cannotAsk()) return;
    this.#ask({ type: "continue", client_id: newId(), conversation, turn });
    this.#focusStop();
  }

  /** The pressed button disappears; keyboard users may want the Stop button next. */
  #focusStop() {
    find(this.#around.composer, ".stop", HTMLButtonElement).focus({ preventScroll: true });
  }

  /** @param {string} turn whose thinking is to end */
  #answerNow(turn) {
    const { connection, composer, open } = this.#around;
    const isSent = open.id && connection.send({ type: "answer_now", conversation: open.id, turn });
    if (!isSent) return composer.say(NO_CONNECTION);
    this.mayBeRefused = true;
    this.#focusStop();
  }

  /** @param {string} turn which is to end before its next step, if a message is wanted there @param {boolean} wanted */
  makeWay(turn, wanted) {
    const { connection, open } = this.#around;
    return open.id !== null
      && connection.send({ type: "make_way", conversation: open.id, turn, is_wanted: wanted });
  }

  stop() {
    const { transcript, connection, open } = this.#around;
    const turn = transcript.running.at(-1)?.turn;
    const isSent = turn && open.id && connection.send({ type: "stop", conversation: open.id, turn });
    this.mayBeRefused = true;
    this.#stopWanted = !isSent;
  }

  /** The turn's id is known now, or the connection is back: sends a stop that was pressed before. */
  stopIfWanted() {
    if (this.#stopWanted) this.stop();
  }

  /** @param {boolean} isBack whether there was a connection before */
  opened(isBack) {
    if (isBack) this.#seen.missed();
    this.subscribe();
    this.resend();
  }

  subscribe() {
    const conversation = this.#around.open.id;
    if (conversation) this.#around.connection.send({ type: "subscribe", conversation });
    this.#seen.tell();
  }

  /** The connection is lost: nothing is sent or processed. @param {string} [reason] why, if it will not come back */
  hold(reason = "") {
    const { composer, transcript } = this.#around;
    this.#held = reason || NO_CONNECTION;
    composer.held = reason;
    for (const { type, client_id: id } of this.#outbox.waiting()) {
      const isTaken = this.#outbox.isTaken(id);
      if (type === "send") {
        transcript.sending(id)?.hold(isTaken);
        composer.held = this.#held;
      }
      if (type !== "edit") continue;
      if (isTaken) transcript.dispatchEvent(new CustomEvent("chat:edit-held"));
      else if (this.#outbox.settle(id)) transcript.refuseEdit(NO_CONNECTION);
    }
    if (reason) for (const each of transcript.running) each.thinking.hideWorking();
    composer.running = !reason && transcript.running.length > 0;
  }

  /** The connection is back: sends every unanswered command, and a stop that was pressed meanwhile. */
  resend() {
    const { composer, transcript } = this.#around;
    this.#held = composer.held = "";
    composer.say("");
    for (const command of this.#outbox.waiting()) {
      transcript.sending(command.client_id)?.letGo();
      this.#send(command);
    }
    composer.running = this.#outbox.size > 0 || transcript.running.length > 0;
    this.stopIfWanted();
  }

  /** Cancels a message that waits to be sent. @param {string} clientId @returns {string | null} its text if in time */
  takeBack(clientId) {
    if (!this.#held || this.#outbox.isTaken(clientId)) return null;
    const command = this.#outbox.settle(clientId);
    this.#around.transcript.unsend(clientId);
    this.#around.composer.held = "";
    return command?.type === "send" ? command.text : null;
  }

  /** The server answered. @param {string | null | undefined} clientId @returns {Ask | undefined} the command if ours */
  settle(clientId) {
    return this.#outbox.settle(clientId);
  }

  /**
   * Sends a command, and keeps it until the server has answered; while the connection is lost, it waits for that.
   * @param {Ask} command
   */
  #ask(command) {
    this.#stopWanted = false;
    this.#outbox.add(command);
    this.#around.composer.running = true;
    if (!this.#send(command)) this.#around.banner.hurry();
    if (this.#held) this.hold();
  }

  /** @param {Ask} command @returns {boolean} whether there was a socket that took it */
  #send(command) {
    const isTaken = this.#around.connection.send(command);
    if (isTaken) this.#outbox.take(command.client_id);
    return isTaken;
  }

  #cannotAsk() {
    if (this.#held) this.#around.composer.say(this.#held);
    return this.#held || this.#outbox.size;
  }
}

// The commands of this tab that the server has not answered yet. Each has a client_id, so it is safe to send it again.

export class Outbox {
  /** @type {Map<string, Ask>} */
  #waiting = new Map();
  /** The ids of commands that were sent over a socket: the server may have them. @type {Set<string>} */
  #taken = new Set();

  /** @param {Ask} command */
  add(command) {
    this.#waiting.set(command.client_id, command);
  }

  /** @param {string} clientId of a command that was sent over a socket */
  take(clientId) {
    this.#taken.add(clientId);
  }

  /** Whether the server may have it. @param {string} clientId */
  isTaken(clientId) {
    return this.#taken.has(clientId);
  }

  /**
   * The server answered: removes the command and returns it; undefined when it was not from this tab.
   * @param {string | null | undefined} clientId
   * @returns {Ask | undefined}
   */
  settle(clientId) {
    if (typeof clientId !== "string") return undefined;
    const command = this.#waiting.get(clientId);
    this.#waiting.delete(clientId);
    this.#taken.delete(clientId);
    return command;
  }

  /** The commands to send again after a reconnect, oldest first. */
  waiting() {
    return [...this.#waiting.values()];
  }

  get size() {
    return this.#waiting.size;
  }
}

// Tells the server that the person has seen the open conversation, so that no page marks its answer as new.

class Seen {
  #connection;
  #open;
  /** Whether an answer may have ended that the server considers unseen. */
  #isDue;

  /**
   * @param {Connection} connection
   * @param {OpenConversation} open
   * @param {AbortSignal} signal that ends it
   */
  constructor(connection, open, signal) {
    this.#connection = connection;
    this.#open = open;
    this.#isDue = open.hasNews;
    document.addEventListener("visibilitychange", () => this.tell(), { signal });
  }

  /** An answer has ended in the open conversation. */
  answered() {
    this.#isDue = true;
    this.tell();
  }

  /** The connection was lost meanwhile: an answer may have ended. */
  missed() {
    this.#isDue = true;
  }

  /** Now if the page is visible; otherwise when it becomes visible or the connection is back. */
  tell() {
    const conversation = this.#open.id;
    if (!this.#isDue || !conversation || document.hidden) return;
    this.#isDue = !this.#connection.send({ type: "see", conversation });
  }
}
