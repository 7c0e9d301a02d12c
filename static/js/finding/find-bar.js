// The find bar: finds a text in the open conversation, and steps through the matches. The server searches what the page
// has not loaded; such a match is opened when the person gets to it.

import { closestTo, find } from "../page/dom.js";
import { mark } from "../page/marks.js";
import { read } from "../page/server.js";
import { nextMatch } from "../models/matches.js";
import { rangesIn } from "./text-ranges.js";
import { Elsewhere } from "./elsewhere.js";
import { saveSearch } from "./next-page.js";

/** @import { ChatTranscript } from "../chat/transcript.js" */
/** @import { OpenConversation } from "../chat/open-conversation.js" */
/** @import { Scrolling } from "../chat/scrolling.js" */
/** @import { SavedSearch } from "./next-page.js" */
/** @typedef {{ transcript: ChatTranscript, open: OpenConversation, scrolling: Scrolling }} PageParts */

const TYPING_MS = 180;
/** How often growing text is searched again. */
const GROWING_MS = 400;

export class FindBar {
  #bar = find(document, ".find-bar", HTMLFormElement);
  #text = find(this.#bar, ".find-text", HTMLInputElement);
  #status = find(this.#bar, ".find-status", HTMLElement);
  #around;
  /** @type {Range[]} */
  #ranges = [];
  #current = -1;
  #elsewhere = new Elsewhere([]);
  /** @type {HTMLElement | null} */
  #opener = null;
  /** @type {number | undefined} */
  #timer;
  /** Counts requests, so that a late response to an old one is dropped. */
  #asked = 0;
  #observer = new MutationObserver(() => this.#later(() => this.#look(), GROWING_MS));

  /** @param {PageParts} around */
  constructor(around) {
    this.#around = around;
  }

  listen() {
    this.#bar.addEventListener("submit", (event) => (event.preventDefault(), this.#step(1)));
    this.#bar.addEventListener("keydown", this.#key);
    this.#bar.addEventListener("click", this.#clicked);
    this.#text.addEventListener("input", () => this.#later(() => void this.#search(), TYPING_MS));
  }

  /** Continues where the last page stopped. @param {SavedSearch} kept */
  resume(kept) {
    this.#bar.hidden = false;
    this.open(find(document, "main", HTMLElement));
    this.#text.value = kept.text;
    void this.#search(kept);
  }

  /**
   * The bar is shown, and has the focus.
   * @param {Element | null} [opener] what gets the focus when the bar closes, if it was not open before
   */
  open(opener) {
    if (opener !== undefined) this.#opener = opener instanceof HTMLElement ? opener : null;
    this.#text.focus();
    this.#observer.observe(this.#around.transcript, { childList: true, subtree: true, characterData: true });
    void this.#search();
  }

  close() {
    clearTimeout(this.#timer);
    this.#observer.disconnect();
    this.#asked += 1;
    this.#bar.hidden = true;
    this.#ranges = [];
    this.#mark();
    this.#opener?.focus();
  }

  /** @param {() => void} run @param {number} delay */
  #later(run, delay) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(run, delay);
  }

  /** @param {SavedSearch} [from] where to begin; by default at the first match at or below the top of the screen */
  async #search(from) {
    const mine = ++this.#asked;
    this.#elsewhere = new Elsewhere([]);
    this.#current = -1;
    this.#look();
    const place = from ? document.getElementById(`m-${from.message}`) : null;
    if (place && from?.by === -1) this.#current = this.#ranges.findLastIndex((range) => range.intersectsNode(place));
    else this.#current = this.#ranges.findIndex((range) => isFrom(range, place));
    if (this.#current < 0) this.#current = this.#ranges.length - 1;
    this.#show();
    const { transcript } = this.#around;
    const { url } = find(document, "chat-page", HTMLElement).dataset;
    if (!this.#text.value.trim() || !transcript.querySelector(":scope > [data-more]") || !url) return;
    try {
      const found = await read(`${url}find/?${new URLSearchParams({ q: this.#text.value })}`);
      if (mine === this.#asked) this.#elsewhere = new Elsewhere(JSON.parse(found).messages);
    } catch {
      if (mine === this.#asked) this.#elsewhere = Elsewhere.unknown();
    }
    if (mine === this.#asked) this.#show();
  }

  /** Searches the page again without losing the current match. */
  #look() {
    const before = this.#ranges[this.#current];
    this.#ranges = rangesIn(this.#around.transcript, this.#text.value.trim());
    const isBefore = (/** @type {Range} */ range) =>
      before?.startContainer === range.startContainer && before.startOffset === range.startOffset;
    if (before) this.#current = this.#ranges.findIndex(isBefore);
    this.#mark();
    this.#say();
  }

  /** @param {1 | -1} by */
  #step(by) {
    const { text, open } = { text: this.#text.value.trim(), open: this.#around.open };
    const isLast = this.#current === (by > 0 ? this.#ranges.length - 1 : 0) || !this.#ranges.length;
    const message = isLast ? this.#elsewhere.next(by) : null;
    if (message && open.id) {
      saveSearch({ conversation: open.id, text, message, by });
      return open.leadTo(message);
    }
    this.#current = nextMatch(this.#current, this.#ranges.length, by);
    this.#show();
  }

  /** Shows the current match. */
  #show() {
    this.#mark();
    this.#say();
    const element = this.#ranges[this.#current]?.startContainer.parentElement;
    if (element) this.#around.scrolling.to(element, "center");
  }

  #mark() {
    const current = this.#ranges[this.#current];
    mark("found", this.#ranges);
    mark("found-current", current ? [current] : []);
  }

  #say() {
    const wanted = this.#text.value.trim();
    this.#status.textContent = wanted ? this.#elsewhere.sentence(this.#current, this.#ranges.length) : "";
  }

  /** @param {Event} event */
  #clicked = (event) => {
    const action = closestTo(event, "[data-action]")?.dataset.action;
    if (action === "find-next") this.#step(1);
    else if (action === "find-previous") this.#step(-1);
    else if (action === "close-find") this.close();
  };

  /** @param {KeyboardEvent} event */
  #key = (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && event.shiftKey && event.target === this.#text) this.#step(-1);
    else return;
    event.preventDefault();
  };
}

/**
 * Whether a match is in an element or below it; without one, whether it is below the top of the screen.
 * @param {Range} range
 * @param {Element | null} element
 */
function isFrom(range, element) {
  if (element) return range.comparePoint(element, 0) <= 0;
  // The exchange's position, because elements far from the screen are not laid out.
  const exchange = range.startContainer.parentElement?.closest(".exchange");
  return !exchange || exchange.getBoundingClientRect().bottom > 0;
}
