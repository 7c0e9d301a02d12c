// Loads earlier or later exchanges when the reader gets near them or asks for them, without moving what is on the
// screen.

import { t } from "../language/words.js";
import { closestTo, find, parse, seek } from "../page/dom.js";
import { finishAll } from "../page/finishing.js";
import { read } from "../page/server.js";

/** How far from the screen loading begins: about a screen, so that readers seldom wait. */
const NEAR = "800px 0px";
/** @type {Record<string, string>} */
const ADDED = { earlier: t("Earlier messages were added above"), later: t("Later messages were added") };

export class MoreMessages {
  #transcript;
  #scroller;
  #near;
  /** @type {Set<Element>} */
  #watched = new Set();

  /**
   * @param {HTMLElement} transcript
   * @param {HTMLElement} scroller the part of the page that scrolls
   */
  constructor(transcript, scroller) {
    this.#transcript = transcript;
    this.#scroller = scroller;
    this.#near = new IntersectionObserver(this.#came, { root: scroller, rootMargin: NEAR });
  }

  /** Starts loading. Call this once the page is scrolled to where the reader starts. */
  start() {
    new MutationObserver(this.#watch).observe(this.#transcript, { childList: true });
    this.#transcript.addEventListener("click", this.#clicked);
    this.#watch();
  }

  #watch = () => {
    for (const place of this.#watched) {
      if (!place.isConnected) this.#forget(place);
    }
    for (const place of this.#transcript.querySelectorAll(":scope > [data-more]")) {
      if (this.#watched.has(place)) continue;
      this.#watched.add(place);
      this.#near.observe(place);
    }
  };

  /** @param {Element} place that is gone, or loads only on request */
  #forget(place) {
    this.#near.unobserve(place);
    if (!place.isConnected) this.#watched.delete(place);
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #came = (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && target instanceof HTMLElement) void this.#load(target);
    }
  };

  /** @param {Event} event */
  #clicked = (event) => {
    const place = closestTo(event, "[data-more]");
    if (!place || !closestTo(event, ".more-link") || !(event instanceof MouseEvent)) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    void this.#load(place);
  };

  /** @param {HTMLElement} place */
  async #load(place) {
    if (place.ariaBusy === "true") return;
    place.ariaBusy = "true";
    const link = find(place, ".more-link", HTMLElement);
    try {
      const fresh = parse(await read(link.dataset.fragment ?? ""));
      if (place.isConnected) this.#put(place, fresh);
    } catch (error) {
      place.ariaBusy = "false";
      find(place, ".more-problem", HTMLElement).textContent = error instanceof Error ? error.message : "";
      link.textContent = t("Try again");
      this.#forget(place);
    }
  }

  /**
   * @param {HTMLElement} place
   * @param {DocumentFragment} fresh
   */
  #put(place, fresh) {
    const way = place.dataset.more ?? "";
    const hadFocus = place.contains(document.activeElement);
    this.#leaveOutShown(fresh);
    finishAll(fresh);
    const below = way === "earlier" ? place.nextElementSibling : null;
    const before = below?.getBoundingClientRect().top ?? 0;
    const put = [...fresh.children];
    place.replaceWith(...put);
    if (hadFocus) this.#focus(way, put);
    if (below) this.#scroller.scrollTop += below.getBoundingClientRect().top - before;
    if (put.some((element) => element.getAttribute("data-state") === "running")) this.#dispatch("chat:branch", null);
    this.#dispatch("chat:announce", ADDED[way] ?? "");
  }

  /**
   * Messages sent from the middle of a conversation are on the page already: nothing from there on is added again.
   * @param {DocumentFragment} fresh
   */
  #leaveOutShown(fresh) {
    const shown = [...fresh.children].findIndex((child) => {
      const question = child.getAttribute("data-question");
      return question && seek(this.#transcript, `:scope > [data-question="${CSS.escape(question)}"]`, HTMLElement);
    });
    if (shown >= 0) for (const child of [...fresh.children].slice(shown)) child.remove();
  }

  /**
   * The focused link is gone: keyboard users continue at the next one, or at the added exchanges.
   * @param {string} way
   * @param {Element[]} put
   */
  #focus(way, put) {
    const place = way === "earlier" ? put[0] : put.at(-1);
    const link = place ? seek(place, ".more-link", HTMLElement) : null;
    const exchange = way === "earlier" ? put[0] : put.find((element) => element.matches(".exchange"));
    if (link) return link.focus({ preventScroll: true });
    if (!(exchange instanceof HTMLElement)) return;
    exchange.tabIndex = -1;
    exchange.focus({ preventScroll: true });
  }

  /**
   * @param {string} name
   * @param {unknown} detail
   */
  #dispatch(name, detail) {
    this.#transcript.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
