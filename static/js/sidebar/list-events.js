// Applies events about the person's list of conversations to the list, the title and the top bar.

import { showRating } from "../exchange/exchange.js";
import { find } from "../page/dom.js";
import { unhandled } from "../wire/protocol.js";
import { showPlace } from "./list-pages.js";

/** @import { TabTitle } from "../chat/connection-banner.js" */
/** @import { Answered, AnswerSeen, AnswerWaits, Archived, FolderGone, FolderKept, Listed } from "../wire/wire.js" */
/** @import { Rated, TitleChanged, Unlisted } from "../wire/wire.js" */
/** @import { ConversationList } from "./conversation-list.js" */
/** @import { Place } from "./list-pages.js" */

/** @typedef {FolderKept | FolderGone} FolderEvent */
/** @typedef {Answered | AnswerSeen | AnswerWaits} MarkEvent */
/** @typedef {TitleChanged | Listed | Unlisted | Archived | MarkEvent | FolderEvent | Rated} ListEvent */

export class ListEvents {
  #page;
  #list;
  #tab;
  #isOpen;

  /**
   * @param {HTMLElement} page
   * @param {ConversationList} list
   * @param {TabTitle} tab
   * @param {(conversation: string) => boolean} isOpen whether the page shows that conversation
   */
  constructor(page, list, tab, isOpen) {
    this.#page = page;
    this.#list = list;
    this.#tab = tab;
    this.#isOpen = isOpen;
  }

  /** @param {ListEvent} event */
  apply(event) {
    switch (event.type) {
      case "chatui:title":
        return this.retitle(event);
      case "chatui:listed":
        return this.#listed(event);
      case "chatui:unlisted":
        return this.#unlisted(event.conversation);
      case "chatui:archived":
        return this.#archived(event.conversation);
      case "chatui:answered":
        return this.#list.answered(event);
      case "chatui:seen":
        return this.#list.seen(event.conversation);
      case "chatui:waits":
        return this.#list.waits(event);
      case "chatui:folder":
        return this.#folderKept(event);
      case "chatui:folder.gone":
        return this.#folderGone(event.folder);
      case "chatui:rated":
        return showRating(event.message, event.verdict);
      default:
        return unhandled(event);
    }
  }

  /** @param {{ conversation: string, title: string }} event */
  retitle({ conversation, title }) {
    this.#list.retitle(conversation, title);
    if (!this.#isOpen(conversation)) return;
    find(this.#page, ".top-title", HTMLElement).textContent = title;
    const { content: name } = find(document, "meta[name=application-name]", HTMLMetaElement);
    this.#tab.set(`${title} · ${name}`);
  }

  /** @param {Listed} event a conversation is new, got a question, or was restored */
  #listed(event) {
    this.#list.put(event);
    if (!this.#isOpen(event.conversation)) return;
    this.#list.open(event.conversation);
    this.retitle(event);
    this.exists();
    this.#showPlace(event.is_pinned ? "pinned" : "list");
    this.#showFolder(event.folder);
  }

  /** The open conversation exists: takes back that it did not, here and under the message box, and follows it again. */
  exists() {
    if (this.#deletedBanner.hidden) return;
    find(this.#page, ".composer-problem", HTMLElement).textContent = "";
    this.#deletedBanner.hidden = true;
    this.#page.dispatchEvent(new CustomEvent("chat:restored"));
  }

  /** @param {FolderKept} event */
  #folderKept(event) {
    this.#list.keepFolder(event);
    if (this.#folderMark.dataset.folder === event.folder) this.#showFolder(event.folder);
  }

  /** @param {string} folder */
  #folderGone(folder) {
    this.#list.dropFolder(folder);
    if (this.#folderMark.dataset.folder === folder) this.#showFolder("");
    if (this.#page.dataset.folder === folder) delete this.#page.dataset.folder;
  }

  /** @param {string} folder of the open conversation; empty for none */
  #showFolder(folder) {
    const mark = this.#folderMark;
    const entry = this.#list.folder(folder);
    mark.hidden = !entry;
    mark.dataset.folder = entry ? folder : "";
    if (!entry) return;
    mark.setAttribute("href", find(entry, ".folder-edit", HTMLElement).getAttribute("href") ?? "");
    const name = find(entry, ".folder-name", HTMLElement).textContent;
    find(mark, ".folder-mark-name", HTMLElement).textContent = name;
  }

  get #folderMark() {
    return find(this.#page, ".top-bar .folder-mark", HTMLElement);
  }

  /** @param {string} conversation */
  #archived(conversation) {
    this.#list.drop(conversation);
    if (!this.#isOpen(conversation)) return;
    this.exists();
    this.#showPlace("archive");
  }

  /** @param {Place} place of the open conversation */
  #showPlace(place) {
    const bar = find(this.#page, ".top-bar", HTMLElement);
    find(bar, ".archived-mark", HTMLElement).hidden = place !== "archive";
    showPlace(bar, place);
  }

  /** @param {string} conversation that was deleted, here or in another tab */
  #unlisted(conversation) {
    const isMine = this.#list.drop(conversation);
    if (!isMine && this.#isOpen(conversation)) this.#deletedBanner.hidden = false;
  }

  get #deletedBanner() {
    return find(this.#page, ".banner-deleted", HTMLElement);
  }
}
