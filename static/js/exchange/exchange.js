// One exchange on the page: a question and its answer.

import { find, fromTemplate, seek, takeOver } from "../page/dom.js";
import { AnswerParts, fillRow } from "./answer-parts.js";
import { toggleFold } from "./question.js";
import { Thinking } from "./thinking.js";

/** @import { BlockFlushed, BlockGrew, BlockReplaced, PartKind, Snapshot } from "../wire/wire.js" */

/** The server's state for an answer that is still being written. */
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
    if (this.isRunning && !this.isUnsent) this.thinking.showWorking(0);
  }

  /** The exchange that belongs to an element on the page. @param {HTMLElement} element */
  static of(element) {
    return Exchange.#known.get(element) ?? new Exchange(element);
  }

  /**
   * A new exchange, for a message that is being sent.
   * @param {string} text
   */
  static sending(text) {
    const element = fromTemplate("exchange", HTMLElement);
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

  /** Whether the message waits for the connection. */
  get isUnsent() {
    return "unsent" in this.element.dataset;
  }

  /** Whether the question is shown as the server renders it, with its buttons. */
  get isQuestionWhole() {
    return seek(this.element, ".question [data-action=edit], .question-editor", HTMLElement) !== null;
  }

  /**
   * There is no connection to send the message over: shows that, and stops showing work on it.
   * @param {boolean} isTaken whether it was sent before the connection was lost: then it cannot be cancelled
   */
  hold(isTaken) {
    if (this.isUnsent) return;
    this.element.dataset.unsent = "";
    this.thinking.hideWorking();
    find(this.element, ".question", HTMLElement).append(fromTemplate(isTaken ? "unconfirmed" : "unsent", HTMLElement));
  }

  /** The message is on its way. */
  letGo() {
    if (!this.isUnsent) return;
    delete this.element.dataset.unsent;
    seek(this.element, ".unsent", HTMLElement)?.remove();
    this.thinking.showWorking(0);
  }

  /** @param {string} message id of a question or of a visible part of an answer */
  holds(message) {
    return this.question === message || this.element.querySelector(`[data-message="${CSS.escape(message)}"]`) !== null;
  }

  /**
   * A turn begins to answer this question: clears the old answer.
   * @param {string} turn
   * @param {string} question
   */
  begin(turn, question) {
    const blank = find(fromTemplate("exchange", HTMLElement), ".answer", HTMLElement);
    const old = seek(this.element, ":scope > .answer", HTMLElement);
    if (old) old.replaceWith(blank);
    else this.element.append(blank);
    this.element.dataset.question = question;
    delete this.element.dataset.sending;
    this.#run(turn);
  }

  /**
   * A turn continues this answer: what is already shown stays.
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
    this.thinking.start();
  }

  /** A message begins. @param {string} message @param {PartKind} kind */
  open(message, kind) {
    this.parts.part(message, kind);
    this.thinking.opened(kind);
  }

  /** @param {BlockReplaced | BlockGrew | BlockFlushed} event more of a message, block by block */
  write(event) {
    const part = this.parts.part(event.message_id, event.type === "chatui:preamble.delta" ? "preamble" : "final");
    this.thinking.wrote(part.dataset.kind);
    if (event.type === "response.delta.flush") this.parts.closeBlock(part, event.block, event.html);
    else if ("html" in event) this.parts.replaceBlock(part, event.block, event.html);
    else this.parts.growBlock(part, event.block, event.text);
  }

  /**
   * Replaces the whole answer by a snapshot.
   * @param {Snapshot} snapshot
   */
  showSnapshot(snapshot) {
    const { messages, steps, thought } = snapshot;
    this.element.dataset.state = RUNNING;
    delete this.element.dataset.sending;
    const isOpen = seek(this.element, ".before details[open]", HTMLElement) !== null;
    // A process of the release before, which may run the turn until it is restarted, sends free text.
    this.thinking.showAgain(steps.filter((line) => line.sentences));
    if (typeof thought === "number") {
      // Until the answer begins, the text above belongs to the answer that is continued.
      find(this.element, ".before", HTMLElement).replaceChildren();
      this.thinking.showThought(thought);
      if (isOpen) seek(this.element, ".before details", HTMLElement)?.setAttribute("open", "");
    }
    this.parts.replaceAll(messages);
    this.thinking.showState(snapshot);
  }

  /**
   * @param {string} state how the turn ended, as the server names it
   * @param {Node | null} [below] what is shown below the answer
   */
  end(state, below) {
    this.element.dataset.state = state;
    this.parts.finishLast();
    this.thinking.hideWorking();
    if (below) find(this.element, ".answer-end", HTMLElement).replaceChildren(below);
    document.dispatchEvent(new CustomEvent("chat:waits"));
  }

  /** @param {DocumentFragment | Element} source holds the question as the server shows it */
  showQuestion(source) {
    const mine = seek(this.element, ".question", HTMLElement);
    const fresh = seek(source, ".question", HTMLElement);
    if (!mine || !fresh || seek(mine, ".question-editor", HTMLElement)) return;
    const wasOpen = mine.classList.contains("question-open");
    takeOver(mine, fresh);
    const fold = wasOpen && seek(mine, "[data-action=fold]", HTMLElement);
    if (fold) toggleFold(fold);
  }

  /**
   * Takes question, answer, notice and tools from the server's rendering of this exchange. What is the same stays.
   * While an answer is written, only the socket has its text, and a rendering from before its end may arrive later.
   * @param {HTMLElement} fresh
   */
  adopt(fresh) {
    this.showQuestion(fresh);
    this.element.dataset.question = fresh.dataset.question ?? "";
    if (fresh.dataset.state === RUNNING) return;
    const answer = seek(fresh, ".answer", HTMLElement);
    if (!answer) return;
    this.parts.adopt(answer);
    for (const row of answer.querySelectorAll("answer-row")) fillRow(row);
    for (const name of [".before", ".approvals", ".answer-end"]) {
      takeOver(find(this.element, name, HTMLElement), find(answer, name, HTMLElement));
    }
    noteContext(this.element, fresh.dataset.context, fresh.dataset.leftOut);
    this.end(fresh.dataset.state ?? "");
  }
}

// The server's message below an unfinished answer.

/**
 * Null if there is none. The failure number after the message is for support, and is not read out.
 * @param {Exchange | null} exchange
 */
export function noticeOf(exchange) {
  const text = exchange && seek(exchange.element, ".notice-text", HTMLElement);
  return text?.firstChild?.textContent?.trim() || null;
}

// How full the model's context was after an answer: stored on the exchange's element, for "../composer/composer.js" to
// show.

/**
 * @param {HTMLElement} exchange
 * @param {string | number | null | undefined} percent null if unknown
 * @param {string | number | null | undefined} leftOut how many of the oldest questions the model was not shown
 */
export function noteContext(exchange, percent, leftOut) {
  note(exchange, "context", percent);
  note(exchange, "leftOut", leftOut);
}

/**
 * @param {HTMLElement} exchange
 * @param {"context" | "leftOut"} name
 * @param {string | number | null | undefined} value
 */
function note(exchange, name, value) {
  if (value) exchange.dataset[name] = String(value);
  else delete exchange.dataset[name];
}

// Shows how an answer is rated.

/**
 * @param {string} message the answer's id
 * @param {string | undefined} verdict "up", "down" or nothing
 */
export function showRating(message, verdict) {
  for (const thumb of document.querySelectorAll(`[data-rating*="/${CSS.escape(message)}/"] > button`)) {
    thumb.setAttribute("aria-pressed", String(thumb.getAttribute("data-verdict") === verdict));
  }
}
