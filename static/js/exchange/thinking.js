// The display of the work before an answer: a line that counts the seconds, the summary's steps, and at the end how
// long it took.

import { t } from "../language/words.js";
import { find, fromTemplate, seek } from "../page/dom.js";

const TICK_MS = 1000;

export class Thinking {
  #exchange;
  /** @type {number | undefined} */
  #ticking;
  #began = 0;
  /** Whether hidden work continues before the answer, so that the line stays beside the text that announces it. */
  #isHidden = false;

  /** @param {HTMLElement} exchange */
  constructor(exchange) {
    this.#exchange = exchange;
  }

  /**
   * Hidden work has begun.
   * @param {number} elapsed milliseconds since the turn began
   * @param {boolean} canEnd whether the person may end it, so that the answer begins
   */
  begin(elapsed, canEnd) {
    this.#isHidden = true;
    this.showWorking(elapsed);
    this.#offerEnd(canEnd);
  }

  /**
   * Text has arrived. Until the answer itself, the line stays above it, where the duration will be shown.
   * @param {string | undefined} kind of the message
   */
  wrote(kind) {
    if (kind === "final" || !this.#isHidden) this.hideWorking();
  }

  /** @param {number} elapsed milliseconds since the turn began */
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
   * The turn waits in the queue.
   * @param {number} place in the queue, from 1; 0 once it waits no more
   * @returns {string | void} the sentence about its place
   */
  showQueued(place) {
    if (place) return this.#say(t("You are number %(place)s in the queue…", { place }));
    this.showWorking(0);
  }

  /** The answer is complete, but the server is slow to store it. */
  showSaving() {
    this.#say(t("Saving…"));
  }

  /** @param {string} sentence to show instead of the seconds */
  #say(sentence) {
    this.hideWorking();
    const line = seek(this.#exchange, ".working", HTMLElement);
    if (!line) return "";
    line.hidden = false;
    return (find(line, ".working-text", HTMLElement).textContent = sentence);
  }

  /** @param {boolean} canEnd */
  #offerEnd(canEnd) {
    const button = seek(this.#exchange, "[data-action=answer-now]", HTMLElement);
    if (button) button.hidden = !canEnd;
  }

  hideWorking() {
    clearInterval(this.#ticking);
    this.#ticking = undefined;
    this.#offerEnd(false);
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
   * The work before the answer is over: folds up the steps into one line above the answer. A continued answer already
   * has that line, which then counts all of the work.
   * @param {number} seconds
   */
  showThought(seconds) {
    const list = seek(this.#exchange, ".steps", HTMLElement);
    const before = find(this.#exchange, ".before", HTMLElement);
    const steps = [...before.querySelectorAll("li"), ...(list?.children ?? [])];
    const isOpen = seek(before, "details[open]", HTMLElement) !== null;
    before.replaceChildren(steps.length ? folded(seconds, steps, isOpen) : plain(seconds));
    if (list) list.hidden = true;
    this.#isHidden = false;
    this.hideWorking();
  }

  clearSteps() {
    const list = seek(this.#exchange, ".steps", HTMLElement);
    if (!list) return;
    list.replaceChildren();
    list.hidden = true;
  }
}

/**
 * @param {number} seconds
 * @param {Element[]} steps
 * @param {boolean} isOpen
 */
function folded(seconds, steps, isOpen) {
  const details = fromTemplate("thought-steps", HTMLDetailsElement);
  find(details, "summary", HTMLElement).textContent = thoughtText(seconds);
  find(details, "ul", HTMLElement).append(...steps);
  details.open = isOpen;
  return details;
}

/** @param {number} seconds */
function plain(seconds) {
  const line = fromTemplate("thought-line", HTMLElement);
  line.textContent = thoughtText(seconds);
  return line;
}

// The texts for how long the model has been working, and for how long it worked before it answered.

/**
 * @param {number} milliseconds since the turn began
 * @returns {string} in English "Working…", "Working… 12 s", "Working… 2 min 5 s"
 */
export function workingText(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 1) return t("Working…");
  if (seconds < 60) return t("Working… %(seconds)s s", { seconds });
  return t("Working… %(minutes)s min %(seconds)s s", parts(seconds));
}

/**
 * @param {number} seconds whole ones, before the answer began
 * @returns {string} in English "Thought for a moment", "Thought for 12 s", "Thought for 2 min 5 s"
 */
export function thoughtText(seconds) {
  if (seconds < 1) return t("Thought for a moment");
  if (seconds < 60) return t("Thought for %(seconds)s s", { seconds });
  return t("Thought for %(minutes)s min %(seconds)s s", parts(seconds));
}

/** @param {number} seconds */
function parts(seconds) {
  return { minutes: Math.floor(seconds / 60), seconds: seconds % 60 };
}
