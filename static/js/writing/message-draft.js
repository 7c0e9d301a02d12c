// The draft in the message box: stored in this browser, and synchronized between all tabs of the conversation. Tabs
// with new conversations only begin with the same draft: each of them keeps its own text.

import { Drafts, readDraft } from "../models/drafts.js";
import { newId } from "../models/client-id.js";
import { textStorage } from "../page/storage.js";

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
   */
  constructor(box, person, conversation) {
    this.#box = box;
    this.drafts = new Drafts(textStorage(), person);
    this.#conversation = conversation;
  }

  /** Whether no conversation has begun yet. */
  get isNew() {
    return this.#conversation === null;
  }

  /** Puts the draft into the box, unless something was typed before this script was loaded: that is newer. */
  begin() {
    addEventListener("pagehide", () => {
      // Another tab with a new conversation may have stored its own text instead.
      const isNotStored = this.isNew && !this.drafts.load(null).text.includes(this.#box.text);
      if (isNotStored || this.#saving !== undefined) this.save();
    });
    addEventListener("storage", this.#changed);
    const draft = this.drafts.load(this.#conversation);
    if (draft.clientId) this.#unanswered = { text: draft.text, clientId: draft.clientId };
    this.#stored = draft.text;
    if (this.#box.text) this.typed();
    else this.#box.text = draft.text;
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
    this.drafts.keep(this.#conversation, text, clientId);
    this.#unanswered = { text, clientId };
    this.#stored = "";
    return clientId;
  }

  /**
   * The server has stored the message: only now is the draft removed. Text typed since then stays.
   * @param {string} conversation that the message is now part of
   */
  accepted(conversation) {
    this.drafts.clear(this.#conversation);
    this.#conversation = conversation;
    this.#unanswered = null;
    this.save();
  }

  /** The server refused the message: drops its id. */
  refused() {
    this.#unanswered = null;
  }

  save() {
    clearTimeout(this.#saving);
    this.#saving = undefined;
    const text = this.#box.text;
    // The box is empty while a message is being sent: that must not delete the message's draft.
    if (this.#forgotten || (!text && this.#unanswered)) return;
    this.#stored = text;
    this.drafts.keep(this.#conversation, text, this.#idOf(text.trim()));
  }

  /** The person signs out: deletes everything they wrote from this browser, and stops saving it. */
  forget() {
    this.#forgotten = true;
    this.drafts.forgetAll();
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
    const { text, clientId } = this.drafts.load(this.#conversation);
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
