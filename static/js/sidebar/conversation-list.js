// <conversation-list>: the list of conversations in the side bar, grouped by day. Renames in place, deletes with undo.

import { around, find, piece, seek } from "../page/dom.js";
import { menuOpener } from "../page/menus.js";
import { dayGroup } from "../models/day-groups.js";
import { RequestFailed, act } from "../page/server.js";
import { toast } from "../page/toasts.js";

export class ConversationList extends HTMLElement {
  #items = find(this, ".conversation-items", HTMLElement);
  #menu = find(document, "#conversation-menu", HTMLElement);

  connectedCallback() {
    this.#menu.addEventListener("click", this.#chosen);
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
   * A message was added to this conversation: moves it to the top.
   * @param {string} conversation
   */
  touch(conversation) {
    const item = this.#item(conversation);
    if (!item || item === this.#items.querySelector(".conversation-item")) return;
    item.dataset.updated = new Date().toISOString();
    this.#items.prepend(item);
    this.#group();
  }

  /**
   * Replaces the list by the one in a page from the server.
   * @param {DocumentFragment} page
   */
  replace(page) {
    const fresh = seek(page, ".conversation-items", HTMLElement);
    if (!fresh) return;
    this.#items.replaceChildren(...fresh.children);
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
    if (action === "rename") this.#rename(item);
    else if (action === "delete") this.#delete(item);
  };

  /** @param {HTMLElement} item */
  #rename(item) {
    const link = find(item, ".conversation-link", HTMLElement);
    const more = find(item, ".conversation-more", HTMLElement);
    const form = piece("rename", HTMLFormElement);
    const input = find(form, "input", HTMLInputElement);
    const before = find(item, ".conversation-title", HTMLElement).textContent ?? "";
    input.value = before;
    let over = false;
    const finish = (/** @type {boolean} */ keep, /** @type {boolean} */ focus) => {
      if (over) return;
      over = true;
      form.remove();
      link.hidden = more.hidden = false;
      if (focus) link.focus();
      const title = input.value.trim();
      if (keep && title && title !== before) this.#saveTitle(item, title, before);
    };
    form.addEventListener("submit", (event) => (event.preventDefault(), finish(true, true)));
    input.addEventListener("blur", () => finish(true, false));
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.isComposing) return;
      event.stopPropagation();
      finish(false, true);
    });
    link.hidden = more.hidden = true;
    item.prepend(form);
    input.focus();
    input.select();
  }

  /**
   * @param {HTMLElement} item
   * @param {string} title
   * @param {string} before
   */
  async #saveTitle(item, title, before) {
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

  /** @param {HTMLElement} item */
  async #delete(item) {
    const title = find(item, ".conversation-title", HTMLElement).textContent ?? "";
    const next = item.nextElementSibling;
    item.remove();
    this.#group();
    (seek(this, ".conversation-link", HTMLElement) ?? seek(document, ".new-chat", HTMLElement))?.focus();
    const bringBack = () => {
      if (next?.isConnected) next.before(item);
      else this.#items.append(item);
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
      this.dispatchEvent(new CustomEvent("chat:deleted", { detail: item.dataset.conversation }));
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
      find(item, ".conversation-link", HTMLElement).focus();
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
