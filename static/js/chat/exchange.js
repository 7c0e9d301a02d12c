// One exchange on the page: a question and its answer, as it is written block by block.

import { decorateCode } from "../page/code.js";
import { fill, find, parse, piece, seek } from "../page/dom.js";
import { finishAll, finishBlock } from "../page/finishing.js";
import { thoughtText, workingText } from "../models/elapsed.js";

/** @import { PartKind, SnapshotMessage } from "../models/protocol.js" */

const TICK_MS = 1000;
/** Server states of an answer that is still being written. */
const RUNNING = "running";

export class Exchange {
  /** @type {WeakMap<Element, Exchange>} */
  static #known = new WeakMap();

  element;
  /** The HTML that each block was last filled with: the same again is left alone, and a reader's selection with it.
   * @type {WeakMap<Element, string>} */
  #shown = new WeakMap();
  /** @type {number | undefined} */
  #ticking;
  #began = 0;

  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    Exchange.#known.set(element, this);
    if (this.isRunning) this.working(0);
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
    this.element.dataset.turn = turn;
    this.element.dataset.question = question;
    this.element.dataset.state = RUNNING;
    delete this.element.dataset.sending;
    this.working(0);
  }

  /**
   * A turn goes on with this answer: what is shown of it stays.
   * @param {string} turn
   */
  goOn(turn) {
    this.element.dataset.turn = turn;
    this.element.dataset.state = RUNNING;
    find(this.element, ".answer-end", HTMLElement).replaceChildren();
    this.working(0);
  }

  /**
   * Hidden work is going on: one calm line, which counts the seconds by itself.
   * @param {number} elapsed milliseconds since the turn began
   */
  working(elapsed) {
    const line = seek(this.element, ".working", HTMLElement);
    if (!line) return;
    this.#began = performance.now() - elapsed;
    line.hidden = false;
    this.#tick();
    clearInterval(this.#ticking);
    this.#ticking = setInterval(this.#tick, TICK_MS);
  }

  rest() {
    clearInterval(this.#ticking);
    this.#ticking = undefined;
    const line = seek(this.element, ".working", HTMLElement);
    if (line) line.hidden = true;
  }

  #tick = () => {
    const text = seek(this.element, ".working-text", HTMLElement);
    if (!this.element.isConnected && this.#ticking !== undefined) this.rest();
    else if (text) text.textContent = workingText(performance.now() - this.#began);
  };

  /**
   * One more line of what was done. Not announced: the list is there for who looks.
   * @param {string} text
   */
  step(text) {
    const list = seek(this.element, ".steps", HTMLElement);
    if (!list) return;
    const item = document.createElement("li");
    item.dir = "auto";
    item.textContent = text;
    list.append(item);
    list.hidden = false;
  }

  /**
   * The work before the answer is over: its steps fold up into one line above the answer.
   * @param {number} seconds
   */
  thought(seconds) {
    const list = seek(this.element, ".steps", HTMLElement);
    const steps = list ? [...list.children] : [];
    const before = find(this.element, ".before", HTMLElement);
    if (steps.length) {
      const details = piece("thought", HTMLElement);
      find(details, "summary", HTMLElement).textContent = thoughtText(seconds);
      find(details, "ul", HTMLElement).append(...steps);
      before.append(details);
    } else {
      const line = document.createElement("p");
      line.className = "thought";
      line.textContent = thoughtText(seconds);
      before.append(line);
    }
    if (list) list.hidden = true;
    this.rest();
  }

  /**
   * @param {string} message
   * @param {PartKind} kind
   * @returns {HTMLElement}
   */
  part(message, kind) {
    const known = seek(this.element, `.part[data-message="${CSS.escape(message)}"]`, HTMLElement);
    if (known) return known;
    const part = document.createElement("div");
    part.className = `part part-${kind} prose`;
    part.dataset.message = message;
    part.dataset.kind = kind;
    find(this.element, ".parts", HTMLElement).append(part);
    return part;
  }

  /**
   * A message takes the place of the cut one that it goes on from: what is final of that stays, the rest is written again.
   * @param {string} cut
   * @param {string} message
   * @param {number} blocks how many are final
   * @returns {boolean} false when the cut message is not shown here
   */
  takeOver(cut, message, blocks) {
    const part = seek(this.element, `.part[data-message="${CSS.escape(cut)}"]`, HTMLElement);
    if (!part) return false;
    part.dataset.message = message;
    part.id = `m-${message}`;
    for (const block of [...part.children].slice(blocks)) block.remove();
    return true;
  }

  /**
   * A message that has ended turned out to be of another kind. Its text stays as it is.
   * @param {string} message
   * @param {PartKind} kind
   */
  relabel(message, kind) {
    const part = this.part(message, kind);
    part.classList.remove(`part-${part.dataset.kind}`);
    part.classList.add(`part-${kind}`);
    part.dataset.kind = kind;
  }

  /**
   * Shows the open block as it is now.
   * @param {HTMLElement} part
   * @param {number} index
   * @param {string} html
   */
  open(part, index, html) {
    const block = this.#block(part, index);
    if (this.#shown.get(block) === html) return;
    fill(block, html);
    this.#shown.set(block, html);
    decorateCode(block);
  }

  /**
   * Appends text to the open block's innermost last code or pre element.
   * @param {HTMLElement} part
   * @param {number} index
   * @param {string} text
   */
  append(part, index, text) {
    const block = this.#block(part, index);
    const places = block.querySelectorAll("pre, code");
    const place = places[places.length - 1];
    if (!place) return;
    this.#shown.delete(block);
    if (place.lastChild instanceof Text) place.lastChild.appendData(text);
    else place.append(text);
  }

  /**
   * The block is final, or a late definition changed it.
   * @param {HTMLElement} part
   * @param {number} index
   * @param {string} html
   */
  close(part, index, html) {
    const block = this.#block(part, index);
    if (this.#shown.get(block) !== html) fill(block, html);
    this.#shown.delete(block);
    finishBlock(block);
  }

  /**
   * Replaces the whole answer by the server's account of it. The last block of the last message may still be open.
   * @param {SnapshotMessage[]} messages
   * @param {string[]} steps
   * @param {number | null} thought seconds, once the answer has begun
   */
  resume(messages, steps, thought) {
    find(this.element, ".parts", HTMLElement).replaceChildren();
    this.#clearSteps();
    find(this.element, ".before", HTMLElement).replaceChildren();
    for (const text of steps) this.step(text);
    if (thought !== null) this.thought(thought);
    for (const message of messages) {
      const part = this.part(message.message_id, message.kind);
      const isLastPart = message === messages[messages.length - 1];
      message.blocks.forEach((html, index) => {
        if (isLastPart && index === message.blocks.length - 1) this.open(part, index, html);
        else this.close(part, index, html);
      });
    }
  }

  /** @param {string} state the server's word for how the turn ended */
  end(state) {
    this.element.dataset.state = state;
    this.rest();
    this.#clearSteps();
  }

  #clearSteps() {
    const list = seek(this.element, ".steps", HTMLElement);
    if (!list) return;
    list.replaceChildren();
    list.hidden = true;
  }

  /**
   * Takes question, notice and tools from the server's rendering of this exchange. Blocks that are the same stay as they are.
   * Of an answer that runs the socket alone knows; and one that was fetched while it ran may come when it has ended.
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
    const before = find(this.element, ".before", HTMLElement);
    const parts = find(answer, ".parts", HTMLElement);
    const mine = find(this.element, ".parts", HTMLElement);
    if (outline(parts) === outline(mine)) {
      finishAll(mine);
    } else {
      mine.replaceWith(parts);
      finishAll(parts);
    }
    // What the reader has opened stays open.
    if (!before.childElementCount) before.replaceWith(find(answer, ".before", HTMLElement));
    find(this.element, ".answer-end", HTMLElement).replaceWith(find(answer, ".answer-end", HTMLElement));
    this.end(fresh.dataset.state ?? "");
  }

  /**
   * @param {HTMLElement} part
   * @param {number} index
   * @returns {HTMLElement}
   */
  #block(part, index) {
    const last = part.lastElementChild;
    if (last instanceof HTMLElement && last.dataset.block === String(index)) return last;
    const known = seek(part, `:scope > [data-block="${index}"]`, HTMLElement);
    if (known) return known;
    const block = document.createElement("div");
    block.className = "place";
    block.dataset.block = String(index);
    part.append(block);
    return block;
  }
}

/**
 * Which messages and how many blocks of each are shown.
 * @param {HTMLElement} parts
 */
function outline(parts) {
  return [...parts.children].map((part) => `${part.getAttribute("data-message")}:${part.children.length}`).join(" ");
}
