// Next messages: what a person sends while an answer is being written. Stored in the browser for each conversation, so
// that they survive a reload and are the same in all tabs.

/** @import { TextStorage } from "../models/drafts.js" */
/** @import { BroughtFile } from "../files/chip.js" */

/**
 * - `waiting`: is sent when the answer is finished.
 * - `offered`: is sent only when the person says so.
 * - `sending`: a tab has sent it, and waits for the server's reply.
 * @typedef {"waiting" | "offered" | "sending"} NextState
 */

/**
 * @typedef {object} NextMessage
 * @property {string} text
 * @property {string} effort
 * @property {string} choice
 * @property {string} clientId the server takes no message twice under one id, from whichever tabs it comes
 * @property {NextState} state
 * @property {string} turn the one whose end it waits for; empty until that is known
 * @property {string} reason why it is only offered: the state in which that turn ended, or nothing
 * @property {BroughtFile[]} [files] what goes with it
 */

const PREFIX = "chatui:next:";
const STATES = ["waiting", "offered", "sending"];

export class NextMessages {
  #storage;
  #person;
  #forgotten = false;
  /** Where there is no storage, or no conversation yet: as long as this page. @type {Map<string, NextMessage>} */
  #here = new Map();

  /**
   * @param {TextStorage | null} storage null where the browser forbids it
   * @param {string} person whose messages these are: browsers are shared
   */
  constructor(storage, person) {
    this.#storage = storage;
    this.#person = person;
  }

  /** @param {string | null} conversation */
  key(conversation) {
    return `${PREFIX}${this.#person}:${conversation ?? "new"}`;
  }

  /**
   * @param {string | null} conversation
   * @returns {NextMessage | null}
   */
  load(conversation) {
    const key = this.key(conversation);
    const here = this.#here.get(key);
    if (here || conversation === null) return here ?? null;
    try {
      return read(JSON.parse(this.#storage?.getItem(key) ?? "null"));
    } catch {
      return null;
    }
  }

  /**
   * @param {string | null} conversation
   * @param {NextMessage} message
   */
  keep(conversation, message) {
    if (this.#forgotten) return;
    const key = this.key(conversation);
    this.#here.delete(key);
    try {
      // Two conversations that have not begun are two: what waits in one tab is not for the other.
      if (conversation === null || !this.#storage) this.#here.set(key, message);
      else this.#storage.setItem(key, JSON.stringify(message));
    } catch {
      this.#here.set(key, message);
    }
  }

  /** @param {string | null} conversation */
  clear(conversation) {
    this.#here.delete(this.key(conversation));
    try {
      if (conversation !== null) this.#storage?.removeItem(this.key(conversation));
    } catch {
      // Where storage is forbidden, nothing is in it.
    }
  }

  /** The conversation has begun: what waited for it is stored. @param {string} conversation */
  adopt(conversation) {
    const message = this.load(null);
    if (!message) return;
    this.clear(null);
    this.keep(conversation, message);
  }

  /**
   * Takes a message for sending.
   * @param {string | null} conversation
   * @param {string} clientId
   * @returns {NextMessage | null} null when another tab has taken, changed or removed it
   */
  claim(conversation, clientId) {
    const message = this.load(conversation);
    if (message?.clientId !== clientId || message.state === "sending") return null;
    const claimed = { ...message, state: /** @type {NextState} */ ("sending") };
    this.keep(conversation, claimed);
    return claimed;
  }

  /** Deletes all of them in this browser, whoever wrote them, and keeps none from now on: the person has signed out. */
  forgetAll() {
    this.#forgotten = true;
    this.#here.clear();
    try {
      const storage = this.#storage;
      const keys = Array.from({ length: storage?.length ?? 0 }, (_, index) => storage?.key(index));
      for (const key of keys) if (key?.startsWith(PREFIX)) storage?.removeItem(key);
    } catch {
      // Where storage is forbidden, nothing is in it.
    }
  }
}

/**
 * @param {unknown} stored
 * @returns {NextMessage | null} null for what is damaged
 */
function read(stored) {
  if (typeof stored !== "object" || stored === null) return null;
  const message = /** @type {Record<string, unknown>} */ (stored);
  const names = ["text", "effort", "choice", "clientId", "state", "turn", "reason"];
  if (names.some((name) => typeof message[name] !== "string")) return null;
  if (!message.text || !STATES.includes(String(message.state))) return null;
  const files = Array.isArray(message.files) ? message.files.filter(isFile) : [];
  return /** @type {NextMessage} */ ({ ...message, files });
}

/** @param {unknown} stored */
function isFile(stored) {
  const file = /** @type {Record<string, unknown>} */ (stored ?? {});
  return ["id", "use", "places", "name"].every((name) => typeof file[name] === "string");
}
