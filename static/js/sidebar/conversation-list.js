// <conversation-list>: the list of conversations in the side bar, grouped by day. Renames in place, deletes with undo.

import { around, find, seek } from "../page/dom.js";
import { menuOpener } from "../page/menus.js";
import { dayGroup } from "../models/day-groups.js";
import { RequestFailed, act } from "../page/server.js";
import { toast } from "../page/toasts.js";
import { editTitle, newEntry, place, titledEntry, update } from "./entries.js";
import { ListPages } from "./list-pages.js";
import { TopMenu } from "./top-menu.js";

/** @import { Entry } from "./entries.js" */

export class ConversationList extends HTMLElement {
  #items = find(this, ".conversation-items", HTMLElement);
  #menu = find(document, "#conversation-menu", HTMLElement);
  /** Those that were deleted in this tab. @type {Set<string>} */
  #deleted = new Set();

  connectedCallback() {
    this.#menu.addEventListener("click", this.#chosen);
    new TopMenu(this).listen();
    new ListPages(this, this.#items, () => this.#group()).start();
    this.#group();
  }

  /**
   * @param {string} conversation
   * @param {string} title
   */
  retitle(conversation, title) {
    const item = this.#item(conversation);
    if (!item) return;
    find(item, ".conversation-title", HTMLElement).textContent = title;
    seek(item, ".conversation-more", HTMLElement)?.setAttribute("aria-label", `Options for “${title}”`);
  }

  /**
   * A conversation stands where its time says, whether or not it was there before.
   * @param {Entry} entry
   */
  put(entry) {
    const item = this.#item(entry.conversation) ?? newEntry(entry);
    item.dataset.updated = entry.updated_at;
    place(this.#items, item);
    this.retitle(entry.conversation, entry.title);
    this.#group();
  }

  /**
   * A conversation was deleted, in whichever tab.
   * @param {string} conversation
   * @returns {boolean} whether it was in this one
   */
  drop(conversation) {
    this.#item(conversation)?.remove();
    this.#group();
    return this.#deleted.has(conversation);
  }

  /** @param {string} conversation that the page shows */
  open(conversation) {
    const item = this.#item(conversation);
    if (item) find(item, ".conversation-link", HTMLElement).ariaCurrent = "page";
  }

  /**
   * Takes over the list in a page from the server. What is older than all in it stays as it is.
   * @param {DocumentFragment} page
   */
  update(page) {
    update(this.#items, [...page.querySelectorAll(".conversation-items > .conversation-item")]);
    this.#group();
  }

  #group() {
    for (const heading of this.#items.querySelectorAll(".conversation-group")) heading.remove();
    const now = new Date();
    let group = "";
    for (const item of this.#items.querySelectorAll(".conversation-item")) {
      const mine = dayGroup(new Date(item.getAttribute("data-updated") ?? now), now);
      if (mine !== group) item.before(heading(mine));
      group = mine;
    }
    find(this, ".conversation-none", HTMLElement).hidden = this.#items.childElementCount > 0;
  }

  /** @param {Event} event */
  #chosen = (event) => {
    const action = around(event, "[data-action]")?.dataset.action;
    const item = menuOpener()?.closest(".conversation-item");
    if (!action || !(item instanceof HTMLElement)) return;
    this.#menu.hidePopover();
    if (action === "rename") editTitle(titledEntry(item), (title, before) => void this.saveTitle(item, title, before));
    else if (action === "delete") this.#delete(item);
  };

  /**
   * @param {HTMLElement} item that names the conversation and where it is renamed
   * @param {string} title
   * @param {string} before
   */
  async saveTitle(item, title, before) {
    const conversation = item.dataset.conversation ?? "";
    this.#announceTitle(conversation, title);
    try {
      const answer = await act(item.dataset.rename ?? "", { title });
      this.#announceTitle(conversation, answer.title ?? title);
    } catch (error) {
      this.#announceTitle(conversation, before);
      toast(messageOf(error));
    }
  }

  /**
   * @param {string} conversation
   * @param {string} title
   */
  #announceTitle(conversation, title) {
    this.retitle(conversation, title);
    this.dispatchEvent(new CustomEvent("chat:title", { detail: { conversation, title } }));
  }

  /**
   * Deletes the conversation that the page shows; the list may not reach as far back.
   * @param {string} conversation
   */
  deleteOpen(conversation) {
    const entry = { conversation, url: location.pathname, title: "", updated_at: "", is_imported: false };
    const item = this.#item(conversation) ?? newEntry(entry);
    find(item, ".conversation-link", HTMLElement).ariaCurrent = "page";
    void this.#delete(item);
  }

  /** @param {HTMLElement} item */
  async #delete(item) {
    const title = find(item, ".conversation-title", HTMLElement).textContent ?? "";
    const conversation = item.dataset.conversation ?? "";
    this.#deleted.add(conversation);
    item.remove();
    this.#group();
    (seek(this, ".conversation-link", HTMLElement) ?? seek(document, ".new-chat", HTMLElement))?.focus();
    const bringBack = () => {
      this.#deleted.delete(conversation);
      // The server has told all pages by now, perhaps: then it is there.
      if (!this.#item(conversation)) place(this.#items, item);
      this.#group();
    };
    try {
      await act(item.dataset.delete ?? "");
    } catch (error) {
      bringBack();
      toast(messageOf(error));
      return;
    }
    if (seek(item, "[aria-current]", HTMLElement)) {
      // The open conversation was deleted: the home page offers to undo that.
      this.dispatchEvent(new CustomEvent("chat:deleted", { detail: conversation }));
      return;
    }
    toast(`Deleted “${title}”.`, { label: "Undo", run: () => this.#restore(item, bringBack) });
  }

  /**
   * @param {HTMLElement} item
   * @param {() => void} bringBack
   */
  async #restore(item, bringBack) {
    try {
      await act(item.dataset.restore ?? "");
      bringBack();
      seek(this.#item(item.dataset.conversation ?? "") ?? item, ".conversation-link", HTMLElement)?.focus();
    } catch (error) {
      toast(messageOf(error));
    }
  }

  /** @param {string} conversation */
  #item(conversation) {
    return seek(this.#items, `[data-conversation="${CSS.escape(conversation)}"]`, HTMLElement);
  }
}

/** @param {string} group */
function heading(group) {
  const item = document.createElement("li");
  item.className = "conversation-group";
  item.textContent = group;
  return item;
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof RequestFailed ? error.message : "That did not work. Please reload the page.";
}

customElements.define("conversation-list", ConversationList);
