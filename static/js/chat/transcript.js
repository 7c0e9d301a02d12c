// <chat-transcript>: the list of exchanges on the page. Applies the server's events about turns.

import { arrange, seek } from "../page/dom.js";
import { finishAll } from "../page/finishing.js";
import { Exchange } from "../exchange/exchange.js";
import { ExchangeButtons, listenForVersions } from "../exchange/buttons.js";

/** @import { TurnCreated } from "../wire/wire.js" */

/** @typedef {Pick<TurnCreated, "turn" | "question" | "after" | "kind" | "continued_turn">} TurnStart */
/** @typedef {TurnStart & Partial<TurnCreated> & { replaces?: string }} TurnBeginning `replaces`: the edited question */

export class ChatTranscript extends HTMLElement {
  /** The messages that are being sent, by client id. @type {Map<string, Exchange>} */
  #sending = new Map();
  #buttons = new ExchangeButtons(this);

  connectedCallback() {
    this.#buttons.listen();
    listenForVersions(this);
    this.#settle();
  }

  /** @param {number} characters the most that a question may have */
  set limit(characters) {
    this.#buttons.limit = characters;
  }

  /** All exchanges, from the first to the last. */
  get exchanges() {
    return [...this.children].filter(isExchange).map((child) => Exchange.of(child));
  }

  /** The exchanges whose answers the page shows as being written. */
  get running() {
    return this.exchanges.filter((exchange) => exchange.isRunning && exchange.turn);
  }

  get isEmpty() {
    return this.exchanges.length === 0;
  }

  /** Whether the page has the end of the conversation, not just a part of its middle. */
  get reachesEnd() {
    return seek(this, ":scope > [data-more='later']", HTMLElement) === null;
  }

  /** @param {string} turn */
  byTurn(turn) {
    // From the end, because the wanted turn is nearly always the last.
    for (let child = this.lastElementChild; child; child = child.previousElementSibling) {
      if (child instanceof HTMLElement && child.dataset.turn === turn) return Exchange.of(child);
    }
    return null;
  }

  /**
   * Shows a message immediately, before the server has received it.
   * @param {string} clientId
   * @param {string} text
   */
  send(clientId, text) {
    const exchange = Exchange.sending(text);
    exchange.element.dataset.clientId = clientId;
    this.#sending.set(clientId, exchange);
    this.append(exchange.element);
  }

  /** A message that is being sent; undefined if another tab sends it. @param {string} clientId */
  sending(clientId) {
    return this.#sending.get(clientId);
  }

  /**
   * The server refused the message, or the person cancelled it: removes it.
   * @param {string} clientId
   */
  unsend(clientId) {
    this.#sending.get(clientId)?.element.remove();
    this.#sending.delete(clientId);
  }

  /**
   * The open edit was refused.
   * @param {string} sentence
   * @returns {boolean} whether an edit was open
   */
  refuseEdit(sentence) {
    return this.#buttons.refuseEdit(sentence);
  }

  /**
   * The server has the message with this client id; its turn is known.
   * @param {string} clientId
   * @param {string} turn
   */
  accepted(clientId, turn) {
    const mine = this.#sending.get(clientId);
    mine?.letGo();
    this.#sending.delete(clientId);
    // The turn may have begun on the page before this reply arrived; then its exchange is there already.
    if (mine && mine.turn !== turn && this.byTurn(turn)) mine.element.remove();
    else if (mine && !mine.turn) mine.element.dataset.turn = turn;
  }

  /**
   * A turn begins, in this tab or another one.
   * @param {TurnBeginning} event
   * @returns {Exchange | null} null when the page is too old to know where it belongs
   */
  begin(event) {
    const known = this.byTurn(event.turn);
    if (known && !known.isSending) return known;
    const exchange = known ?? this.#placeFor(event);
    if (!exchange) return null;
    this.#removeAfter(exchange);
    if (event.kind === "edit") this.#buttons.edited();
    if (event.kind === "continue") exchange.continueWith(event.turn);
    else exchange.begin(event.turn, event.question);
    return exchange;
  }

  /** @param {TurnBeginning} event */
  #placeFor({ question, after, kind, replaces, continued_turn: continued }) {
    if (kind === "regenerate") return this.#holding(question);
    if (kind === "continue") return continued ? this.byTurn(continued) : null;
    if (kind === "edit") {
      const place = replaces ? this.#holding(replaces) : (this.#placeAfter(after) ?? this.#buttons.editing);
      return place ? this.#blank(place) : null;
    }
    // A message that this page is sending is not its question: the reply to it, which comes first, names its own turn.
    const previous = after ? this.#holding(after) : null;
    if (previous) this.#removeAfter(previous);
    const exchange = Exchange.sending("");
    this.append(exchange.element, ...[...this.#sending.values()].map(({ element }) => element));
    return exchange;
  }

  /**
   * @param {string | null | undefined} after id of a message that stays; without one the conversation begins anew
   */
  #placeAfter(after) {
    const next = after ? this.#holding(after)?.element.nextElementSibling : this.firstElementChild;
    return next && isExchange(next) ? Exchange.of(next) : null;
  }

  /** @param {string} message */
  #holding(message) {
    return this.exchanges.find((exchange) => exchange.holds(message)) ?? null;
  }

  /**
   * Replaces an old exchange by a new one.
   * @param {Exchange} old
   */
  #blank(old) {
    const exchange = Exchange.sending(seek(old.element, ".question-editor-text", HTMLTextAreaElement)?.value ?? "");
    old.element.replaceWith(exchange.element);
    return exchange;
  }

  /** @param {Exchange} exchange */
  #removeAfter(exchange) {
    const after = [...this.children].slice([...this.children].indexOf(exchange.element) + 1);
    const sending = [...this.#sending.values()].map(({ element }) => element);
    for (const child of after) if (!sending.some((element) => element === child)) child.remove();
  }

  /**
   * Shows the part of the branch that a full page from the server contains. Earlier exchanges on this page stay. One
   * that the page has already takes over what the server says of it now, where it is.
   * @param {DocumentFragment} page
   */
  replace(page) {
    const fresh = seek(page, "chat-transcript", HTMLElement);
    if (!fresh) return;
    const mine = new Map([...this.children].map((child) => [identity(child), child]));
    const next = withAbove(this, fresh).map((child) => {
      const known = mine.get(identity(child));
      if (!(known instanceof HTMLElement) || !(child instanceof HTMLElement) || !isExchange(child)) return child;
      if (known !== child) Exchange.of(known).adopt(child);
      return known;
    });
    const put = next.filter((child) => child.parentElement !== this);
    const focused = document.activeElement;
    this.#buttons.carryEdit(next);
    arrange(this, [...next, ...[...this.#sending.values()].map(({ element }) => element)]);
    if (focused instanceof HTMLElement && this.contains(focused)) focused.focus({ preventScroll: true });
    for (const child of put) finishAll(child);
    for (const exchange of this.running) if (put.includes(exchange.element)) exchange.thinking.showWorking(0);
  }

  #settle() {
    for (const exchange of this.running) exchange.thinking.showWorking(0);
    finishAll(this);
  }
}

/**
 * @param {Element} child
 * @returns {child is HTMLElement} an exchange, not a link to load more
 */
function isExchange(child) {
  return child instanceof HTMLElement && child.matches(".exchange");
}

// Loads the module for more messages when the page first needs it: most conversations are short.

/**
 * Call this once the page is scrolled to where the reader starts.
 * @param {HTMLElement} transcript
 * @param {HTMLElement} scroller the part of the page that scrolls
 */
export function moreOnDemand(transcript, scroller) {
  const look = () => {
    if (!seek(transcript, ":scope > [data-more]", HTMLElement)) return;
    watching.disconnect();
    // If it cannot be loaded, the links lead to pages of their own.
    import("../exchange/more.js").then(({ MoreMessages }) => new MoreMessages(transcript, scroller).start(), () => {});
  };
  const watching = new MutationObserver(look);
  watching.observe(transcript, { childList: true });
  look();
}

// The part of a conversation that a page has.

/**
 * What the page shows after applying the server's window: exchanges above it stay, because there is only one path from
 * a question up to the first message.
 * @param {HTMLElement} transcript
 * @param {HTMLElement} fresh
 * @returns {Element[]}
 */
function withAbove(transcript, fresh) {
  const window = [...fresh.children];
  const first = window.find((child) => child.matches(".exchange"));
  const question = first?.getAttribute("data-question");
  const shown = [...transcript.children];
  const place = question ? shown.findIndex((child) => child.getAttribute("data-question") === question) : -1;
  if (!first || place < 0) return window;
  return [...shown.slice(0, place), ...window.slice(window.indexOf(first))];
}

/**
 * Which question and answer an exchange shows, or which way a link leads. Not what of them: that may have changed.
 * @param {Element} child of a transcript
 */
export function identity(child) {
  const names = ["data-question", "data-turn", "data-imported", "data-more"];
  return names.map((name) => child.getAttribute(name)).join(" ");
}

customElements.define("chat-transcript", ChatTranscript);
