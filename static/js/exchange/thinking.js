// The display of the work before an answer: a line that counts the seconds, the summary's steps, and at the end how
// long it took.

import { find, piece, seek } from "../page/dom.js";
import { thoughtText, workingText } from "../models/elapsed.js";

const TICK_MS = 1000;

export class Thinking {
  #exchange;
  /** @type {number | undefined} */
  #ticking;
  #began = 0;

  /** @param {HTMLElement} exchange */
  constructor(exchange) {
    this.#exchange = exchange;
  }

  /**
   * Hidden work has begun.
   * @param {number} elapsed milliseconds since the turn began
   */
  showWorking(elapsed) {
    const line = seek(this.#exchange, ".working", HTMLElement);
    if (!line) return;
    this.#began = performance.now() - elapsed;
    line.hidden = false;
    this.#tick();
    clearInterval(this.#ticking);
    this.#ticking = setInterval(this.#tick, TICK_MS);
  }

  /**
   * The turn waits for others.
   * @param {number} place in the queue, from 1; 0 once it waits no more
   */
  showQueued(place) {
    if (place) this.#say(`You are number ${place} in the queue…`);
    else this.showWorking(0);
  }

  /** The answer is whole, but the server is slow to store it. */
  showSaving() {
    this.#say("Saving…");
  }

  /** @param {string} sentence in the place of the seconds */
  #say(sentence) {
    this.hideWorking();
    const line = seek(this.#exchange, ".working", HTMLElement);
    if (!line) return;
    line.hidden = false;
    find(line, ".working-text", HTMLElement).textContent = sentence;
  }

  hideWorking() {
    clearInterval(this.#ticking);
    this.#ticking = undefined;
    const line = seek(this.#exchange, ".working", HTMLElement);
    if (line) line.hidden = true;
  }

  #tick = () => {
    const text = seek(this.#exchange, ".working-text", HTMLElement);
    if (!this.#exchange.isConnected && this.#ticking !== undefined) this.hideWorking();
    else if (text) text.textContent = workingText(performance.now() - this.#began);
  };

  /**
   * One more line of the summary. It is not announced to screen readers, which find it in the list.
   * @param {string} text
   */
  addStep(text) {
    const list = seek(this.#exchange, ".steps", HTMLElement);
    if (!list) return;
    const item = document.createElement("li");
    item.dir = "auto";
    item.textContent = text;
    list.append(item);
    list.hidden = false;
  }

  /**
   * The work before the answer is over: folds up the steps into one line above the answer.
   * @param {number} seconds
   */
  showThought(seconds) {
    const list = seek(this.#exchange, ".steps", HTMLElement);
    const steps = list ? [...list.children] : [];
    const before = find(this.#exchange, ".before", HTMLElement);
    if (steps.length) {
      const details = piece("thought-steps", HTMLElement);
      find(details, "summary", HTMLElement).textContent = thoughtText(seconds);
      find(details, "ul", HTMLElement).append(...steps);
      before.append(details);
    } else {
      const line = piece("thought-line", HTMLElement);
      line.textContent = thoughtText(seconds);
      before.append(line);
    }
    if (list) list.hidden = true;
    this.hideWorking();
  }

  clearSteps() {
    const list = seek(this.#exchange, ".steps", HTMLElement);
    if (!list) return;
    list.replaceChildren();
    list.hidden = true;
  }
}
