// Whether the page follows the newest text: it does until the reader scrolls up, and again once the reader is back at
// the end.

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

  /** The reader goes to a place of their own. */
  leave() {
    this.#on = false;
  }

  /**
   * The scroll position changed. Content that shrinks or a view that grows also lowers the offset; only a lower offset
   * with neither of them is a reader who scrolls up.
   * @param {Position} now
   */
  scrolled(now) {
    const last = this.#last;
    this.#last = now;
    const distance = now.height - now.top - now.view;
    if (distance <= JITTER_PX) this.#on = true;
    else if (now.top < last.top - JITTER_PX && now.height >= last.height && now.view <= last.view) this.#on = false;
    else if (distance <= AT_END_PX && now.top > last.top) this.#on = true;
  }
}
