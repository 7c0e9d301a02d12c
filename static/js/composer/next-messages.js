// Queued messages: sent by a person while an answer is being written. Stored in the browser for each conversation, so
// that they survive a reload and are the same in all tabs.

/** @import { TextStorage } from "./drafts.js" */
/** @import { AttachedFile } from "../files/chip.js" */

/**
 * - `waiting`: is sent when the answer is finished.
 * - `offered`: is sent only when the person confirms it.
 * - `sending`: a tab has sent it, and waits for the server's reply.
 * @typedef {"waiting" | "offered" | "sending"} NextState
 */

/**
 * @typedef {object} NextMessage
 * @property {string} text
 * @property {string} effort
 * @property {string} choice
 * @property {string} clientId the server accepts an id only once, whatever tab sends it
 * @property {NextState} state
 * @property {string} turn the turn whose end it waits for; empty until that is known
 * @property {string} reason why it is only offered: the state in which that turn ended; empty if unknown
 * @property {AttachedFile[]} [files] its files
 */

const PREFIX = "chatui:next:";
const STATES = ["waiting", "offered", "sending"];

export class NextMessages {
  #storage;
  #person;
  #forgotten = false;
  /** Without storage, or before the conversation exists: for this page. @type {Map<string, NextMessage>} */
  #here = new Map();

  /**
   * @param {TextStorage | null} storage null if the browser forbids it
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
      // Two new conversations are different: a message queued in one tab is not for the other.
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

  /** The conversation exists now: stores its queued message. @param {string} conversation */
  adopt(conversation) {
    const message = this.load(null);
    if (!message) return;
    this.clear(null);
    this.keep(conversation, message);
  }

  /**
   * Claims a message for sending.
   * @param {string | null} conversation
   * @param {string} clientId
   * @returns {NextMessage | null} null if another tab has claimed, changed or removed it
   */
  claim(conversation, clientId) {
    const message = this.load(conversation);
    if (message?.clientId !== clientId || message.state === "sending") return null;
    const claimed = { ...message, state: /** @type {NextState} */ ("sending") };
    this.keep(conversation, claimed);
    return claimed;
  }

  /** Deletes everybody's queued messages in this browser, and stores none from now on: the person has signed out. */
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
 * @returns {NextMessage | null} null if it is damaged
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
