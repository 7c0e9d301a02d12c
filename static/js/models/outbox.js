// The commands of this tab that the server has not answered yet. Each has a client_id, so it is safe to send it again.

/** @import { Ask } from "../wire/wire.js" */

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
