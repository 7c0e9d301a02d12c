// Further pages of the list of conversations: each is loaded when the reader gets near the end of the list, or on
// request.

import { t } from "../language/words.js";
import { closestTo, find, parse, seek } from "../page/dom.js";
import { read } from "../page/server.js";

/** @import { News } from "./entries.js" */

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
