// Queued messages: sent by a person while an answer is being written. Stored in the browser for each conversation, so
// that they survive a reload and are the same in all tabs.

import { pageTexts } from "../page/storage.js";

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
 * @property {string} [addsTo] the turn that makes way for it before its next step; otherwise it waits for the end
 */

const PREFIX = "chatui:next:";
const STATES = ["waiting", "offered", "sending"];

export class NextMessages {
  #storage;
  #person;
  #forgotten = false;

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
    try {
      return read(JSON.parse(pageTexts.getItem(key) ?? this.#of(conversation).getItem(key) ?? "null"));
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
    const [key, stored] = [this.key(conversation), JSON.stringify(message)];
    pageTexts.removeItem(key);
    try {
      this.#of(conversation).setItem(key, stored);
    } catch {
      pageTexts.setItem(key, stored);
    }
  }

  /** @param {string | null} conversation */
  clear(conversation) {
    pageTexts.removeItem(this.key(conversation));
    try {
      this.#of(conversation).removeItem(this.key(conversation));
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

  /** The person signs out, and "leaving.js" deletes their messages: none is stored from now on. */
  forget() {
    this.#forgotten = true;
  }

  /**
   * Two new conversations are different: a message queued in one tab is not for the other.
   * @param {string | null} conversation
   */
  #of(conversation) {
    return (conversation !== null && this.#storage) || pageTexts;
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
