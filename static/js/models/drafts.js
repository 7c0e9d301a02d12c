// Drafts: unsent text, stored in the browser for each person and conversation. They survive a reload or a failed send.

/**
 * @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">} TextStorage
 * @typedef {{ text: string, clientId: string | null }} Draft
 */

const PREFIX = "chatui:draft:";
const EMPTY = Object.freeze({ text: "", clientId: null });

export class Drafts {
  #storage;
  #person;
  #forgotten = false;

  /**
   * @param {TextStorage | null} storage null if the browser forbids it
   * @param {string} person whose drafts these are: browsers are shared
   */
  constructor(storage, person) {
    this.#storage = storage;
    this.#person = person;
  }

  /**
   * @param {string | null} conversation
   * @returns {Draft}
   */
  load(conversation) {
    return readDraft(this.#attempt((storage) => storage.getItem(this.key(conversation))));
  }

  /**
   * Stores the text. With `clientId` it was sent under that id, and whether it arrived is not known yet: sending the
   * same text again under the same id cannot duplicate it.
   * @param {string | null} conversation
   * @param {string} text
   * @param {string | null} [clientId]
   */
  keep(conversation, text, clientId = null) {
    if (this.#forgotten) return;
    if (!text) return this.clear(conversation);
    this.#attempt((storage) => storage.setItem(this.key(conversation), JSON.stringify({ text, clientId })));
  }

  /** @param {string | null} conversation */
  clear(conversation) {
    this.#attempt((storage) => storage.removeItem(this.key(conversation)));
  }

  /** Deletes everybody's drafts in this browser, and stores none from now on: the person has signed out. */
  forgetAll() {
    this.#forgotten = true;
    this.#attempt((storage) => {
      const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index));
      for (const key of keys) if (key?.startsWith(PREFIX)) storage.removeItem(key);
    });
  }

  /**
   * Its name in storage events.
   * @param {string | null} conversation
   */
  key(conversation) {
    return `${PREFIX}${this.#person}:${conversation ?? "new"}`;
  }

  /**
   * Full or forbidden storage must not prevent anybody from writing.
   * @template T
   * @param {(storage: TextStorage) => T} action
   * @returns {T | null}
   */
  #attempt(action) {
    if (!this.#storage) return null;
    try {
      return action(this.#storage);
    } catch {
      return null;
    }
  }
}

/**
 * @param {string | null} stored
 * @returns {Draft} an empty one if there is none or it is damaged
 */
export function readDraft(stored) {
  try {
    const draft = JSON.parse(stored ?? "");
    if (typeof draft?.text !== "string") return EMPTY;
    return { text: draft.text, clientId: typeof draft.clientId === "string" ? draft.clientId : null };
  } catch {
    return EMPTY;
  }
}
