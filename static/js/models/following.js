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
