// What the menu of a conversation changes about it: its title, its place, and whether it is in the bin, with undo.

import { t } from "../language/words.js";
import { find, seek } from "../page/dom.js";
import { toast } from "../page/menus.js";
import { messageOf, postJson } from "../page/server.js";
import { newEntry } from "./entries.js";

/** @import { ConversationList } from "./conversation-list.js" */

export class Changes {
  #list;
  /** Those that were deleted in this tab. @type {Set<string>} */
  deleted = new Set();

  /** @param {ConversationList} list */
  constructor(list) {
    this.#list = list;
  }

  /**
   * Pins a conversation, or moves it into the list or the archive. The server then tells every page, including this
   * one.
   * @param {HTMLElement} item of the list or the menu, with the path of its conversation
   * @param {string} place
   */
  async put(item, place) {
    const hadFocus = item.isConnected && item.matches(".conversation-item");
    try {
      const { title } = await postJson(`${item.dataset.path}put/`, { place });
      if (place !== "archive") return;
      const text = t("Archived “%(title)s”.", { title: title ?? "" });
      toast(text, { label: t("Undo"), run: () => void this.put(item, "list") });
      if (hadFocus) this.#focusFirst();
    } catch (error) {
      toast(messageOf(error));
    }
  }

  /**
   * @param {HTMLElement} item of the list or the menu, with the path of its conversation
   * @param {string} title
   * @param {string} before
   */
  async saveTitle(item, title, before) {
    const conversation = item.dataset.conversation ?? "";
    this.#announceTitle(conversation, title);
    try {
      const answer = await postJson(`${item.dataset.path}rename/`, { title });
      this.#announceTitle(conversation, answer.title ?? title);
    } catch (error) {
      this.#announceTitle(conversation, before);
      toast(messageOf(error), { label: t("Try again"), run: () => void this.saveTitle(item, title, before) });
    }
  }

  /**
   * @param {string} conversation
   * @param {string} title
   */
  #announceTitle(conversation, title) {
    this.#list.retitle(conversation, title);
    this.#list.dispatchEvent(new CustomEvent("chat:title", { detail: { conversation, title } }));
  }

  /**
   * Deletes the conversation that the page shows, which may be too old to be in the list.
   * @param {string} conversation
   */
  deleteOpen(conversation) {
    const item = this.#list.item(conversation) ?? newEntry(conversation, { is_imported: false, is_copy: false });
    find(item, ".conversation-link", HTMLElement).ariaCurrent = "page";
    return this.delete(item);
  }

  /** The focused entry has disappeared from the list. */
  #focusFirst() {
    (seek(this.#list, ".conversation-link", HTMLElement) ?? seek(document, ".new-chat", HTMLElement))?.focus();
  }

  /** @param {HTMLElement} item */
  async delete(item) {
    const list = this.#list;
    const title = find(item, ".conversation-title", HTMLElement).textContent ?? "";
    const conversation = item.dataset.conversation ?? "";
    this.deleted.add(conversation);
    list.take(item);
    this.#focusFirst();
    const bringBack = () => {
      this.deleted.delete(conversation);
      // The server may have told all pages already: then it is listed.
      if (!list.item(conversation)) list.place(item);
    };
    try {
      await postJson(`${item.dataset.path}delete/`);
    } catch (error) {
      bringBack();
      toast(messageOf(error));
      return;
    }
    if (seek(item, "[aria-current]", HTMLElement)) {
      // The open conversation was deleted: the home page offers to undo that.
      list.dispatchEvent(new CustomEvent("chat:deleted", { detail: conversation }));
      return;
    }
    toast(t("Deleted “%(title)s”.", { title }), { label: t("Undo"), run: () => this.#restore(item, bringBack) });
  }

  /**
   * @param {HTMLElement} item
   * @param {() => void} bringBack
   */
  async #restore(item, bringBack) {
    try {
      await postJson(`${item.dataset.path}restore/`);
      bringBack();
      const shown = this.#list.item(item.dataset.conversation ?? "") ?? item;
      seek(shown, ".conversation-link", HTMLElement)?.focus();
    } catch (error) {
      toast(messageOf(error));
    }
  }
}
