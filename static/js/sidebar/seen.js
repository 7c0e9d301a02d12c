// Tells the server that the person has seen the open conversation, so that no page marks its answer as new.

/** @import { Connection } from "../page/connection.js" */
/** @import { OpenConversation } from "../chat/open-conversation.js" */

export class Seen {
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
