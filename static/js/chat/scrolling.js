// Keeps the newest text in view until the reader scrolls up; then shows a button that leads back to it.

import { Following } from "../models/following.js";

export class Scrolling {
  #following = new Following();
  #scroller;
  #jump;

  /**
   * @param {HTMLElement} scroller
   * @param {HTMLElement} content
   * @param {HTMLElement} jump the button that leads back to the newest text
   */
  constructor(scroller, content, jump) {
    this.#scroller = scroller;
    this.#jump = jump;
    const observer = new ResizeObserver(this.#settle);
    observer.observe(content);
    observer.observe(scroller);
    scroller.addEventListener("scroll", this.#scrolled, { passive: true });
    jump.addEventListener("click", () => this.toEnd());
  }

  /** Scrolls to the newest text, and follows it from now on. */
  toEnd() {
    this.#following.resume();
    this.#settle();
  }

  /**
   * Scrolls to an element instead, and stays there.
   * @param {Element} element
   */
  to(element) {
    this.#following.leave();
    element.scrollIntoView({ block: "start" });
    this.#show();
  }

  #settle = () => {
    if (this.#following.on) this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#show();
  };

  #scrolled = () => {
    const { scrollTop: top, scrollHeight: height, clientHeight: view } = this.#scroller;
    this.#following.scrolled({ top, height, view });
    this.#show();
  };

  #show() {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    this.#jump.hidden = this.#following.on || scrollHeight - scrollTop - clientHeight < 1;
  }
}
