// The entries of the list of conversations: creates and places them, edits their titles, and loads further ones.

import { closestTo, find, fromTemplate, parse, seek, templateWith } from "../page/dom.js";
import { t } from "../language/words.js";
import { read } from "../page/server.js";

/** @import { Listed } from "../wire/wire.js" */

/** @typedef {Omit<Listed, "type">} Entry */

/**
 * @param {string} conversation
 * @param {Pick<Entry, "is_imported" | "is_copy">} marks
 * @returns {HTMLElement}
 */
export function newEntry(conversation, { is_imported: isImported, is_copy: isCopy }) {
  const item = templateWith("conversation", HTMLElement, conversation);
  if (!isImported) find(item, ".imported-mark", HTMLElement).remove();
  if (!isCopy) find(item, ".copy-mark", HTMLElement).remove();
  return item;
}

/**
 * Shows or hides a mark of an entry, or of a folder.
 * @param {HTMLElement} item
 * @param {"running" | "waits" | "new" | "draft"} name
 * @param {boolean} isShown
 * @param {string} [title] what it stands behind
 */
export function mark(item, name, isShown, title = ".conversation-title") {
  const shown = seek(item, `.conversation-${name}`, HTMLElement);
  if (!isShown) shown?.remove();
  else if (!shown) find(item, title, HTMLElement).after(fromTemplate(`${name}-mark`, HTMLElement));
}

/**
 * Puts an entry at the place of its time: pinned ones first, then the latest first. An entry that is already there is
 * not moved, because it may have the focus.
 * @param {HTMLElement} items
 * @param {HTMLElement} item
 */
export function place(items, item) {
  const others = [...items.querySelectorAll(".conversation-item")].filter((other) => other !== item);
  const place = others.findIndex((other) => comesBefore(item, other));
  const [before, after] = place < 0 ? [others.at(-1), undefined] : [others[place - 1], others[place]];
  const all = [...items.querySelectorAll(".conversation-item")];
  const now = all.indexOf(item);
  if (now >= 0 && all[now - 1] === before && all[now + 1] === after) return;
  const more = seek(items, ".conversation-page", HTMLElement);
  if (after) after.before(item);
  else if (more) more.before(item);
  else items.append(item);
}

/**
 * Takes over the entries of a list. If the server has more than it shows, those further down stay.
 * @param {HTMLElement} items
 * @param {ParentNode} list as the server shows it: its entries, the latest first, and maybe a link to more
 */
export function update(items, list) {
  const fresh = [...list.querySelectorAll(".conversation-item")];
  const more = seek(list, ".conversation-page", HTMLElement);
  const last = more && fresh.at(-1);
  const keys = new Set(fresh.map((item) => item.getAttribute("data-conversation")));
  let hasFurther = false;
  for (const item of items.querySelectorAll(".conversation-item")) {
    const isFurtherDown = last instanceof HTMLElement && comesBefore(last, item);
    if (keys.has(item.getAttribute("data-conversation")) || !isFurtherDown) item.remove();
    else hasFurther = true;
  }
  items.prepend(...fresh);
  // The page's own link leads on from the last of those further down.
  if (hasFurther) return;
  seek(items, ".conversation-page", HTMLElement)?.remove();
  if (more) items.append(more);
}

/**
 * @param {Element} one
 * @param {Element} other
 */
function comesBefore(one, other) {
  const isPinned = one.hasAttribute("data-pinned");
  return isPinned === other.hasAttribute("data-pinned") ? timeOf(one) > timeOf(other) : isPinned;
}

/** @param {Element} item */
function timeOf(item) {
  return Date.parse(item.getAttribute("data-updated") ?? "") || 0;
}

// The headings of the conversation list: Today, Yesterday, Earlier.

/**
 * @param {Date} updated
 * @param {Date} now
 * @returns {string} by the calendar days of the reader's own time zone
 */
export function dayGroup(updated, now) {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  // Even if the browser's clock is behind the server's, a new conversation must appear under Today.
  if (updated >= today) return t("Today");
  return updated >= yesterday ? t("Yesterday") : t("Earlier");
}

// Counts changes, so that data read meanwhile is known to be stale.

/** How often data is read again because of changes meanwhile. */
const MAX_READINGS = 4;

export class News {
  #count = 0;

  /** Something has changed. */
  came() {
    this.#count += 1;
  }

  /**
   * Reads again until nothing has changed meanwhile.
   * @template Content
   * @param {() => Promise<Content>} read
   * @returns {Promise<{ content: Content, isFresh: boolean }>} not fresh if changes did not stop
   */
  async read(read) {
    for (let reading = 1; ; reading += 1) {
      const known = this.#count;
      const content = await read();
      const isFresh = known === this.#count;
      if (isFresh || reading === MAX_READINGS) return { content, isFresh };
    }
  }
}

// Further pages of the list of conversations: each is loaded when the reader gets near the end of the list, or on
// request.

const NEAR = "400px 0px";

export class ListPages {
  #list;
  #items;
  #added;
  #news;
  #near;

  /**
   * @param {HTMLElement} list the part of the page that scrolls
   * @param {HTMLElement} items
   * @param {() => void} added called when there are more conversations in the list
   * @param {News} news of the list: a page read before a conversation was moved or deleted would show it again
   */
  constructor(list, items, added, news) {
    this.#list = list;
    this.#items = items;
    this.#added = added;
    this.#news = news;
    this.#near = new IntersectionObserver(this.#came, { root: list, rootMargin: NEAR });
  }

  start() {
    this.#list.addEventListener("click", this.#clicked);
    this.watch();
  }

  /** Waits for the reader at the link that is there now. */
  watch() {
    this.#near.disconnect();
    const place = this.#place;
    if (place) this.#near.observe(place);
  }

  get #place() {
    return seek(this.#items, ".conversation-page", HTMLElement);
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #came = (entries) => {
    if (entries.some((entry) => entry.isIntersecting)) void this.#load();
  };

  /** @param {MouseEvent} event */
  #clicked = (event) => {
    const link = closestTo(event, ".conversation-page-link");
    if (!link || !this.#items.contains(link) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    void this.#load();
  };

  async #load() {
    const place = this.#place;
    if (!place || place.ariaBusy === "true") return;
    place.ariaBusy = "true";
    const link = find(place, ".conversation-page-link", HTMLElement);
    try {
      const { content } = await this.#news.read(async () => parse(await read(link.dataset.fragment ?? "")));
      if (place.isConnected) this.#put(place, content);
    } catch (error) {
      place.ariaBusy = "false";
      find(place, ".conversation-page-problem", HTMLElement).textContent = error instanceof Error ? error.message : "";
      link.textContent = t("Try again");
      this.#near.unobserve(place);
    }
  }

  /**
   * @param {HTMLElement} place
   * @param {DocumentFragment} fresh
   */
  #put(place, fresh) {
    // A conversation with a newer message is further up already; a restored one may be too high.
    const shown = new Map([...this.#items.children].map((item) => [nameOf(item), item]));
    const put = [...fresh.children].flatMap((item) => {
      const known = item.matches(".conversation-page") ? undefined : shown.get(nameOf(item));
      if (!known) return [item];
      // The page's own entry goes there: it may be marked as the open one, or chosen.
      return known.getAttribute("data-updated") === item.getAttribute("data-updated") ? [known] : [];
    });
    const hadFocus = place.contains(document.activeElement);
    place.replaceWith(...put);
    this.#added();
    this.watch();
    if (!hadFocus) return;
    const next = put[0] ? seek(put[0], "a", HTMLElement) : this.#items.closest("details")?.querySelector("summary");
    (next ?? this.#list).focus({ preventScroll: true });
  }
}

/** @param {Element} item of the list */
function nameOf(item) {
  return item.getAttribute("data-conversation") ?? item.className;
}

// The menu items that move a conversation: hides those for its current place.

/** @typedef {"list" | "pinned" | "archive"} Place */

/**
 * @param {ParentNode} menu
 * @param {Place} place where the conversation is
 */
export function showPlace(menu, place) {
  for (const item of menu.querySelectorAll('[data-action="put"]')) {
    if (!(item instanceof HTMLElement)) continue;
    const { place: to, from } = item.dataset;
    // An archived conversation is moved into the list before it is pinned.
    item.hidden = from ? from !== place : to === place || (to === "pinned" && place === "archive");
  }
}
