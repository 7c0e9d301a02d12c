// The visible messages of an answer on the page. They are written block by block.

import { decorateCode } from "../page/code.js";
import { fill, find, fromTemplate, seek } from "../page/dom.js";
import { finishAll, finishBlock, keepShortCells } from "../page/finishing.js";
import { moment } from "../language/words.js";

/** @import { PartKind, MessageSoFar } from "../wire/wire.js" */

export class AnswerParts {
  #exchange;
  /**
   * The HTML that each block was last filled with. A block is not filled with the same again: that keeps the reader's
   * selection.
   * @type {WeakMap<Element, string>}
   */
  #shown = new WeakMap();

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
    find(this.#exchange, ".parts", HTMLElement).append(part);
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
    const block = blockOf(part, index);
    if (this.#shown.get(block) === html) return;
    fill(block, html);
    this.#shown.set(block, html);
    decorateCode(block);
    keepShortCells(block);
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
    this.#shown.delete(block);
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
    if (this.#shown.get(block) !== html) fill(block, html);
    this.#shown.delete(block);
    finishBlock(block);
  }

  /**
   * Replaces everything by the messages of a snapshot. The last block of the last message may still be open.
   * @param {MessageSoFar[]} messages
   */
  replaceAll(messages) {
    find(this.#exchange, ".parts", HTMLElement).replaceChildren();
    for (const message of messages) {
      const part = this.part(message.message_id, message.kind);
      const isLastPart = message === messages[messages.length - 1];
      message.blocks.forEach((html, index) => {
        if (isLastPart && index === message.blocks.length - 1) this.replaceBlock(part, index, html);
        else this.closeBlock(part, index, html);
      });
    }
  }

  /** Nothing more comes for the last message: its last block is final, even if a snapshot showed it as open. */
  finishLast() {
    const block = find(this.#exchange, ".parts", HTMLElement).lastElementChild?.lastElementChild;
    if (block && this.#shown.delete(block)) finishBlock(block);
  }

  /**
   * Takes the messages from the server's rendering. Elements that already show the same stay.
   * @param {HTMLElement} answer
   */
  adopt(answer) {
    const fresh = find(answer, ".parts", HTMLElement);
    const mine = find(this.#exchange, ".parts", HTMLElement);
    const isSame = outline(fresh) === outline(mine);
    if (!isSame) mine.replaceWith(fresh);
    finishAll(isSame ? mine : fresh);
  }

  /** @param {string} message */
  #find(message) {
    return seek(this.#exchange, `.part[data-message="${CSS.escape(message)}"]`, HTMLElement);
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

/**
 * Which messages and how many blocks of each are shown.
 * @param {HTMLElement} parts
 */
function outline(parts) {
  return [...parts.children].map((part) => `${part.getAttribute("data-message")}:${part.children.length}`).join(" ");
}

// <answer-time>: when an answer was written, in the reader's time zone. The server renders it in its own.

class AnswerTime extends HTMLElement {
  connectedCallback() {
    const time = find(this, "time", HTMLTimeElement);
    time.textContent = moment(time.dateTime);
  }
}

customElements.define("answer-time", AnswerTime);
