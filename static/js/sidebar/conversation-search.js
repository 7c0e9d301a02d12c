// <conversation-search>: the search field above the list of conversations. Shows its results instead of the list, and
// keeps them there, beside what they lead to, until the search is closed or a new conversation is begun.

import { t, tn } from "../language/words.js";
import { closestTo, fill, find, pageOf, parse, seek } from "../page/dom.js";
import { SignedOut, read } from "../page/server.js";
import { keepSearch, keptSearch } from "../page/storage.js";
import { isPlain } from "./list-actions.js";

const TYPING_MS = 180;
/** Pages of results that are read to find the open one after a load. */
const MAX_PAGES = 5;

/**
 * The search of the page before, for the one that takes its place without a load.
 * @type {{ typed: string, results: Node[], top: number, step: string | null } | null}
 */
let handedOver = null;

export class ConversationSearch extends HTMLElement {
  #text = find(this, ".search-text", HTMLInputElement);
  #results = find(this, ".search-results", HTMLElement);
  #status = find(this, ".search-status", HTMLElement);
  #list = find(pageOf(this), "conversation-list", HTMLElement);
  #steps = find(this, ".search-steps", HTMLElement);
  /** Where the results are scrolled to: unknown once they are not shown any more. */
  #top = 0;
  /** The button that led to the next page by keyboard: it gets the focus again. @type {string | null} */
  #pressed = null;
  /** @type {number | undefined} */
  #waiting;
  /** Counts requests, so that a late response to an old one is dropped. */
  #asked = 0;

  connectedCallback() {
    this.#text.addEventListener("input", this.#typed);
    this.addEventListener("submit", this.#submitted);
    this.addEventListener("keydown", this.#key);
    this.addEventListener("click", this.#clicked);
    this.#results.addEventListener("scroll", () => (this.#top = this.#results.scrollTop), { passive: true });
    for (const name of [".new-chat", ".sidebar-home"]) {
      const link = seek(pageOf(this), name, HTMLElement);
      link?.addEventListener("click", (event) => isPlain(event) && this.#end());
    }
    find(this, "form", HTMLFormElement).dataset.ready = "";
    this.#text.value ||= keptSearch();
    if (handedOver && handedOver.typed === this.#text.value) this.#takeOver(handedOver);
    else if (this.#text.value.trim()) void this.#askForOpen();
    handedOver = null;
  }

  disconnectedCallback() {
    clearTimeout(this.#waiting);
    this.#asked += 1;
    if (this.#results.hidden) return;
    const results = [...this.#results.childNodes];
    handedOver = { typed: this.#text.value, results, top: this.#top, step: this.#pressed };
  }

  /** @param {NonNullable<typeof handedOver>} before */
  #takeOver({ results, top, step }) {
    this.#open();
    this.#results.replaceChildren(...results);
    this.#results.scrollTop = top;
    this.#place();
    // After the message box, which has the focus on a new page.
    const button = step && seek(this.#steps, `[data-step="${step}"]`, HTMLButtonElement);
    if (button) requestAnimationFrame(() => button.focus());
  }

  /** After a load, the result that is open may be on a later page of them. */
  async #askForOpen() {
    await this.#ask();
    for (let page = 1; page < MAX_PAGES && isResult() && !this.#current; page++) {
      const before = this.#before;
      if (!before) return;
      await this.#ask(before, false);
    }
  }

  get #current() {
    return this.#links().find((link) => link.hasAttribute("aria-current")) ?? null;
  }

  /** Where the next page of results begins. */
  get #before() {
    return seek(this.#results, ".search-more", HTMLElement)?.dataset.before;
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

  /**
   * @param {string} [before] where the next page begins
   * @param {boolean} [isAsked] whether the person asked for it, and goes on with its first result
   */
  async #ask(before, isAsked = true) {
    const mine = ++this.#asked;
    const query = new URLSearchParams({ q: this.#text.value, ...(before ? { before } : {}) });
    try {
      const html = await read(`${this.dataset.address}?${query}`);
      if (mine === this.#asked) this.#show(html, before !== undefined, isAsked);
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
   * @param {boolean} isAsked
   */
  #show(html, isMore, isAsked) {
    this.#open();
    keepSearch(this.#text.value);
    if (!isMore) {
      fill(this.#results, html);
      this.#results.scrollTop = 0;
    } else {
      const before = this.#links().length;
      seek(this.#results, ".search-more", HTMLElement)?.remove();
      this.#results.append(parse(html));
      if (isAsked) this.#links()[before]?.focus();
    }
    this.#say(foundResults(this.#links().length, this.#before !== undefined), false);
    this.#place();
  }

  /** Marks the result that is open, and says which one it is. */
  #place() {
    const links = this.#links();
    for (const link of links) {
      if (isOpen(link)) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const place = links.findIndex((link) => link.hasAttribute("aria-current"));
    const [count, hasMore] = [links.length, this.#before !== undefined];
    if (place >= 0) links[place]?.scrollIntoView({ block: "nearest" });
    this.#steps.hidden = count === 0;
    const [number, all] = [place + 1, hasMore ? `${count}+` : String(count)];
    const sentence = place < 0 ? foundResults(count, hasMore) : t("Result %(number)s of %(all)s", { number, all });
    find(this.#steps, ".search-place", HTMLElement).textContent = sentence;
    for (const button of this.#steps.querySelectorAll("[data-step]")) {
      const isEnd = button.getAttribute("data-step") === "1" ? place === count - 1 && !hasMore : place <= 0;
      if (button instanceof HTMLButtonElement) button.disabled = isEnd;
    }
  }

  /** Opens the result after or before the open one. @param {1 | -1} by */
  async #go(by) {
    const place = this.#links().findIndex((link) => link.hasAttribute("aria-current")) + by;
    if (place === this.#links().length && this.#before) await this.#ask(this.#before, false);
    this.#links()[place]?.click();
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
    keepSearch("");
    this.#steps.hidden = true;
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
    const step = closestTo(event, "[data-step]")?.dataset.step;
    const isByKey = event instanceof MouseEvent && event.detail === 0;
    if (step) this.#pressed = isByKey && this.#steps.contains(document.activeElement) ? step : null;
    else if (closestTo(event, ".search-hit") && event.isTrusted) this.#pressed = null;
    if (step) void this.#go(step === "1" ? 1 : -1);
    if (!closestTo(event, "[data-action=close-search]")) return;
    this.#end();
    this.#text.focus();
  };

  #end() {
    clearTimeout(this.#waiting);
    this.#text.value = "";
    this.#close();
  }

  /** @param {KeyboardEvent} event */
  #key = (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape" && (this.#text.value || !this.#results.hidden)) {
      event.preventDefault();
      this.#end();
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

/** Whether the page was reached by a result. */
function isResult() {
  return new URLSearchParams(location.search).has("at");
}

/** Whether the page shows what it leads to: a message, or the conversation with the title. @param {Element} link */
function isOpen(link) {
  const at = new URLSearchParams(location.search).get("at");
  const to = link instanceof HTMLAnchorElement ? link.pathname : "";
  return to === (at ? `${location.pathname}at/${at}/` : location.pathname);
}

customElements.define("conversation-search", ConversationSearch);
