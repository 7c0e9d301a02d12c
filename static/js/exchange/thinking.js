// The display of the work before an answer: one line that says what the model does, and for how long; afterwards how
// long it took, with all lines folded up behind that.

import { LANGUAGE, t } from "../language/words.js";
import { find, fromTemplate, seek } from "../page/dom.js";

/** @import { PartKind, Snapshot, SummaryLine, ToolProgress } from "../wire/wire.js" */

const TICK_MS = 1000;

export class Thinking {
  #exchange;
  /** @type {number | undefined} */
  #ticking;
  #began = 0;
  /** Whether hidden work continues before the answer, so that the line stays below the text that announces it. */
  #isHidden = false;
  /** Whether a line of the summary is shown, which stays until there is something newer. */
  #hasLine = false;
  /** Whether only that the model works is known. */
  #isPlain = true;
  /** What is shown then: what was asked for, or null. @type {HTMLElement | null} */
  #asked = null;
  #canEnd = false;
  /** The lines of this turn. @type {HTMLElement[]} */
  #lines = [];
  /** Shows how long this turn has thought. @type {HTMLElement | null} */
  #fold = null;

  /** @param {HTMLElement} exchange */
  constructor(exchange) {
    this.#exchange = exchange;
  }

  /** A turn begins. What is shown of the one that it continues stays. */
  start() {
    this.#lines = [];
    this.#fold = null;
    this.#asked = null;
    this.showWorking(0);
  }

  /**
   * A snapshot shows all lines of this turn again; quiet pages get one every few seconds. The newest line and
   * the time on the fold stay if the page has the same lines.
   * @param {SummaryLine[]} lines
   */
  showAgain(lines) {
    const fresh = lines.map(lineOf);
    const shown = this.#lines;
    if (fresh.length === shown.length && fresh.every((line, at) => line.isEqualNode(shown[at] ?? null))) return;
    this.#fold?.remove();
    this.#lines = [];
    for (const line of lines) this.add(line);
  }

  /**
   * What the turn does at the time of a snapshot.
   * @param {Snapshot} snapshot
   */
  showState({ working, elapsed, can_answer_now: canEnd, place, asked, uses_tool: usesTool, thought }) {
    if (typeof thought !== "number") this.goesOn();
    this.asked(asked ?? null);
    if (working) this.begin(elapsed, canEnd);
    else this.hideWorking();
    if (working && usesTool) this.#show(t("Using a tool"));
    if (place) this.showQueued(place);
  }

  /**
   * What was asked for, told from the question alone: shown until there is anything newer.
   * @param {SummaryLine | null} line null: it no longer holds
   * @returns {string | null} its sentence, if it is new on the page
   */
  asked(line) {
    const asked = line && lineOf(line);
    if (asked ? this.#asked && asked.isEqualNode(this.#asked) : !this.#asked) return null;
    this.#asked = asked;
    if (!this.#isPlain || seek(this.#exchange, ".working", HTMLElement)?.hidden !== false) return null;
    this.#showPlain();
    return asked && asked.textContent;
  }

  #showPlain() {
    this.#show(...(this.#asked ? this.#asked.cloneNode(true).childNodes : [t("Thinking")]));
    this.#isPlain = true;
  }

  /**
   * Hidden work has begun, or goes on after a text.
   * @param {number} elapsed milliseconds since the turn began
   * @param {boolean} canEnd whether the person may end it, so that the answer begins
   */
  begin(elapsed, canEnd) {
    this.#isHidden = true;
    if (this.#canEnd && !canEnd) {
      this.#show(t("Writing")); // the person wants the answer now
      this.#hasLine = true;
    }
    this.#canEnd = canEnd;
    this.showWorking(elapsed);
    this.#foldAbove();
    this.#offerEnd(canEnd);
  }

  /**
   * A message begins; its text may take a while.
   * @param {PartKind} kind
   */
  opened(kind) {
    if (kind === "final") this.say(t("Writing"));
    else this.wrote(kind);
    if (kind === "tool" && this.#isHidden) this.#show(t("Using a tool"));
  }

  /**
   * Text has arrived. Until the answer itself, the line stays below it.
   * @param {string | undefined} kind of the message
   */
  wrote(kind) {
    if (kind === "final" || !this.#isHidden) this.hideWorking();
    else this.#foldAbove();
  }

  /** @param {number} elapsed milliseconds since the turn began */
  showWorking(elapsed) {
    const line = seek(this.#exchange, ".working", HTMLElement);
    if (!line) return;
    this.#began = performance.now() - elapsed;
    if (!this.#hasLine) this.#showPlain();
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
    if (place) return this.say(t("You are number %(place)s in the queue…", { place }));
    this.showWorking(0);
  }

  /** @param {string} sentence to show without the seconds */
  say(sentence) {
    this.hideWorking();
    const line = seek(this.#exchange, ".working", HTMLElement);
    if (!line) return;
    this.#show(sentence);
    find(line, ".working-time", HTMLElement).textContent = "";
    line.hidden = false;
    return sentence;
  }

  /** @param {ToolProgress} progress */
  showProgress({ server, percent, words }) {
    const share = percent === undefined || percent === null
      ? "" : new Intl.NumberFormat(LANGUAGE, { style: "percent" }).format(percent / 100);
    this.#show([t("Using a tool"), share, words && `${server}: ${words}`].filter(Boolean).join(" · "));
  }

  /** @param {(Node | string)[]} words what the line says now */
  #show(...words) {
    this.#hasLine = this.#isPlain = false;
    const old = find(this.#exchange, ".working-line", HTMLElement);
    const line = /** @type {HTMLElement} */ (old.cloneNode());
    line.append(...words);
    // A new element fades in.
    if (line.textContent !== old.textContent) old.replaceWith(line);
  }

  /** @param {boolean} canEnd */
  #offerEnd(canEnd) {
    const button = seek(this.#exchange, "[data-action=answer-now]", HTMLElement);
    if (button) button.hidden = !canEnd;
  }

  hideWorking() {
    const line = seek(this.#exchange, ".working", HTMLElement);
    // This is called with every piece of text.
    if (!line || line.hidden) return;
    clearInterval(this.#ticking);
    this.#ticking = undefined;
    this.#hasLine = false;
    this.#offerEnd(false);
    line.hidden = true;
  }

  #tick = () => {
    const time = seek(this.#exchange, ".working-time", HTMLElement);
    if (!this.#exchange.isConnected && this.#ticking !== undefined) this.hideWorking();
    else if (time) time.textContent = timeText(performance.now() - this.#began);
  };

  /**
   * One more line of the summary, in the page's language: shown now, and kept.
   * @param {SummaryLine} added
   * @returns {string | null} its sentence
   */
  add(added) {
    const line = lineOf(added);
    this.#lines.push(line);
    this.#show(...line.cloneNode(true).childNodes);
    this.#hasLine = true;
    return line.textContent;
  }

  /** Folds up what was thought before a text that is not the answer, so that the text keeps its place afterwards. */
  #foldAbove() {
    const first = seek(this.#exchange, ".before:empty + .parts:not(:has(.part-final)) > .part", HTMLElement);
    if (first) this.#foldUp(t("Thought so far"));
  }

  /**
   * The work before the answer is over.
   * @param {number} seconds
   */
  showThought(seconds) {
    this.#foldUp(thoughtText(seconds));
    this.#isHidden = false;
    this.hideWorking();
  }

  /** What began as the answer is none, or is none yet: the work before it is not over. */
  goesOn() {
    if (this.#fold) retitle(this.#fold, t("Thought so far"));
  }

  /**
   * Folds up all lines into one above the answer. A continued answer already has that line, which then counts all
   * of the work.
   * @param {string} title how long the work took; while it goes on, the line below counts
   */
  #foldUp(title) {
    const before = find(this.#exchange, ".before", HTMLElement);
    const old = seek(before, "details", HTMLElement);
    const fold = old ?? fromTemplate(this.#lines.length ? "thought-steps" : "thought-line", HTMLElement);
    retitle(fold, title);
    seek(fold, "ul", HTMLElement)?.append(...this.#lines);
    if (!old) before.replaceChildren(fold);
    this.#fold = fold;
  }
}

/** @param {HTMLElement} fold @param {string} title */
function retitle(fold, title) {
  (seek(fold, "summary", HTMLElement) ?? fold).textContent = title;
}

/** @param {SummaryLine} line */
function lineOf({ sentences, about }) {
  const line = document.createElement("li");
  (sentences[LANGUAGE] ?? sentences.en ?? "").split("{}").forEach((words, index) => {
    if (index) line.append(Object.assign(document.createElement("bdi"), { textContent: about[index - 1] }));
    line.append(words);
  });
  return line;
}

// The texts for how long the model has been working, and for how long it worked before it answered.

/**
 * @param {number} milliseconds since the turn began
 * @returns {string} in English "", " · 12 s", " · 2 min 5 s"
 */
export function timeText(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  return seconds < 1 ? "" : " · " + duration(seconds);
}

/**
 * @param {number} seconds whole ones, before the answer began
 * @returns {string} in English "Thought for a moment", "Thought for 12 s", "Thought for 2 min 5 s"
 */
export function thoughtText(seconds) {
  return seconds < 1 ? t("Thought for a moment") : t("Thought for %(time)s", { time: duration(seconds) });
}

/** @param {number} seconds */
function duration(seconds) {
  if (seconds < 60) return t("%(seconds)s s", { seconds });
  return t("%(minutes)s min %(seconds)s s", { minutes: Math.floor(seconds / 60), seconds: seconds % 60 });
}
