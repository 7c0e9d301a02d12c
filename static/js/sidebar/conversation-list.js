// <conversation-list>: the list of conversations in the sidebar: the folders, the pinned ones, then the others by day.

import { t } from "../language/words.js";
import { atEnd, find, lifeOf, seek } from "../page/dom.js";
import { keepSearch, keptSearch, remember, textStorage } from "../page/storage.js";
import { dayGroup, ListPages, mark, newEntry, News, place, showPlace, update } from "./entries.js";
import { Folders } from "./folders.js";
import { ListActions } from "./list-actions.js";
import { showRating } from "../exchange/exchange.js";
import { unhandled } from "../wire/protocol.js";
import { toast } from "../page/menus.js";

/** @import { TabTitle } from "../page/connection.js" */
/** @import { Answered, AnswerSeen, AnswerWaits, Archived, FolderGone } from "../wire/wire.js" */
/** @import { FolderKept, Listed, Rated, TitleChanged, Unlisted } from "../wire/wire.js" */
/** @import { Entry, Place } from "./entries.js" */

export class ConversationList extends HTMLElement {
  #items = find(this, ".conversation-items", HTMLElement);
  #actions = new ListActions(this);
  /** Counts changes by events and by this tab to the list, and to the title and the top bar of the page. */
  news = new News();
  #folders = new Folders(this, this.news);
  #pages = new ListPages(this, this.#items, () => this.#group(), this.news);
  /** A new folder to open as soon as the page knows it. */
  #unfolding = "";

  connectedCallback() {
    this.#actions.listen();
    this.#pages.start();
    this.#folders.start();
    this.#group();
    this.#markDrafts();
    // Not by scrollIntoView: that would also scroll the page, to the closed drawer of a phone. Rounded up, because
    // browsers scroll by whole pixels.
    const open = this.querySelector("[aria-current]")?.getBoundingClientRect().bottom ?? 0;
    this.scrollTop = Math.ceil(open - this.getBoundingClientRect().bottom);
  }

  /** Conversations with unsent text have a mark. What shows it is loaded once there is such text. */
  #markDrafts() {
    const storage = textStorage();
    const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index));
    const loads = new AbortController();
    atEnd(lifeOf(this), () => loads.abort());
    const load = () => {
      loads.abort();
      const person = document.documentElement.dataset.person ?? "";
      void import("./draft-marks.js").then((module) => module.markDrafts(this, person), () => {});
    };
    for (const kind of ["chat:draft", "storage"]) addEventListener(kind, load, { signal: loads.signal });
    if (keys.some((key) => key?.startsWith("chatui:draft:"))) load();
  }

  /**
   * A conversation was moved: its folder is opened, so that it stays in sight.
   * @param {string} folder that the page may not know yet; empty for none
   */
  unfold(folder) {
    const details = this.folder(folder)?.querySelector("details");
    this.#unfolding = details ? "" : folder;
    if (!details) return;
    details.open = true;
    this.scrollTop += Math.min(0, details.getBoundingClientRect().top - this.getBoundingClientRect().top);
  }

  /**
   * @param {string} conversation
   * @param {string} title
   */
  retitle(conversation, title) {
    const item = this.item(conversation);
    if (!item) return;
    find(item, ".conversation-title", HTMLElement).textContent = title;
    seek(item, ".conversation-more", HTMLElement)?.setAttribute("aria-label", t("Options for “%(title)s”", { title }));
  }

  /**
   * Puts a conversation at the place of its time, whether or not it was listed before.
   * @param {Entry} entry
   */
  put(entry) {
    const item = this.item(entry.conversation) ?? newEntry(entry.conversation, entry);
    item.dataset.updated = entry.updated_at;
    item.toggleAttribute("data-pinned", entry.is_pinned);
    mark(item, "running", entry.is_running);
    mark(item, "new", entry.has_news);
    this.place(item, entry.folder);
    this.retitle(entry.conversation, entry.title);
  }

  /** @param {Answered} event */
  answered({ conversation, updated_at: at, has_news: hasNews }) {
    const item = this.item(conversation);
    if (!item) return;
    item.dataset.updated = at;
    mark(item, "running", false);
    mark(item, "waits", false);
    mark(item, "new", hasNews);
    this.place(item);
  }

  /** @param {AnswerWaits} event */
  waits({ conversation, waits }) {
    const item = this.item(conversation);
    if (item) mark(item, "waits", waits);
    document.dispatchEvent(new CustomEvent("chat:waits", { detail: waits ? conversation : null }));
  }

  /** @param {string} conversation whose new answer the person has seen */
  seen(conversation) {
    const item = this.item(conversation);
    if (item) mark(item, "new", false);
  }

  /**
   * A conversation was deleted, in whichever tab.
   * @param {string} conversation
   * @returns {boolean} whether it was in this list
   */
  drop(conversation) {
    this.item(conversation)?.remove();
    this.#group();
    return this.#actions.hasDeleted(conversation);
  }

  /** @param {string} conversation that the page shows */
  open(conversation) {
    const item = this.item(conversation);
    if (item) find(item, ".conversation-link", HTMLElement).ariaCurrent = "page";
  }

  /** @param {string} folder */
  folder(folder) {
    return folder ? this.#folders.element(folder) : null;
  }

  /** @param {FolderKept} event */
  keepFolder(event) {
    this.#folders.keep(event);
    this.#group();
    if (event.folder === this.#unfolding) this.unfold(event.folder);
  }

  /** @param {string} folder that was deleted; its conversations are in the list again */
  dropFolder(folder) {
    for (const item of this.#folders.remove(folder)) this.place(item, "");
    this.#group();
  }

  /**
   * Takes over the list from a page of the server. Entries older than all of that list stay.
   * @param {DocumentFragment} page
   */
  update(page) {
    this.#folders.update(page);
    const fresh = seek(page, ".conversation-items", HTMLElement);
    if (fresh) update(this.#items, fresh);
    this.#pages.watch();
    for (const item of this.#items.querySelectorAll(".conversation-item")) {
      this.#folders.forget(item.getAttribute("data-conversation") ?? "");
    }
    this.#group();
  }

  #group() {
    for (const heading of this.#items.querySelectorAll(".conversation-group")) heading.remove();
    const now = new Date();
    let group = "";
    for (const item of this.#items.querySelectorAll(".conversation-item")) {
      const updated = new Date(item.getAttribute("data-updated") ?? now);
      const mine = item.hasAttribute("data-pinned") ? t("Pinned") : dayGroup(updated, now);
      if (mine !== group) item.before(heading(mine));
      group = mine;
    }
    find(this, ".conversation-none", HTMLElement).hidden = this.#items.childElementCount > 0 || !this.#folders.isEmpty;
    document.dispatchEvent(new CustomEvent("chat:waits"));
  }

  /** @param {HTMLElement} item to remove from the list */
  take(item) {
    this.news.came();
    item.dataset.folder = folderOf(item);
    item.remove();
    this.#group();
  }

  /**
   * Puts an entry where it belongs.
   * @param {HTMLElement} item
   * @param {string} [folder] that it is in; empty for none
   */
  place(item, folder = item.dataset.folder ?? folderOf(item)) {
    const hadFocus = item.contains(document.activeElement);
    delete item.dataset.folder;
    place(this.#folders.items(folder) ?? this.#items, item);
    this.#group();
    if (hadFocus && !item.contains(document.activeElement)) this.#focus(item);
  }

  /** @param {HTMLElement} item that was moved, and lost the focus because of that */
  #focus(item) {
    const closed = item.closest(".folder-details:not([open])");
    (closed ? find(closed, "summary", HTMLElement) : find(item, ".conversation-link", HTMLElement)).focus();
  }

  /** @param {string} conversation */
  item(conversation) {
    return seek(this, `[data-conversation="${CSS.escape(conversation)}"]`, HTMLElement);
  }
}

/** @param {HTMLElement} item */
function folderOf(item) {
  const folder = item.closest(".folder");
  return folder instanceof HTMLElement ? (folder.dataset.folder ?? "") : "";
}

/** @param {string} group */
function heading(group) {
  const item = document.createElement("li");
  item.className = "conversation-group";
  item.textContent = group;
  return item;
}

// Applies events about the person's list of conversations to the list, the title and the top bar.

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

// The sidebar: a column that can be folded away on wide screens, and a drawer on narrow ones, where Escape, a click
// outside or a choice closes it. The same two buttons open and close it.

/** Read again in "early.js". */
const KEY = "chatui:list";
const FOLDED = "folded";

export class Drawer {
  #sidebar;
  #stage;
  #shade;
  #closer;
  #narrow = matchMedia("(max-width: 56rem)");
  #opener = () => find(document, ".drawer-open", HTMLElement);

  /** @param {HTMLElement} page */
  constructor(page) {
    this.#sidebar = find(page, ".sidebar", HTMLElement);
    this.#stage = find(page, ".stage", HTMLElement);
    this.#shade = find(page, ".drawer-shade", HTMLElement);
    this.#closer = find(page, ".drawer-close", HTMLElement);
    this.#shade.addEventListener("click", () => this.close());
    this.#closer.addEventListener("click", () => (this.#narrow.matches ? this.close() : this.#fold()));
    // A window that grows past the narrow layout shows the sidebar as a column again.
    this.#narrow.addEventListener("change", () => this.close(), { signal: lifeOf(page) });
  }

  /** Whether it is open as a drawer. */
  get isOpen() {
    return "open" in this.#sidebar.dataset;
  }

  /** Whether it is visible, as a drawer or as a column. */
  get #isShown() {
    return this.#narrow.matches ? this.isOpen : !this.#isFolded;
  }

  get #isFolded() {
    return document.documentElement.dataset.list === FOLDED;
  }

  /** Shows it if it is hidden. */
  show() {
    if (!this.#isShown) this.open();
  }

  toggle() {
    if (!this.#isShown) this.open();
    else if (this.#narrow.matches) this.close();
    else this.#fold();
  }

  open() {
    if (!this.#narrow.matches) return this.#unfold();
    this.#sidebar.dataset.open = "";
    this.#shade.hidden = false;
    this.#stage.inert = true;
    this.#opener().setAttribute("aria-expanded", "true");
    this.#closer.focus();
  }

  /** Closes the drawer. */
  close() {
    if (!this.isOpen) return;
    delete this.#sidebar.dataset.open;
    this.#shade.hidden = true;
    this.#stage.inert = false;
    this.#opener().setAttribute("aria-expanded", "false");
    this.#opener().focus();
  }

  /** The focus stays, unless its element disappears: then it moves to the button that shows the list. */
  #fold() {
    const hadFocus = this.#sidebar.contains(document.activeElement);
    document.documentElement.dataset.list = FOLDED;
    remember(KEY, FOLDED);
    if (hadFocus) this.#opener().focus();
  }

  #unfold() {
    const hadFocus = document.activeElement === this.#opener();
    delete document.documentElement.dataset.list;
    remember(KEY, null);
    if (hadFocus) this.#closer.focus();
  }
}

// Loads <conversation-search> when its field is first focused. On "chat:find", it dispatches "chat:search" and focuses
// the field.

let isLoaded = false;

export function searchOnDemand() {
  if (!isLoaded && beginsAnew()) keepSearch("");
  isLoaded = true;
  const search = find(document, "conversation-search", HTMLElement);
  const text = find(search, ".search-text", HTMLInputElement);
  const load = () => void import("./conversation-search.js").catch(() => {
    toast(t("There is no connection to the server. Please try again when it is back."));
  });
  search.addEventListener("chat:find", () => {
    search.dispatchEvent(new CustomEvent("chat:search", { bubbles: true }));
    text.focus();
    text.select();
  });
  search.addEventListener("focusin", load);
  // The browser has restored a text, somebody typed before this script ran, or results are to stay beside the page.
  if (text.value || search.contains(document.activeElement) || keptSearch()) load();
}

/** Whether a link has led from elsewhere to a new conversation, which ends a search. A reload and Back do not. */
function beginsAnew() {
  const [how] = performance.getEntriesByType("navigation");
  const isLink = how instanceof PerformanceNavigationTiming && how.type === "navigate";
  return isLink && !find(document, "chat-page", HTMLElement).dataset.conversation;
}

customElements.define("conversation-list", ConversationList);
