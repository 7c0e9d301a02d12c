// The visible messages of an answer on the page. They are written block by block.

import { arrange, find, fromTemplate, seek, takeOver } from "../page/dom.js";
import { finishAll, finishBlock, hasGrown, showBlock, showsSame } from "../page/finishing.js";
import { moment } from "../language/words.js";

/** @import { AnswerRow as Values, PartKind, MessageSoFar } from "../wire/wire.js" */

export class AnswerParts {
  #exchange;

  /** @param {HTMLElement} exchange */
  constructor(exchange) {
    this.#exchange = exchange;
  }

  /**
   * The element that shows a message; a new one where there is none.
   * @param {string} message
   * @param {PartKind} kind
   * @returns {HTMLElement}
   */
  part(message, kind) {
    const known = this.#find(message);
    if (known) return known;
    this.finishLast();
    const part = fromTemplate("part", HTMLElement);
    part.classList.add(`part-${kind}`);
    part.dataset.message = message;
    part.dataset.kind = kind;
    part.id = `m-${message}`;
    this.#parts.append(part);
    return part;
  }

  /**
   * A message replaces the cut one that it continues: final blocks stay, the rest is written again.
   * @param {string} cut
   * @param {string} message
   * @param {number} blocks how many are final
   * @returns {boolean} false when the cut message is not shown here
   */
  continueMessage(cut, message, blocks) {
    const part = this.#find(cut);
    if (!part) return false;
    part.dataset.message = message;
    part.id = `m-${message}`;
    for (const block of [...part.children].slice(blocks)) block.remove();
    return true;
  }

  /**
   * A finished message turned out to be of another kind. Its text does not change.
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
   * A message turned out not to be visible: removes it from the page.
   * @param {string} message
   */
  withdraw(message) {
    this.#find(message)?.remove();
  }

  /**
   * Shows the current form of the open block.
   * @param {HTMLElement} part
   * @param {number} index
   * @param {string} html
   */
  replaceBlock(part, index, html) {
    showBlock(blockOf(part, index), html);
  }

  /**
   * Appends text to the open block's innermost last code or pre element.
   * @param {HTMLElement} part
   * @param {number} index
   * @param {string} text
   */
  growBlock(part, index, text) {
    const block = blockOf(part, index);
    const places = block.querySelectorAll("pre, code");
    const place = places[places.length - 1];
    if (!place) return;
    hasGrown(block);
    if (place.lastChild instanceof Text) place.lastChild.appendData(text);
    else place.append(text);
  }

  /**
   * The block is final, or a later link definition changed it.
   * @param {HTMLElement} part
   * @param {number} index
   * @param {string} html
   */
  closeBlock(part, index, html) {
    const block = blockOf(part, index);
    showBlock(block, html);
    finishBlock(block);
  }

  /**
   * Shows the messages of a snapshot and no others. The last block of the last message may still be open.
   * @param {MessageSoFar[]} messages
   */
  replaceAll(messages) {
    const shown = messages.map(({ message_id: message, kind, blocks }, at) => {
      const part = this.#find(message) ?? this.part(message, kind);
      if (part.dataset.kind !== kind) this.relabel(message, kind);
      for (const block of [...part.children].slice(blocks.length)) block.remove();
      blocks.forEach((html, index) => {
        const isOpen = at === messages.length - 1 && index === blocks.length - 1;
        if (isOpen) this.replaceBlock(part, index, html);
        else this.closeBlock(part, index, html);
      });
      return part;
    });
    arrange(this.#parts, shown);
  }

  /** Nothing more comes for the last message: its last block is final, even if a snapshot showed it as open. */
  finishLast() {
    const block = this.#parts.lastElementChild?.lastElementChild;
    if (block?.matches("[data-block]")) finishBlock(block);
  }

  /**
   * Takes the messages from the server's rendering. Only blocks that show the same already stay as they are.
   * @param {HTMLElement} answer
   */
  adopt(answer) {
    const fresh = [...find(answer, ".parts", HTMLElement).children];
    arrange(this.#parts, fresh.map((part) => {
      const known = this.#find(part.getAttribute("data-message") ?? "");
      if (!known) return part;
      takeOver(known, part, showsSame);
      return known;
    }));
    finishAll(this.#parts);
  }

  get #parts() {
    return find(this.#exchange, ".parts", HTMLElement);
  }

  /** @param {string} message */
  #find(message) {
    return seek(this.#parts, `:scope > [data-message="${CSS.escape(message)}"]`, HTMLElement);
  }
}

/**
 * @param {HTMLElement} part
 * @param {number} index
 * @returns {HTMLElement}
 */
function blockOf(part, index) {
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

// <answer-row>: the buttons, names and time below an answer. Where the server puts one, it is the page's template with
// the values of that answer.

class AnswerRow extends HTMLElement {
  connectedCallback() {
    fillRow(this);
  }
}

/** The place of a row, which is filled once it is on the page. @param {Values} values */
export function rowOf(values) {
  const place = document.createElement("answer-row");
  place.dataset.row = JSON.stringify(values);
  return place;
}

/** @param {Element} place with the values of a row; one that is filled stays as it is */
export function fillRow(place) {
  const values = place.getAttribute("data-row");
  if (!values) return;
  /** @type {Values} */
  const { has, finals, facts, at, verdict } = JSON.parse(values);
  const row = fromTemplate("answer-row", HTMLElement);
  for (const each of row.querySelectorAll("[data-only]")) {
    if (!has.includes(each.getAttribute("data-only") ?? "")) each.remove();
  }
  const copy = find(row, "[data-action=copy-answer]", HTMLElement);
  copy.replaceWith(...finals.map((path) => {
    const button = /** @type {HTMLElement} */ (copy.cloneNode(true));
    button.dataset.source = `${path}text/`;
    return button;
  }));
  seek(row, ".thumbs", HTMLElement)?.setAttribute("data-rating", `${finals.at(-1)}rating/`);
  for (const thumb of row.querySelectorAll("[data-verdict]")) {
    thumb.setAttribute("aria-pressed", String(thumb.getAttribute("data-verdict") === verdict));
  }
  const names = find(row, ".answer-facts", HTMLElement);
  names.prepend(...facts.map((fact) => Object.assign(document.createElement("span"), { textContent: fact })));
  if (at) find(row, "time", HTMLTimeElement).dateTime = at;
  else find(row, "answer-time", HTMLElement).remove();
  // The switch between versions is a form of the server's, which works without scripts.
  const before = place.previousElementSibling;
  if (before?.matches(".siblings")) names.before(before);
  place.replaceWith(row);
}

customElements.define("answer-row", AnswerRow);

// <answer-time>: when an answer was written, in the reader's time zone.

class AnswerTime extends HTMLElement {
  connectedCallback() {
    const time = find(this, "time", HTMLTimeElement);
    time.textContent = moment(time.dateTime);
  }
}

customElements.define("answer-time", AnswerTime);
