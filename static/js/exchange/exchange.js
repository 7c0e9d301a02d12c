// One exchange on the page: a question and its answer, and which turn of the server writes it.

import { find, parse, piece, seek } from "../page/dom.js";
import { AnswerParts } from "./answer-parts.js";
import { Thinking } from "./thinking.js";

/** @import { BlockFlushed, BlockGrew, BlockReplaced, Snapshot } from "../models/wire.js" */

/** Server state of an answer that is still being written. */
const RUNNING = "running";

export class Exchange {
  /** @type {WeakMap<Element, Exchange>} */
  static #known = new WeakMap();

  element;
  thinking;
  parts;

  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.thinking = new Thinking(element);
    this.parts = new AnswerParts(element);
    Exchange.#known.set(element, this);
    if (this.isRunning) this.thinking.showWorking(0);
  }

  /**
   * The exchange that an element on the page stands for.
   * @param {HTMLElement} element
   */
  static of(element) {
    return Exchange.#known.get(element) ?? new Exchange(element);
  }

  /**
   * A new one, for a message that is on its way.
   * @param {string} text
   */
  static sending(text) {
    const element = piece("exchange", HTMLElement);
    find(element, ".question-text", HTMLElement).textContent = text;
    element.dataset.sending = "";
    return Exchange.of(element);
  }

  get turn() {
    return this.element.dataset.turn ?? null;
  }

  get question() {
    return this.element.dataset.question ?? null;
  }

  get state() {
    return this.element.dataset.state ?? "";
  }

  get isRunning() {
    return this.state === RUNNING;
  }

  /** Whether the server has not confirmed the message yet. */
  get isSending() {
    return "sending" in this.element.dataset;
  }

  /** @param {string} message id of a question or of a visible part of an answer */
  holds(message) {
    return this.question === message || this.element.querySelector(`[data-message="${CSS.escape(message)}"]`) !== null;
  }

  /**
   * A turn begins to answer this question: the place of the answer is empty again.
   * @param {string} turn
   * @param {string} question
   */
  begin(turn, question) {
    const blank = find(piece("exchange", HTMLElement), ".answer", HTMLElement);
    const old = seek(this.element, ":scope > .answer", HTMLElement);
    if (old) old.replaceWith(blank);
    else this.element.append(blank);
    this.element.dataset.question = question;
    delete this.element.dataset.sending;
    this.#run(turn);
  }

  /**
   * A turn continues this answer: what is shown of it stays.
   * @param {string} turn
   */
  continueWith(turn) {
    find(this.element, ".answer-end", HTMLElement).replaceChildren();
    this.#run(turn);
  }

  /** @param {string} turn */
  #run(turn) {
    this.element.dataset.turn = turn;
    this.element.dataset.state = RUNNING;
    this.thinking.showWorking(0);
  }

  /** @param {BlockReplaced | BlockGrew | BlockFlushed} event more of a message, block by block */
  write(event) {
    this.thinking.hideWorking();
    const { parts } = this;
    const part = parts.part(event.message_id, event.type === "chatui:preamble.delta" ? "preamble" : "final");
    if (event.type === "response.delta.flush") parts.closeBlock(part, event.block, event.html);
    else if ("html" in event) parts.replaceBlock(part, event.block, event.html);
    else parts.growBlock(part, event.block, event.text);
  }

  /**
   * Replaces the whole answer by the server's account of it.
   * @param {Snapshot} snapshot
   */
  showSnapshot({ messages, steps, thought, working, elapsed }) {
    this.element.dataset.state = RUNNING;
    delete this.element.dataset.sending;
    this.thinking.clearSteps();
    find(this.element, ".before", HTMLElement).replaceChildren();
    for (const text of steps ?? []) this.thinking.addStep(text);
    if (typeof thought === "number") this.thinking.showThought(thought);
    this.parts.replaceAll(messages);
    if (working) this.thinking.showWorking(elapsed);
    else this.thinking.hideWorking();
  }

  /** @param {string} state the server's word for how the turn ended */
  end(state) {
    this.element.dataset.state = state;
    this.thinking.hideWorking();
    this.thinking.clearSteps();
  }

  /**
   * Takes question, notice and tools from the server's rendering of this exchange. Blocks that are the same stay as
   * they are. While an answer is being written, the socket alone knows its text; and a rendering that was asked for
   * before the end may arrive after it.
   * @param {string} html
   */
  adopt(html) {
    const fresh = find(parse(html), ".exchange", HTMLElement);
    const editing = this.element.querySelector(".question-editor");
    if (!editing) find(this.element, ".question", HTMLElement).replaceWith(find(fresh, ".question", HTMLElement));
    this.element.dataset.question = fresh.dataset.question ?? "";
    if (fresh.dataset.state === RUNNING) return;
    const answer = seek(fresh, ".answer", HTMLElement);
    if (!answer) return;
    this.parts.adopt(answer);
    // What the reader has opened stays open.
    const before = find(this.element, ".before", HTMLElement);
    if (!before.childElementCount) before.replaceWith(find(answer, ".before", HTMLElement));
    find(this.element, ".answer-end", HTMLElement).replaceWith(find(answer, ".answer-end", HTMLElement));
    this.end(fresh.dataset.state ?? "");
  }
}
