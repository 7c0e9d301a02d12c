// What this tab asked for and the server has not answered yet. Each carries its client_id, so asking again does no
// harm.

/** @import { Ask } from "./wire.js" */

export class Outbox {
  /** @type {Map<string, Ask>} */
  #waiting = new Map();

  /** @param {Ask} command */
  add(command) {
    this.#waiting.set(command.client_id, command);
  }

  /**
   * The server answered: the command is taken out and given back; undefined when it was not ours.
   * @param {string | null | undefined} clientId
   * @returns {Ask | undefined}
   */
  settle(clientId) {
    if (typeof clientId !== "string") return undefined;
    const command = this.#waiting.get(clientId);
    this.#waiting.delete(clientId);
    return command;
  }

  /** Everything to be asked again after the connection came back, oldest first. */
  waiting() {
    return [...this.#waiting.values()];
  }

  get size() {
    return this.#waiting.size;
  }
}
