// The draft in the message box: stored in this browser, and synchronized between all tabs of the conversation. Tabs
// with new conversations only begin with the same draft: each of them keeps its own text.

import { newId, pageTexts, textStorage } from "../page/storage.js";
import { t, tn } from "../language/words.js";

/** @typedef {{ text: string }} Box its text; assigning shows another text */

const DELAY_MS = 250;

export class MessageDraft {
  #box;
  drafts;
  #conversation;
  /**
   * The id under which the text in the box was sent before, without a reply.
   * @type {{ text: string, clientId: string } | null}
   */
  #unanswered = null;
  /** The stored text, as far as this tab knows. A box with another text is being edited. */
  #stored = "";
  /** @type {number | undefined} */
  #saving;
  #forgotten = false;

  /**
   * @param {Box} box
   * @param {string} person
   * @param {string | null} conversation
   * @param {TextStorage | null} [storage]
   */
  constructor(box, person, conversation, storage = textStorage()) {
    this.#box = box;
    this.drafts = new Drafts(storage, person);
    this.#conversation = conversation;
  }

  get conversation() {
    return this.#conversation;
  }

  /** Whether no conversation has begun yet. */
  get isNew() {
    return this.#conversation === null;
  }

  /**
   * Puts the draft into the box, before what was typed there before this script was loaded.
   * @param {AbortSignal} [signal] of the page's life
   */
  begin(signal) {
    const life = signal && { signal };
    addEventListener("beforeunload", (event) => {
      // Another tab with a new conversation may have stored its own text instead.
      const isStored = !this.isNew || this.drafts.load(null, false).text.includes(this.#box.text);
      if (this.#saving !== undefined || !isStored) this.save();
      if (pageTexts.length) event.preventDefault();
    }, life);
    addEventListener("pagehide", () => this.flush(), life);
    addEventListener("storage", this.#changed, life);
    const draft = this.drafts.load(this.#conversation);
    if (draft.clientId) this.#unanswered = { text: draft.text, clientId: draft.clientId };
    this.#stored = draft.text;
    const typed = this.#box.text;
    this.#box.text = draft.text + typed;
    if (typed) this.typed();
  }

  /** The box becomes another conversation's: this draft goes on with the text that is in it now. */
  leaveBox() {
    this.flush();
    this.#box = { text: this.#box.text };
  }

  /** @param {Box} box that becomes this conversation's again */
  takeBox(box) {
    box.text = this.#box.text;
    this.#box = box;
  }

  typed() {
    clearTimeout(this.#saving);
    this.#saving = setTimeout(() => this.save(), DELAY_MS);
  }

  /**
   * The text leaves the box and is being sent. The draft stays until the server has it.
   * @param {string} text
   * @returns {string} the id to send it under: the same one as before when it was sent without a reply
   */
  sent(text) {
    const clientId = this.#unanswered?.text === text ? this.#unanswered.clientId : newId();
    clearTimeout(this.#saving);
    this.#saving = undefined;
    this.#keep(text, clientId);
    this.#unanswered = { text, clientId };
    this.#stored = "";
    return clientId;
  }

  /**
   * The server has stored the message: only now is the draft removed. Text typed since then stays.
   * @param {string} conversation that the message is now part of
   */
  accepted(conversation) {
    this.drafts.clear(this.#conversation, this.#isTaken());
    this.#conversation = conversation;
    this.#unanswered = null;
    this.save();
  }

  /** The server refused the message: drops its id. */
  refused() {
    this.#unanswered = null;
  }

  /** @param {string} text to put before what was typed since */
  putBack(text) {
    const since = this.#box.text.trim();
    this.#box.text = since ? `${text}\n\n${since}` : text;
    this.save();
  }

  /** Saves what was typed just now. */
  flush() {
    if (this.#saving !== undefined) this.save();
  }

  save() {
    clearTimeout(this.#saving);
    this.#saving = undefined;
    const text = this.#box.text;
    // The box is empty while a message is being sent: that must not delete the message's draft.
    if (this.#forgotten || (!text && this.#unanswered)) return;
    this.#keep(text, this.#idOf(text.trim()));
    this.#stored = text;
  }

  /**
   * Stores a text, unless that would replace what another tab with a new conversation has stored.
   * @param {string} text
   * @param {string | null} clientId
   */
  #keep(text, clientId) {
    this.drafts.keep(this.#conversation, text, clientId, this.#isTaken());
  }

  /** Whether another tab with a new conversation has stored a text of its own. */
  #isTaken() {
    const { text } = this.drafts.load(null, false);
    return this.isNew && !["", this.#stored, this.#box.text, this.#unanswered?.text].includes(text);
  }

  /** The person signs out: nothing is saved any more. */
  forget() {
    this.#forgotten = true;
    this.drafts.forget();
  }

  /** @param {string} text */
  #idOf(text) {
    return this.#unanswered?.text === text ? this.#unanswered.clientId : null;
  }

  /**
   * Another tab has stored its text: the newest wins, but not over what is being written or sent here.
   * @param {StorageEvent} event
   */
  #changed = (event) => {
    if (this.#forgotten || event.key !== this.drafts.key(this.#conversation)) return;
    const { text, clientId } = this.drafts.load(this.#conversation, false);
    if (this.isNew) {
      // Each tab has its own new conversation: the text that another one has sent goes, other text is stored again.
      const sent = readDraft(event.oldValue);
      if (text || !sent.clientId) return;
      if (this.#box.text.trim() === sent.text) {
        this.#unanswered = null;
        this.#box.text = "";
      } else if (!sent.text.includes(this.#box.text)) this.save();
      return;
    }
    // With an id, the other tab is sending it and has cleared its box.
    const isBusy = this.#unanswered !== null || this.#saving !== undefined || this.#box.text !== this.#stored;
    if (clientId !== null || isBusy) return;
    this.#stored = text;
    this.#box.text = text;
  };
}

// What people paste into the box, drop or pick.

/** @typedef {Event & Partial<ClipboardEvent & DragEvent>} FileEvent */
/** @typedef {{ files: File[], text: string, html: string, isNative: boolean, target: EventTarget | null }} Brought */

export const LONG_TEXT = 8_000;

/** Whether it is a picture. @param {File} file */
export function isPicture({ type }) {
  return type.startsWith("image/") && type !== "image/svg+xml";
}

/**
 * What was pasted, dropped or picked, if it concerns files; `isNative`: the browser pastes it, but it is long. Office
 * programs add a picture of the words that somebody copies: the words are meant.
 * @param {FileEvent} event
 * @returns {Brought | null}
 */
export function brought({ clipboardData, dataTransfer, target }) {
  const from = /** @type {Partial<DataTransfer>} */ (clipboardData ?? dataTransfer ?? target);
  const text = from.getData?.("text/plain") ?? "";
  const files = [...(from.files ?? [])];
  const hasFiles = files.length || from.types?.includes("Files");
  const isNative = !hasFiles || (clipboardData && text.trim() && files.every(isPicture));
  if (isNative && !(clipboardData && text.length >= LONG_TEXT)) return null;
  const html = from.getData?.("text/html") ?? "";
  return { files, text, html, isNative: Boolean(isNative), target };
}

// Drafts: unsent text, stored in the browser for each person and conversation. They survive a reload or a failed send.
// What cannot be stored stays in the page.

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
   * @param {boolean} [isHere] also what only this page has
   * @returns {Draft}
   */
  load(conversation, isHere = true) {
    const key = this.key(conversation);
    return readDraft((isHere ? pageTexts.getItem(key) : null) ?? this.#attempt((storage) => storage.getItem(key)));
  }

  /**
   * Stores the text. With `clientId` it was sent under that id, and whether it arrived is not known yet: sending the
   * same text again under the same id cannot duplicate it.
   * @param {string | null} conversation
   * @param {string} text
   * @param {string | null} [clientId]
   * @param {boolean} [isTaken] by a text of another tab: this one stays in the page
   */
  keep(conversation, text, clientId = null, isTaken = false) {
    if (this.#forgotten) return;
    if (!text) return this.clear(conversation, isTaken);
    const [key, draft] = [this.key(conversation), JSON.stringify({ text, clientId })];
    pageTexts.removeItem(key);
    const isStored = !isTaken && this.#attempt((storage) => (storage.setItem(key, draft), true));
    if (!isStored) pageTexts.setItem(key, draft);
    this.#tell();
  }

  /** @param {string | null} conversation @param {boolean} [isTaken] */
  clear(conversation, isTaken = false) {
    pageTexts.removeItem(this.key(conversation));
    if (!isTaken) this.#attempt((storage) => storage.removeItem(this.key(conversation)));
    this.#tell();
  }

  /** Storage events reach other tabs only. */
  #tell() {
    globalThis.dispatchEvent?.(new CustomEvent("chat:draft"));
  }

  /** The person signs out, and "leaving.js" deletes their drafts: none is stored from now on. */
  forget() {
    this.#forgotten = true;
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
function readDraft(stored) {
  try {
    const draft = JSON.parse(stored ?? "");
    if (typeof draft?.text !== "string") return EMPTY;
    return { text: draft.text, clientId: typeof draft.clientId === "string" ? draft.clientId : null };
  } catch {
    return EMPTY;
  }
}

// The rules of the composer: which key sends, and how long a message may be.

/**
 * @typedef {object} Key the part of a keyboard event that is read here
 * @property {string} key
 * @property {boolean} shiftKey
 * @property {boolean} ctrlKey
 * @property {boolean} altKey
 * @property {boolean} metaKey
 * @property {boolean} isComposing
 * @property {number} [keyCode]
 */

/** Key code of a key that an input method is still working on; Safari reports only this after the composition ended. */
const KEY_OF_INPUT_METHOD = 229;

/**
 * Whether this key sends the message. Shift+Enter starts a new line; Enter that confirms a word in an input method
 * does neither.
 * @param {Key} event
 * @param {string} [enter] what Enter does without Ctrl: "send", or "line" (see "early.js")
 */
export function isSendKey(event, enter = document.documentElement.dataset.enter) {
  if (event.key !== "Enter" || event.isComposing || event.keyCode === KEY_OF_INPUT_METHOD) return false;
  return !event.shiftKey && !event.altKey && (event.ctrlKey || event.metaKey || enter !== "line");
}

/**
 * A message that says why this text cannot be sent, or null.
 * @param {string} text
 * @param {number} limit in characters as the server counts them (code points)
 * @returns {string | null}
 */
export function problemWith(text, limit) {
  // A text has at most as many characters as UTF-16 units, so the exact count is needed only above the limit.
  if (text.length <= limit) return null;
  const excess = [...text].length - limit;
  if (excess <= 0) return null;
  return tn(
    "This message is %(n)s character too long. The limit is %(limit)s characters.",
    "This message is %(n)s characters too long. The limit is %(limit)s characters.",
    excess,
    { limit },
  );
}

/** The part of the limit that is left when the number of characters is shown. */
const NEAR = 0.1;

/**
 * How many characters are left, once there are few; null before that, and when the text is too long.
 * @param {string} text
 * @param {number} limit in code points
 * @returns {string | null}
 */
export function remainingCharacters(text, limit) {
  const near = limit - Math.min(500, limit * NEAR);
  if (text.length < near || !Number.isFinite(limit)) return null;
  const left = limit - [...text].length;
  if (left < 0 || left > limit - near) return null;
  return t("Characters left: %(left)s", { left });
}
