// Sends the person's commands to the server. Each is kept until the server has answered it, and is sent again after a
// lost connection.

import { find } from "../page/dom.js";
import { newId } from "../models/client-id.js";
import { Outbox } from "../models/outbox.js";

/** @import { Connection } from "../page/connection.js" */
/** @import { Ask } from "../wire/wire.js" */
/** @import { ChatComposer, Written } from "./composer.js" */
/** @import { ConnectionBanner } from "./connection-banner.js" */
/** @import { ContinueAsked, EditAsked, RegenerateAsked } from "../exchange/buttons.js" */
/** @import { OpenConversation } from "./open-conversation.js" */
/** @import { ChatTranscript } from "./transcript.js" */

/**
 * @typedef {object} Around the parts of the page that commands are made from, or that show a command being sent
 * @property {ChatComposer} composer
 * @property {ChatTranscript} transcript
 * @property {ConnectionBanner} banner
 * @property {Connection} connection
 * @property {OpenConversation} open
 */

export class Commands {
  #around;
  #outbox = new Outbox();
  /** Stop was pressed before the server had given the turn its id. */
  #stopWanted = false;

  /** @param {Around} around */
  constructor(around) {
    this.#around = around;
  }

  get isWaiting() {
    return this.#outbox.size > 0;
  }

  /** @param {Written} written */
  send({ text, effort, choice, clientId }) {
    this.#around.transcript.send(clientId, text);
    const conversation = this.#around.open.id;
    this.#ask({ type: "send", client_id: clientId, conversation, text, effort, choice });
  }

  /** @param {EditAsked} asked */
  edit({ question, text }) {
    const conversation = this.#around.open.id;
    const { effort, choice } = this.#around.composer;
    if (conversation) this.#ask({ type: "edit", client_id: newId(), conversation, question, text, effort, choice });
  }

  /** @param {RegenerateAsked} asked */
  regenerate({ question }) {
    const conversation = this.#around.open.id;
    const { effort, choice } = this.#around.composer;
    if (!conversation || this.isWaiting) return;
    this.#ask({ type: "regenerate", client_id: newId(), conversation, question, effort, choice });
  }

  /** @param {ContinueAsked} asked */
  continue({ turn }) {
    const conversation = this.#around.open.id;
    if (!conversation || this.isWaiting) return;
    this.#ask({ type: "continue", client_id: newId(), conversation, turn });
    // The pressed button disappears; keyboard users may want the Stop button next.
    find(this.#around.composer, ".stop", HTMLButtonElement).focus({ preventScroll: true });
  }

  stop() {
    const { transcript, connection, open } = this.#around;
    const turn = transcript.running.at(-1)?.turn;
    if (turn && open.id) connection.send({ type: "stop", conversation: open.id, turn });
    else this.#stopWanted = true;
  }

  /** The turn's id is known: send a stop that was pressed before. */
  stopIfWanted() {
    if (this.#stopWanted) this.stop();
  }

  subscribe() {
    const conversation = this.#around.open.id;
    if (conversation) this.#around.connection.send({ type: "subscribe", conversation });
  }

  /** The connection may be dead without an error: send something that the server always answers. */
  probe() {
    const conversation = this.#around.open.id;
    if (conversation) this.#around.connection.probe({ type: "subscribe", conversation });
  }

  /** Sends everything again that was not answered. */
  askAgain() {
    for (const command of this.#outbox.waiting()) this.#around.connection.send(command);
  }

  /**
   * The server answered.
   * @param {string | null | undefined} clientId
   * @returns {Ask | undefined} the command; undefined when it was not ours
   */
  settle(clientId) {
    return this.#outbox.settle(clientId);
  }

  /** @param {Ask} command */
  #ask(command) {
    this.#stopWanted = false;
    this.#outbox.add(command);
    this.#around.composer.running = true;
    if (!this.#around.connection.send(command)) this.#around.banner.hurry();
  }
}
