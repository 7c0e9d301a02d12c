// <conversation-search>: the search field above the list of conversations. Shows its results instead of the list.

import { t, tn } from "../language/words.js";
import { closestTo, fill, find, pageOf, parse, seek } from "../page/dom.js";
import { SignedOut, read } from "../page/server.js";

const TYPING_MS = 180;

export class ConversationSearch extends HTMLElement {
  #text = find(this, ".search-text", HTMLInputElement);
  #results = find(this, ".search-results", HTMLElement);
  #status = find(this, ".search-status", HTMLElement);
  #list = find(pageOf(this), "conversation-list", HTMLElement);
  /** @type {number | undefined} */
  #waiting;
  /** Counts requests, so that a late response to an old one is dropped. */
  #asked = 0;

  connectedCallback() {
    this.#text.addEventListener("input", this.#typed);
    this.addEventListener("submit", this.#submitted);
    this.addEventListener("keydown", this.#key);
    this.addEventListener("click", this.#clicked);
    find(this, "form", HTMLFormElement).dataset.ready = "";
    if (this.#text.value.trim()) void this.#ask();
  }

  #typed = () => {
    clearTimeout(this.#waiting);
    if (this.#text.value.trim()) this.#waiting = setTimeout(() => this.#ask(), TYPING_MS);
    else this.#close();
  };

  /** @param {Event} event */
  #submitted = (event) => {
    event.preventDefault();
    clearTimeout(this.#waiting);
    if (this.#text.value.trim()) void this.#ask();
  };

  /** @param {string} [before] where the next page begins */
  async #ask(before) {
    const mine = ++this.#asked;
    const query = new URLSearchParams({ q: this.#text.value, ...(before ? { before } : {}) });
    try {
      const html = await read(`${this.dataset.address}?${query}`);
      if (mine === this.#asked) this.#show(html, before !== undefined);
    } catch (error) {
      if (mine !== this.#asked) return;
      this.#open();
      const isSignedOut = error instanceof SignedOut;
      this.#say(isSignedOut ? t("You have been signed out.") : t("The search failed. Please try again."), true);
    }
  }

  /**
   * @param {string} html the fragment from the server
   * @param {boolean} isMore whether to add it to the results that are shown
   */
  #show(html, isMore) {
    this.#open();
    if (!isMore) {
      fill(this.#results, html);
      this.#results.scrollTop = 0;
    } else {
      const before = this.#links().length;
      seek(this.#results, ".search-more", HTMLElement)?.remove();
      this.#results.append(parse(html));
      this.#links()[before]?.focus();
    }
    const count = this.#links().length;
    const hasMore = seek(this.#results, ".search-more", HTMLElement) !== null;
    this.#say(foundResults(count, hasMore), false);
  }

  /**
   * @param {string} sentence
   * @param {boolean} isSeen whether it is also visible on the page
   */
  #say(sentence, isSeen) {
    this.#status.textContent = sentence;
    if (!isSeen) return;
    const line = document.createElement("p");
    line.className = "search-none";
    line.textContent = sentence;
    this.#results.replaceChildren(line);
  }

  #open() {
    this.#results.hidden = false;
    this.#list.hidden = true;
  }

  #close() {
    this.#asked += 1;
    this.#results.hidden = true;
    this.#list.hidden = false;
    this.#results.replaceChildren();
    this.#status.textContent = "";
  }

  #links() {
    return [...this.#results.querySelectorAll("a.search-hit")].filter((link) => link instanceof HTMLElement);
  }

  /** @param {Event} event */
  #clicked = (event) => {
    const more = closestTo(event, ".search-more");
    if (more) void this.#ask(more.dataset.before);
  };

  /** @param {KeyboardEvent} event */
  #key = (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape" && (this.#text.value || !this.#results.hidden)) {
      event.preventDefault();
      clearTimeout(this.#waiting);
      this.#text.value = "";
      this.#close();
      this.#text.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.#step(event, event.key === "ArrowDown" ? 1 : -1);
    }
  };

  /**
   * Moves the focus from the field to the first result, from result to result, and back.
   * @param {KeyboardEvent} event
   * @param {number} by
   */
  #step(event, by) {
    const links = this.#links();
    const place = links.findIndex((link) => link === document.activeElement);
    if (!links.length || (place < 0 && document.activeElement !== this.#text)) return;
    event.preventDefault();
    if (place + by < 0) this.#text.focus();
    else links[Math.min(place + by, links.length - 1)]?.focus();
  }
}

/** @param {number} count @param {boolean} hasMore */
function foundResults(count, hasMore) {
  if (!count) return t("No results");
  if (hasMore) return tn("at least %(n)s result", "at least %(n)s results", count);
  return tn("%(n)s result", "%(n)s results", count);
}

customElements.define("conversation-search", ConversationSearch);
