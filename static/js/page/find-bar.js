// The find bar: finds a text in the open conversation, and steps through the matches. The server searches what the page
// has not loaded; such a match is opened when the person gets to it.

import { atEnd, closestTo, find, lifeOf, pageOf, seek } from "./dom.js";
import { mark, nextMatch, placesOf, placesOfWords, reveal } from "./matches.js";
import { read } from "./server.js";
import { forgetSought, queryOf, soughtHere } from "./sought.js";
import { t } from "../language/words.js";

/** @import { ChatTranscript } from "../chat/transcript.js" */
/** @import { OpenConversation, Scrolling } from "../chat/open-conversation.js" */
/** @import { Sought } from "./sought.js" */

/** @typedef {{ transcript: ChatTranscript, open: OpenConversation, scrolling: Scrolling }} PageParts */

const TYPING_MS = 180;
/** How often growing text is searched again. */
const GROWING_MS = 400;

export class FindBar {
  #bar;
  #text;
  #status;
  #around;
  /** @type {Range[]} */
  #ranges = [];
  #current = -1;
  /** Whether the text in the field is that of a search in all conversations, which matches each word by itself. */
  #isWords = false;
  #elsewhere = new Elsewhere([]);
  /** @type {HTMLElement | null} */
  #opener = null;
  /** @type {number | undefined} */
  #timer;
  /** Counts requests, so that a late response to an old one is dropped. */
  #asked = 0;
  #observer = new MutationObserver(() => {
    // Its text was replaced, as when code gets its colours: a reader would see the mark go and come back.
    if (this.#ranges[this.#current]?.collapsed) this.#look();
    this.#later(() => this.#look(), GROWING_MS);
  });

  /** @param {PageParts} around */
  constructor(around) {
    this.#around = around;
    this.#bar = find(pageOf(around.transcript), ".find-bar", HTMLFormElement);
    this.#text = find(this.#bar, ".find-text", HTMLInputElement);
    this.#status = find(this.#bar, ".find-status", HTMLElement);
  }

  listen() {
    atEnd(lifeOf(this.#bar), () => this.#rest());
    this.#bar.addEventListener("submit", (event) => (event.preventDefault(), this.#step(1)));
    this.#bar.addEventListener("keydown", this.#key);
    this.#bar.addEventListener("click", this.#clicked);
    this.#text.addEventListener("input", this.#typed);
  }

  /**
   * Shows what the address leads to. Only a step of the bar itself gives it the focus: whoever comes from a search may
   * write at once, and on a phone no keyboard covers what was found.
   */
  arrive() {
    const sought = soughtHere();
    if (!sought) return;
    this.#bar.hidden = false;
    this.#text.value = sought.text;
    this.#isWords = sought.isWords;
    this.#begin(find(pageOf(this.#bar), "main", HTMLElement));
    if (!sought.isWords) this.#text.focus();
    void this.#search(sought);
  }

  /**
   * The bar is shown, and has the focus.
   * @param {Element | null} [opener] what gets the focus when the bar closes, if it was not open before
   */
  open(opener) {
    this.#begin(opener);
    this.#text.focus();
    void this.#search();
  }

  /** @param {Element | null} [opener] */
  #begin(opener) {
    if (opener !== undefined) this.#opener = opener instanceof HTMLElement ? opener : null;
    this.#observer.observe(this.#around.transcript, { childList: true, subtree: true, characterData: true });
  }

  /** Nothing is searched any more, and nothing marked. */
  #rest() {
    clearTimeout(this.#timer);
    this.#observer.disconnect();
    this.#asked += 1;
    this.#ranges = [];
    this.#mark();
  }

  close() {
    this.#rest();
    const isElsewhere = document.activeElement !== document.body && !this.#bar.contains(document.activeElement);
    this.#bar.hidden = true;
    this.#isWords = false;
    forgetSought();
    if (!isElsewhere) this.#opener?.focus();
  }

  /** @param {() => void} run @param {number} delay */
  #later(run, delay) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(run, delay);
  }

  /** @param {Sought} [from] where to begin; by default at the first match at or below the top of the screen */
  async #search(from) {
    const mine = ++this.#asked;
    this.#elsewhere = new Elsewhere([]);
    this.#current = -1;
    this.#look();
    const place = from ? document.getElementById(`m-${from.message}`) : null;
    if (place && from?.by === -1) this.#current = this.#ranges.findLastIndex((range) => range.intersectsNode(place));
    else this.#current = this.#ranges.findIndex((range) => isFrom(range, place));
    if (this.#current < 0) this.#current = this.#ranges.length - 1;
    // A message in which nothing can be marked, such as a formula, is shown from its start.
    if (!place || this.#ranges[this.#current]?.intersectsNode(place)) this.#show();
    else this.#say();
    const { transcript } = this.#around;
    const { url } = /** @type {HTMLElement} */ (pageOf(this.#bar)).dataset;
    if (!this.#text.value.trim() || !transcript.querySelector(":scope > [data-more]") || !url) return;
    const query = new URLSearchParams({ [this.#isWords ? "words" : "q"]: this.#text.value });
    try {
      const found = await read(`${url}find/?${query}`);
      if (mine === this.#asked) this.#elsewhere = new Elsewhere(JSON.parse(found).messages);
    } catch {
      if (mine === this.#asked) this.#elsewhere = Elsewhere.unknown();
    }
    if (mine === this.#asked) this.#say();
  }

  /** Searches the page again without losing the current match. */
  #look() {
    const [before, place] = [this.#ranges[this.#current], this.#current];
    const placesIn = this.#isWords ? placesOfWords : placesOf;
    this.#ranges = rangesIn(this.#around.transcript, (text) => placesIn(text, this.#text.value.trim()));
    const isBefore = (/** @type {Range} */ range) =>
      before?.startContainer === range.startContainer && before.startOffset === range.startOffset;
    if (before) this.#current = this.#ranges.findIndex(isBefore);
    const isReplaced = before && this.#current < 0;
    if (isReplaced) this.#current = Math.min(place, this.#ranges.length - 1);
    this.#mark();
    this.#say();
    // Code that gets its colours after it was shown has new elements, and may have lost its place sideways.
    const range = this.#ranges[this.#current];
    if (isReplaced && range) requestAnimationFrame(() => reveal(range));
  }

  /** @param {1 | -1} by */
  #step(by) {
    const { text, open } = { text: this.#text.value.trim(), open: this.#around.open };
    const isLast = this.#current === (by > 0 ? this.#ranges.length - 1 : 0) || !this.#ranges.length;
    const message = isLast ? this.#elsewhere.next(by) : null;
    if (message && open.id) {
      return open.leadTo(message, queryOf({ text, message, by, isWords: this.#isWords }));
    }
    this.#current = nextMatch(this.#current, this.#ranges.length, by);
    this.#show();
  }

  /** Shows the current match. */
  #show() {
    this.#mark();
    this.#say();
    const range = this.#ranges[this.#current];
    const element = range?.startContainer.parentElement;
    if (!range || !element) return;
    unfold(element);
    this.#around.scrolling.to(element, "center");
    reveal(range);
    // What comes near to the screen is laid out only now, and may be higher or lower than was expected.
    requestAnimationFrame(() => reveal(range));
  }

  #mark() {
    const current = this.#ranges[this.#current];
    mark("found", this.#ranges);
    mark("found-current", current ? [current] : []);
  }

  #say() {
    const wanted = this.#text.value.trim();
    this.#status.textContent = wanted ? this.#elsewhere.sentence(this.#current, this.#ranges.length) : "";
  }

  #typed = () => {
    this.#isWords = false;
    forgetSought();
    this.#later(() => void this.#search(), TYPING_MS);
  };

  /** @param {Event} event */
  #clicked = (event) => {
    const action = closestTo(event, "[data-action]")?.dataset.action;
    if (action === "find-next") this.#step(1);
    else if (action === "find-previous") this.#step(-1);
    else if (action === "close-find") this.close();
  };

  /** @param {KeyboardEvent} event */
  #key = (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && event.shiftKey && event.target === this.#text) this.#step(-1);
    else return;
    event.preventDefault();
  };
}

/**
 * Whether a match is in an element or below it; without one, whether it is below the top of the screen.
 * @param {Range} range
 * @param {Element | null} element
 */
function isFrom(range, element) {
  if (element) return range.comparePoint(element, 0) <= 0;
  // The exchange's position, because elements far from the screen are not laid out.
  const exchange = range.startContainer.parentElement?.closest(".exchange");
  return !exchange || exchange.getBoundingClientRect().bottom > 0;
}

// Finds a text in the displayed conversation, even if it is partly bold, a link or coloured code.

/** The elements of messages: questions, and the parts of the answers on the open branch. */
const TEXTS = ".exchange .question-text:not([hidden]), .exchange .parts > .part";
/** What is not visible text: the copy of a formula for screen readers, and the headers of code blocks. */
const LEFT_OUT = ".katex-mathml, .code-head, .table-copy, .visually-hidden";
/** A match does not span two of these. */
const BLOCKS = "p, li, td, th, pre, h1, h2, h3, h4, h5, h6, dt, dd, .place, .question-text";

/**
 * Opens what is folded up around a match: a long question, or the source of a diagram.
 * @param {Element} element
 */
function unfold(element) {
  const folded = ".question-long:not(.question-open) > .fold";
  const [question, code] = [element.closest(".question"), element.closest(".code-frame")];
  if (question) seek(question.parentElement ?? question, folded, HTMLElement)?.click();
  // A diagram that is drawn only later begins with its source.
  if (code?.matches("[data-diagram=drawn]")) seek(code, "[data-action=switch-diagram]", HTMLElement)?.click();
  else code?.classList.add("code-sought");
}

/** @typedef {(text: string) => [number, number][]} PlacesIn the matches in the text of one message */

/**
 * Every match in all messages on the page, in order.
 * @param {ParentNode} transcript
 * @param {PlacesIn} placesIn
 * @returns {Range[]}
 */
function rangesIn(transcript, placesIn) {
  return [...transcript.querySelectorAll(TEXTS)].flatMap((element) => rangesOf(element, placesIn));
}

/**
 * @param {Element} element
 * @param {PlacesIn} placesIn
 */
function rangesOf(element, placesIn) {
  const { text, nodes } = textOf(element);
  return placesIn(text).map(([start, end]) => {
    const range = new Range();
    range.setStart(...placeIn(nodes, start));
    range.setEnd(...placeIn(nodes, end - 1, 1));
    return range;
  });
}

/** @typedef {{ node: Text, start: number }} Placed a text node, and the offset of its text in the whole */

/** @param {Element} element */
function textOf(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  /** @type {Placed[]} */
  const nodes = [];
  let text = "";
  /** @type {Element | null | undefined} */
  let block;
  while (walker.nextNode()) {
    const node = /** @type {Text} */ (walker.currentNode);
    const parent = node.parentElement;
    if (!parent || parent.closest(LEFT_OUT)) continue;
    const mine = parent.closest(BLOCKS);
    // A separator that no search text can contain.
    if (block !== undefined && mine !== block) text += "\0";
    block = mine;
    nodes.push({ node, start: text.length });
    text += node.data;
  }
  return { text, nodes };
}

/**
 * @param {Placed[]} nodes
 * @param {number} place
 * @param {number} [more] added to `place` in the text node
 * @returns {[Text, number]}
 */
function placeIn(nodes, place, more = 0) {
  let [low, high] = [0, nodes.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (/** @type {Placed} */ (nodes[middle]).start <= place) low = middle;
    else high = middle - 1;
  }
  const { node, start } = /** @type {Placed} */ (nodes[low]);
  return [node, place - start + more];
}

// The matching messages that the page has not loaded.

export class Elsewhere {
  #messages;
  #isKnown = true;

  /** @param {string[]} messages all that match, in order: those on the page divide the rest into above and below */
  constructor(messages) {
    this.#messages = messages;
  }

  /** The server could not be reached. */
  static unknown() {
    const elsewhere = new Elsewhere([]);
    elsewhere.#isKnown = false;
    return elsewhere;
  }

  /**
   * The nearest one in that direction, or the first one from the other end; null if there is none.
   * @param {1 | -1} by
   */
  next(by) {
    const { above, below } = this.#parts();
    return [...below, ...above].at(by > 0 ? 0 : -1) ?? null;
  }

  /**
   * @param {number} current -1 for none
   * @param {number} count of matches on the page
   */
  sentence(current, count) {
    const { above, below } = this.#parts();
    const isElsewhere = above.length + below.length > 0;
    const none = isElsewhere ? t("No match in this part.") : t("No matches.");
    const here = count ? t("Match %(place)s of %(count)s.", { place: current + 1, count }) : none;
    const earlier = above.length ? t("Messages above: %(count)s.", { count: above.length }) : "";
    const later = below.length ? t("Messages below: %(count)s.", { count: below.length }) : "";
    const unknown = this.#isKnown ? "" : t("Other parts of the conversation could not be searched.");
    return [here, earlier, later, unknown].filter(Boolean).join(" ");
  }

  /** More of the conversation may have been loaded since. */
  #parts() {
    const all = this.#messages;
    const loaded = all.map((id) => document.getElementById(`m-${id}`) !== null);
    const [first, last] = [loaded.indexOf(true), loaded.lastIndexOf(true)];
    if (first >= 0) return { above: all.slice(0, first), below: all.slice(last + 1) };
    const isAbove = document.querySelector("[data-more='earlier']") !== null;
    return isAbove ? { above: all, below: [] } : { above: [], below: all };
  }
}
