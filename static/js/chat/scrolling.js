// Keeps the newest text in view until the reader scrolls up, edits a question or compares answers; then shows a button
// that leads back to it.

import { find, pageOf } from "../page/dom.js";

/** @import { ChatTranscript } from "./transcript.js" */

export class Scrolling {
  #following = new Following();
  #scroller;
  #content;
  #jump;

  /**
   * @param {HTMLElement} scroller
   * @param {ChatTranscript} content
   */
  constructor(scroller, content) {
    this.#scroller = scroller;
    this.#content = content;
    this.#jump = find(pageOf(scroller), ".jump", HTMLElement);
    const observer = new ResizeObserver(this.#resized);
    observer.observe(content);
    observer.observe(scroller);
    scroller.addEventListener("scroll", this.#scrolled, { passive: true });
    for (const name of ["chat:editing", "chat:comparing", "chat:placed"]) {
      content.addEventListener(name, () => this.#following.leave());
    }
    content.addEventListener("chat:edited", () => this.toEnd());
  }

  /** Scrolls to the newest text, and follows it from now on. */
  toEnd() {
    this.#following.resume();
    this.#settle();
  }

  /**
   * Scrolls to the message that the address names, such as after a search.
   * @param {(message: string) => void} lead called with a message that is not on the page
   * @returns {boolean} whether it names a message that is on the page
   */
  toFoundMessage(lead) {
    const [, message] = /^#m-([0-9a-f-]{36})$/.exec(location.hash) ?? [];
    if (!message) return false;
    const element = document.getElementById(`m-${message}`);
    if (element) this.to(element);
    else if (new URLSearchParams(location.search).get("at") !== message) lead(message);
    return element !== null;
  }

  /**
   * Scrolls to an element instead, and stays there.
   * @param {Element} element
   * @param {"start" | "center"} [block] where it is then
   */
  to(element, block = "start") {
    this.#following.leave();
    element.scrollIntoView({ block });
    this.#show();
  }

  #resized = () => {
    // The reader may have scrolled up just now: their scroll event comes later, and would find the page at its end
    // again.
    this.#following.resized(this.#position);
    this.#settle();
  };

  #settle() {
    // If later messages are not loaded yet, the end of the page is not the newest text.
    if (!this.#content.reachesEnd) this.#following.leave();
    // The welcome text, shown alone while there is no message, starts at its top.
    if (this.#following.on && this.#content.clientHeight) this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#show();
  }

  get #position() {
    const { scrollTop: top, scrollHeight: height, clientHeight: view } = this.#scroller;
    return { top, height, view };
  }

  #scrolled = () => {
    this.#following.scrolled(this.#position);
    if (!this.#content.reachesEnd) this.#following.leave();
    this.#show();
  };

  #show() {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const isAtEnd = this.#content.reachesEnd && scrollHeight - scrollTop - clientHeight < 1;
    const isHidden = this.#following.on || isAtEnd;
    if (this.#jump.hidden !== isHidden) this.#jump.hidden = isHidden;
  }
}

// Decides whether the page follows the newest text: until the reader scrolls up, and again once they are back at the
// end.

/**
 * @typedef {{ top: number, height: number, view: number }} Position scroll offset, content height, visible height; CSS
 * pixels
 */

const AT_END_PX = 40;
const JITTER_PX = 2;

export class Following {
  #on = true;
  #last = /** @type {Position} */ ({ top: 0, height: 0, view: 0 });

  get on() {
    return this.#on;
  }

  /** The reader asked for the newest text, by the button or by sending a message. */
  resume() {
    this.#on = true;
  }

  /** The reader moved to another place. */
  leave() {
    this.#on = false;
  }

  /**
   * The content or the view changed its size. Even then, the reader may have caused a lower offset.
   * @param {Position} now
   */
  resized(now) {
    if (this.#isBack(now)) this.#on = false;
  }

  /**
   * The scroll position changed. Shrinking content and a growing view also lower the offset; only a lower offset
   * without either of them means that the reader scrolled up.
   * @param {Position} now
   */
  scrolled(now) {
    const { top } = this.#last;
    const isBack = this.#isBack(now);
    this.#last = now;
    const distance = now.height - now.top - now.view;
    if (distance <= JITTER_PX) this.#on = true;
    else if (isBack) this.#on = false;
    else if (distance <= AT_END_PX && now.top > top) this.#on = true;
  }

  /** @param {Position} now */
  #isBack(now) {
    const { top, height, view } = this.#last;
    return now.top < top - JITTER_PX && now.height >= height && now.view <= view;
  }
}
