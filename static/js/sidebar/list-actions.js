// The actions of a conversation's menu, in the list and in the top bar: renames in place, pins, archives, moves, and
// deletes with undo.

import { t } from "../language/words.js";
import { closestTo, find, lifeOf, pageOf, seek } from "../page/dom.js";
import { menuOpener, toast } from "../page/menus.js";
import { messageOf, postJson } from "../page/server.js";
import { newEntry, showPlace } from "./entries.js";

/** @import { Choosing } from "./choosing.js" */
/** @import { MoveDialog } from "./move-dialog.js" */
/** @import { ConversationList } from "./conversation-list.js" */

export class ListActions {
  #list;
  #menu;
  /** The dialog for moving; loaded on first use. @type {Promise<MoveDialog> | null} */
  #dialog = null;
  /** Loaded on first use. @type {Promise<Choosing> | null} */
  #choosing = null;
  #drag = new AbortController();
  /** Those that were deleted in this tab. @type {Set<string>} */
  #deleted = new Set();

  /** @param {ConversationList} list */
  constructor(list) {
    this.#list = list;
    this.#menu = find(pageOf(list), "#conversation-menu", HTMLElement);
  }

  listen() {
    // The bar with its menu may be replaced, so the document is listened to.
    document.addEventListener("click", this.#chosen, { signal: lifeOf(this.#list) });
    this.#list.addEventListener("dragstart", this.#dragged);
    this.#menu.addEventListener("beforetoggle", () => {
      const item = menuOpener()?.closest(".conversation-item");
      showPlace(this.#menu, item?.hasAttribute("data-pinned") ? "pinned" : "list");
    });
  }

  /**
   * @param {string} conversation
   * @returns {boolean} whether it was deleted in this tab
   */
  hasDeleted(conversation) {
    return this.#deleted.has(conversation);
  }

  /** @param {Event} event */
  #chosen = (event) => {
    const create = closestTo(event, "a.folders-new");
    if (create instanceof HTMLAnchorElement && isPlain(event)) {
      event.preventDefault();
      return this.#move(create.href);
    }
    const menu = closestTo(event, "#conversation-menu, #top-menu");
    const line = closestTo(event, "[data-action]");
    const { action, place } = line?.dataset ?? {};
    const isOpen = menu?.id === "top-menu";
    // What has the addresses for requests: the entry in the list, or the menu of the open conversation itself.
    const item = isOpen ? menu : menuOpener()?.closest(".conversation-item");
    if (!menu || !action || !(item instanceof HTMLElement)) return;
    menu.hidePopover();
    if (action === "rename") {
      import("./renaming.js").then(({ rename }) => rename(isOpen ? null : item, (title, before) => {
        void this.#saveTitle(item, title, before);
      }), unreachable);
    } else if (action === "delete") {
      if (isOpen) this.#deleteOpen(item.dataset.conversation ?? "");
      else void this.#delete(item);
    } else if (action === "put" && place) void this.#put(item, place);
    else if ((action === "move" || action === "choose") && line instanceof HTMLAnchorElement) {
      // Without scripts, the link leads to the page for it.
      event.preventDefault();
      if (action === "move") this.#move(line.href);
      else this.#choose(line.href, item);
    } else if (action === "move") this.#move(`${find(item, "a.conversation-link", HTMLAnchorElement).href}move/`);
  };

  /** The list takes the drop at once, also before what moves it is loaded. @param {DragEvent} event */
  #dragged = (event) => {
    this.#drag.abort();
    const item = closestTo(event, ".conversation-item");
    if (!item) return;
    const list = this.#list;
    const { signal } = (this.#drag = new AbortController());
    const loading = import("./dragging.js");
    loading.then(({ show }) => show(list, item, signal), () => {});
    list.addEventListener("dragover", (over) => over.preventDefault(), { signal });
    list.addEventListener("drop", (dropped) => {
      dropped.preventDefault();
      const { target } = dropped;
      loading.then(({ drop }) => drop(list, item, target), unreachable);
    }, { signal });
    document.addEventListener("dragend", () => this.#drag.abort(), { signal });
  };

  /** @param {string} path of the page that asks for the folder, or for a new one */
  #move(path) {
    const dialog = (this.#dialog ??= moveDialog(this.#list));
    dialog.then((made) => made.open(path), () => {
      this.#dialog = null;
      unreachable();
    });
  }

  /**
   * @param {string} path of the page for choosing
   * @param {HTMLElement} item that is chosen at first
   */
  #choose(path, item) {
    const choosing = (this.#choosing ??= choosingIn(this.#list));
    choosing.then((made) => made.start(path, item), () => {
      this.#choosing = null;
      unreachable();
    });
  }

  /**
   * Pins a conversation, or moves it into the list or the archive. The server then tells every page, including this
   * one.
   * @param {HTMLElement} item of the list or the menu, with the path of its conversation
   * @param {string} place
   */
  async #put(item, place) {
    const hadFocus = item.isConnected && item.matches(".conversation-item");
    try {
      const { title } = await postJson(`${item.dataset.path}put/`, { place });
      if (place !== "archive") return;
      const text = t("Archived “%(title)s”.", { title: title ?? "" });
      toast(text, { label: t("Undo"), run: () => void this.#put(item, "list") });
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
  async #saveTitle(item, title, before) {
    const conversation = item.dataset.conversation ?? "";
    this.#announceTitle(conversation, title);
    try {
      const answer = await postJson(`${item.dataset.path}rename/`, { title });
      this.#announceTitle(conversation, answer.title ?? title);
    } catch (error) {
      this.#announceTitle(conversation, before);
      toast(messageOf(error), { label: t("Try again"), run: () => void this.#saveTitle(item, title, before) });
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
  #deleteOpen(conversation) {
    const item = this.#list.item(conversation) ?? newEntry(conversation, { is_imported: false, is_copy: false });
    find(item, ".conversation-link", HTMLElement).ariaCurrent = "page";
    void this.#delete(item);
  }

  /** The focused entry has disappeared from the list. */
  #focusFirst() {
    (seek(this.#list, ".conversation-link", HTMLElement) ?? seek(document, ".new-chat", HTMLElement))?.focus();
  }

  /** @param {HTMLElement} item */
  async #delete(item) {
    const list = this.#list;
    const title = find(item, ".conversation-title", HTMLElement).textContent ?? "";
    const conversation = item.dataset.conversation ?? "";
    this.#deleted.add(conversation);
    list.take(item);
    this.#focusFirst();
    const bringBack = () => {
      this.#deleted.delete(conversation);
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

/** @param {ConversationList} list */
async function moveDialog(list) {
  const { MoveDialog } = await import("./move-dialog.js");
  return new MoveDialog(list);
}

/** @param {ConversationList} list */
async function choosingIn(list) {
  const { Choosing } = await import("./choosing.js");
  return new Choosing(list);
}

function unreachable() {
  toast(t("There is no connection to the server. Please try again when it is back."));
}

/** Whether a click opens nothing elsewhere, such as a new tab, and downloads nothing. @param {Event} event */
export function isPlain(event) {
  if (!(event instanceof MouseEvent) || event.button) return false;
  return !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
}
