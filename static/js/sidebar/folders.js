// The folders above the list of conversations: which are open in this browser, what is loaded of each, and where a new
// or renamed folder belongs.

import { t } from "../language/words.js";
import { find, lifeOf, parse, templateWith, seek } from "../page/dom.js";
import { read } from "../page/server.js";
import { recall, remember } from "../page/storage.js";
import { ListPages, place, update } from "./entries.js";
import { whenLeaving } from "../composer/leaving.js";

/** @import { FolderKept } from "../wire/wire.js" */
/** @import { News } from "./entries.js" */

/** The open folders, each with the height of what is in it: "early.js" opens them before the first paint. */
const KEY = "chatui:folders";

export class Folders {
  #list;
  #folders;
  /** Folders whose further pages are loaded when the reader gets to their end. @type {Map<string, ListPages>} */
  #pages = new Map();
  #isForgotten = false;
  #news;

  /**
   * @param {HTMLElement} list the part of the page that scrolls
   * @param {News} news of the list
   */
  constructor(list, news) {
    this.#list = list;
    this.#news = news;
    this.#folders = find(list, ".folders", HTMLElement);
  }

  start() {
    for (const [folder, height] of this.#remembered()) {
      detailsOf(folder).open = true;
      itemsOf(folder).style.setProperty("--kept", height);
    }
    for (const folder of this.#open()) this.#load(folder);
    // "toggle" does not bubble.
    this.#folders.addEventListener("toggle", this.#toggled, { capture: true });
    // Another tab may have opened and closed others meanwhile.
    const keep = () => this.#keepOpen(this.#remembered().map(([folder]) => folder));
    addEventListener("pagehide", keep, { signal: lifeOf(this.#list) });
    whenLeaving(() => {
      this.#isForgotten = true;
    }, lifeOf(this.#list));
  }

  get isEmpty() {
    return this.#folders.childElementCount === 0;
  }

  /** @param {string} folder */
  element(folder) {
    return seek(this.#folders, `[data-folder="${CSS.escape(folder)}"]`, HTMLElement);
  }

  /**
   * The element with the conversations of a folder; null for an unknown folder.
   * @param {string} folder
   */
  items(folder) {
    const found = this.element(folder);
    return found && itemsOf(found);
  }

  /** @param {FolderKept} event */
  keep({ folder, name, before }) {
    const found = this.element(folder) ?? templateWith("folder", HTMLElement, folder);
    rename(found, name);
    const next = before ? this.element(before) : null;
    if (found.isConnected && found.nextElementSibling === next) return;
    if (next) next.before(found);
    else this.#folders.append(found);
  }

  /**
   * @param {string} folder that was deleted
   * @returns {HTMLElement[]} the entries that the page had of it
   */
  remove(folder) {
    const found = this.element(folder);
    const inside = found ? [...itemsOf(found).querySelectorAll(".conversation-item")] : [];
    found?.remove();
    this.#pages.delete(folder);
    return inside.filter((item) => item instanceof HTMLElement);
  }

  /**
   * Takes over the folders from a page of the server: their names and order, and the entries that it has.
   * @param {DocumentFragment} page
   */
  update(page) {
    const fresh = [...page.querySelectorAll(".folders > .folder")].filter((each) => each instanceof HTMLElement);
    const now = fresh.map((each) => {
      const known = this.element(idOf(each));
      if (!known) return each;
      rename(known, find(each, ".folder-name", HTMLElement).textContent ?? "");
      showNews(known, each);
      void this.#renew(known, itemsOf(each));
      return known;
    });
    const isSame = now.length === this.#folders.childElementCount && now.every((each) => each.isConnected);
    if (!isSame) this.#folders.replaceChildren(...now);
    else now.forEach((each, at) => this.#folders.children[at] === each || this.#folders.children[at]?.before(each));
    for (const folder of this.#open()) this.#load(folder);
  }

  /**
   * Takes over the conversations of a folder, if any of them are loaded.
   * @param {HTMLElement} folder
   * @param {HTMLElement} fresh what the page has of it: maybe only a link to them
   */
  async #renew(folder, fresh) {
    const pages = this.#pages.get(idOf(folder));
    const link = fresh.querySelector(".conversation-item") ? null : seek(fresh, "[data-fragment]", HTMLElement);
    if (!pages && link) return;
    try {
      const { content } = link
        ? await this.#news.read(async () => parse(await read(link.dataset.fragment ?? "")))
        : { content: fresh };
      update(itemsOf(folder), content);
      pages?.watch();
    } catch {
      // They stay as they are: events tell of later changes, and the next page has all of them.
    }
  }

  /**
   * Removes a conversation that is in the list now.
   * @param {string} conversation
   */
  forget(conversation) {
    seek(this.#folders, `[data-conversation="${CSS.escape(conversation)}"]`, HTMLElement)?.remove();
  }

  /** @param {Event} event */
  #toggled = (event) => {
    const folder = event.target instanceof Element ? event.target.closest(".folder") : null;
    if (!(folder instanceof HTMLElement)) return;
    this.#keepOpen(this.#open());
    if (!detailsOf(folder).open) return;
    // Opening it shows which of its conversations has the new answer.
    seek(folder, ".folder-head .conversation-new", HTMLElement)?.remove();
    this.#load(folder);
  };

  /** The folders that are open in this browser, and what is stored of their heights. */
  #remembered() {
    return (recall(KEY)?.split(" ") ?? []).flatMap((each) => {
      const [id = "", height = ""] = each.split(":");
      const folder = this.element(id);
      return folder ? [/** @type {const} */ ([folder, height])] : [];
    });
  }

  /** @param {HTMLElement[]} open */
  #keepOpen(open) {
    if (this.#isForgotten) return;
    const before = new Map(this.#remembered());
    remember(KEY, open.map((each) => `${idOf(each)}:${heightOf(each) || before.get(each) || ""}`).join(" ") || null);
  }

  #open() {
    return this.#all().filter((each) => detailsOf(each).open);
  }

  /** @param {HTMLElement} folder that is open now */
  #load(folder) {
    if (this.#pages.has(idOf(folder))) return;
    const items = itemsOf(folder);
    const added = () => {
      for (const item of items.querySelectorAll(".conversation-item")) {
        // Entries that an event has put here before may not be the latest.
        if (item instanceof HTMLElement) place(items, item);
      }
    };
    const pages = new ListPages(this.#list, items, added, this.#news);
    this.#pages.set(idOf(folder), pages);
    pages.start();
  }

  #all() {
    return [...this.#folders.children].filter((each) => each instanceof HTMLElement);
  }
}

/** @param {HTMLElement} folder */
function idOf(folder) {
  return folder.dataset.folder ?? "";
}

/** @param {HTMLElement} folder */
function itemsOf(folder) {
  return find(folder, ".folder-items", HTMLElement);
}

/** The height of what is in a folder, also if nothing is; empty if it is not shown. @param {HTMLElement} folder */
function heightOf(folder) {
  const items = itemsOf(folder);
  if (seek(items, ".conversation-page:first-child", HTMLElement)) return items.style.getPropertyValue("--kept");
  const height = items.offsetHeight + find(folder, ".folder-none", HTMLElement).offsetHeight;
  return height ? `${height}px` : "";
}

/** @param {HTMLElement} folder */
function detailsOf(folder) {
  return find(folder, ".folder-details", HTMLDetailsElement);
}

/**
 * Shows or hides the mark of a closed folder with a new answer in it.
 * @param {HTMLElement} folder
 * @param {HTMLElement} fresh the same folder as the server shows it
 */
function showNews(folder, fresh) {
  const [mine, theirs] = [folder, fresh].map((each) => seek(each, ".folder-head .conversation-new", HTMLElement));
  if (!theirs || detailsOf(folder).open) mine?.remove();
  else if (!mine) find(folder, ".folder-name", HTMLElement).after(theirs);
}

/**
 * @param {HTMLElement} folder
 * @param {string} name
 */
function rename(folder, name) {
  find(folder, ".folder-name", HTMLElement).textContent = name;
  find(folder, ".folder-new", HTMLElement).setAttribute("aria-label", t("New conversation in “%(name)s”", { name }));
  find(folder, ".folder-edit", HTMLElement)
    .setAttribute("aria-label", t("Name, instructions and files of “%(name)s”", { name }));
}
