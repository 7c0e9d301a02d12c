// <debug-view>: shows every frame while it streams, hidden frames included. Everything is inserted as text.

import { t, number, tn, tc } from "../language/words.js";
import { Connection } from "../page/connection.js";
import { find, fromTemplate, lifeOf, seek } from "../page/dom.js";
import { refusal } from "../language/refusals.js";
import { isDebugPageEvent, isTurnEvent, unhandled, Sequence } from "../wire/protocol.js";
import { placesOf } from "../page/matches.js";

/** @import { DebugPageEvent, FrameBegan, FrameSoFar } from "../wire/wire.js" */

/** After a gap, the snapshot is not requested again before this time has passed since the last request. */
const REWATCH_MS = 3_000;
/** Close code for too many open pages: this one gets no more events, but may keep showing what it has. */
const TOO_MANY = 4408;

/** Codes of a refusal after which this page has nothing more to show. */
const NO_ACCESS = new Set(["E-PERM-VISIBILITY", "E-X-OPT-IN", "E-X-NOT-FOUND", "E-X-SIGNED-OUT"]);
const LIVE = t("Live: new frames appear as they are written.");
const MISSED = t("A turn has ended that is not shown here completely. Reload the page to see it.");
const RECONNECTING = t("Reconnecting…");

class DebugView extends HTMLElement {
  #live = find(this, ".debug-group-live", HTMLElement);
  #frames = find(this, ".frames-live", HTMLElement);
  #state = find(this, ".debug-state", HTMLElement);
  #conversation = this.dataset.conversation ?? "";
  /** The newest turn that had ended when this page was made: it is shown as stored. */
  #storedTurn = this.dataset.turn || undefined;
  #closingMessage = "";
  #hasMissed = false;
  #sequence = new Sequence();
  #watchedAt = -Infinity;
  #again = 0;
  #connection = new Connection(this.dataset.socket ?? "/ws/", {
    opened: () => this.#watch(),
    received: (events) => events.filter(isDebugPageEvent).forEach((event) => this.#apply(event)),
    silent: () => this.#say(RECONNECTING),
    recovered: () => this.#sayLive(),
    lost: () => this.#say(RECONNECTING),
    ended: (code) => this.#end(code),
  });
  /** @type {Map<string, number>} */
  #openedAt = new Map();

  connectedCallback() {
    this.#connection.start(lifeOf(this));
  }

  #watch() {
    clearTimeout(this.#again);
    this.#watchedAt = performance.now();
    this.#connection.send({ type: "watch", conversation: this.#conversation });
  }

  /** Frames are missing. Each request is counted as an access, so there must be no more than necessary. */
  #watchAgain() {
    clearTimeout(this.#again);
    this.#again = setTimeout(() => this.#watch(), Math.max(0, this.#watchedAt + REWATCH_MS - performance.now()));
  }

  /** @param {DebugPageEvent} event */
  #apply(event) {
    if (isTurnEvent(event)) {
      const verdict = this.#sequence.admit(event.turn, event.sequence_number);
      if (verdict === "gap") this.#watchAgain();
      if (verdict !== "apply") return;
    }
    switch (event.type) {
      case "chatui:debug.snapshot":
        this.#sequence.resume(event.turn, event.sequence_number);
        clearTimeout(this.#again);
        this.#sayLive();
        return event.frames.forEach((frame) => this.#show(frame));
      case "chatui:frame.opened":
        return void this.#open(event.message_id, event.header, event.why_hidden);
      case "chatui:frame.delta":
        return this.#append(event.message_id, event.text);
      case "chatui:frame.withdrawn":
        return this.#hide(event.message_id, event.header, event.why_hidden);
      case "chatui:frame.closed":
        return this.#close(event.message_id, event.terminator, event.code);
      case "chatui:refused":
        // After a reconnect, the view may be closed or the permission revoked: then nothing may stay on the screen.
        this.#closingMessage = refusal(event.code);
        return NO_ACCESS.has(event.code) ? this.#end(0) : this.#say(this.#closingMessage);
      case "chatui:closing":
        this.#closingMessage = refusal(event.code);
        return;
      case "chatui:idle":
        this.#hasMissed ||= (event.turn ?? undefined) !== this.#storedTurn;
        return this.#sayLive();
      case "chatui:title":
      case "chatui:ping":
      case "chatui:alive":
        return;
      default:
        return unhandled(event);
    }
  }

  /** @param {FrameSoFar} frame */
  #show(frame) {
    const shown = this.#open(frame.message_id, frame.header, frame.why_hidden);
    for (const body of bodies(shown)) body.textContent = frame.text;
    if (!frame.open) this.#close(frame.message_id, null, null);
  }

  /**
   * @param {string} message
   * @param {FrameBegan["header"]} header
   * @param {string | null | undefined} why
   * @returns {HTMLElement}
   */
  #open(message, header, why) {
    const known = this.#frame(message);
    if (known) return known;
    const frame = fromTemplate("frame", HTMLElement);
    frame.dataset.message = message;
    label(frame, header, why);
    this.#openedAt.set(message, performance.now());
    this.#live.hidden = false;
    this.#frames.append(frame);
    return frame;
  }

  /**
   * A frame that people saw is hidden from them now.
   * @param {string} message
   * @param {Record<string, string>} header
   * @param {string | null | undefined} why
   */
  #hide(message, header, why) {
    const frame = this.#frame(message);
    if (frame) relabel(frame, header, why);
  }

  /**
   * @param {string} message
   * @param {string} text
   */
  #append(message, text) {
    const frame = this.#frame(message);
    if (!frame) return;
    for (const body of bodies(frame)) {
      if (body.lastChild instanceof Text) body.lastChild.appendData(text);
      else body.append(text);
      body.scrollTop = body.scrollHeight;
    }
  }

  /**
   * @param {string} message
   * @param {string | null | undefined} terminator
   * @param {string | null | undefined} code
   */
  #close(message, terminator, code) {
    const frame = this.#frame(message);
    const mark = frame && seek(frame, ".frame-mark-live", HTMLElement);
    if (!frame || !mark) return;
    mark.textContent = t("finished, reload to see it as stored");
    const seconds = (performance.now() - (this.#openedAt.get(message) ?? performance.now())) / 1000;
    sumUp(frame, seconds, terminator, code);
  }

  /** @param {string} message */
  #frame(message) {
    return seek(this, `[data-message="${CSS.escape(message)}"]`, HTMLElement);
  }

  /**
   * The time is up, the view was closed, or the permission was revoked: clears what is on the screen.
   * @param {number} code
   */
  #end(code) {
    this.#say(this.#closingMessage || t("You no longer have access to the debug view."));
    if (code !== TOO_MANY) (this.closest("main") ?? this).replaceChildren(this.#state);
  }

  #sayLive() {
    this.#say(this.#hasMissed ? MISSED : LIVE);
  }

  /** @param {string} sentence */
  #say(sentence) {
    this.#state.textContent = sentence;
  }
}

/**
 * The elements that show the text of a frame: one, or a second one for what the person sees.
 * @param {HTMLElement} frame
 */
function bodies(frame) {
  const found = frame.querySelectorAll(".frame-text, .frame-seen .frame-body");
  return [...found].filter((body) => body instanceof HTMLElement);
}

// Keeps the focused element from being covered by the sticky bars at the top: browsers consider it visible there, and
// do not scroll. The height of the bars is in the style sheet, as "scroll-padding".

export function keepFocusInView() {
  document.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof Element) || target.closest(".debug-bar, .debug-search, .skip-link")) return;
    if (!target.matches(":focus-visible")) return;
    target.scrollIntoView({ block: "nearest" });
    // Frames get their true height only when they come near the screen, and then move what is below them.
    requestAnimationFrame(() => {
      if (document.activeElement === target) target.scrollIntoView({ block: "nearest" });
    });
  });
}

// Highlights the matches of a search in the text of a frame.

/**
 * Every match of a text in a frame's body and header.
 * @param {HTMLElement} frame
 * @param {string} wanted
 * @returns {Range[]}
 */
export function rangesIn(frame, wanted) {
  const ranges = [];
  for (const body of frame.querySelectorAll(".frame-text, .chip-value")) {
    body.normalize();
    const text = body.firstChild;
    if (!(text instanceof Text)) continue;
    for (const [start, end] of placesOf(text.data, wanted)) {
      const range = new Range();
      range.setStart(text, start);
      range.setEnd(text, end);
      ranges.push(range);
    }
  }
  return ranges;
}

// The labels of a frame in the debug view. Above it: its header fields, and why people do not see it.
// Below it: how long it took.

/**
 * @param {HTMLElement} frame
 * @param {Record<string, string>} header
 * @param {string | null | undefined} why absent if people see the frame
 */
function label(frame, header, why) {
  const head = find(frame, ".frame-head", HTMLElement);
  const chips = Object.entries(header ?? {}).filter(([, value]) => value !== null && value !== "");
  head.prepend(...chips.map(([name, value]) => chip(name, String(value))));
  frame.classList.add(why ? "frame-hidden" : "frame-visible");
  find(frame, ".frame-why", HTMLElement).textContent = why ? t("Hidden. %(why)s", { why: t(why) }) : "";
  // Beside a hidden frame the page shows why it is hidden, not its text.
  if (why) seek(frame, ".frame-seen-text", HTMLElement)?.remove();
}

/**
 * Replaces the labels of a frame.
 * @param {HTMLElement} frame
 * @param {Record<string, string>} header
 * @param {string | null | undefined} why
 */
function relabel(frame, header, why) {
  for (const old of find(frame, ".frame-head", HTMLElement).querySelectorAll(".chip")) old.remove();
  frame.classList.remove("frame-visible", "frame-hidden");
  label(frame, header, why);
}

/**
 * The line below a finished frame.
 * @param {HTMLElement} frame
 * @param {number} took in seconds
 * @param {string | null | undefined} terminator absent if the frame was finished before the page saw it
 * @param {string | null | undefined} code of the error that it ended with
 */
function sumUp(frame, took, terminator, code) {
  const seconds = number(took, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const length = find(frame, ".frame-text", HTMLElement).textContent?.length ?? 0;
  const facts = [
    terminator && t("took %(seconds)s s", { seconds }),
    tn("%(n)s character", "%(n)s characters", length),
    terminator && t("ends with %(sign)s", { sign: terminator }),
    code,
  ];
  find(frame, ".frame-foot", HTMLElement).textContent = facts.filter(Boolean).join(" · ");
}

/**
 * @param {string} name
 * @param {string} value
 */
function chip(name, value) {
  const element = document.createElement("span");
  element.className = "chip";
  element.dataset.name = name;
  element.dataset.value = value;
  for (const [kind, text] of [["name", name], ["value", value]]) {
    const part = document.createElement("span");
    part.className = `chip-${kind}`;
    part.textContent = text ?? "";
    element.append(part, " ");
  }
  return element;
}

// <debug-clock>: shows how long the debug view stays open. At the end it clears the screen, whether or not the server
// can be reached.

const TICK_MS = 1_000;

class DebugClock extends HTMLElement {
  /**
   * Counted from when the page was loaded, so that a wrong clock on this machine does not matter. Time in which the
   * machine sleeps counts.
   */
  #ends = Date.now() + Number(this.dataset.seconds) * 1000;
  /** @type {number | undefined} */
  #timer;

  connectedCallback() {
    this.setAttribute("role", "timer");
    this.#timer = setInterval(this.#tick, TICK_MS);
    document.addEventListener("visibilitychange", this.#tick);
    addEventListener("pageshow", this.#tick);
    this.#tick();
  }

  disconnectedCallback() {
    clearInterval(this.#timer);
    document.removeEventListener("visibilitychange", this.#tick);
    removeEventListener("pageshow", this.#tick);
  }

  #tick = () => {
    const left = this.#ends - Date.now();
    const text = remainingText(left);
    if (text !== this.textContent) this.textContent = text;
    if (left > 0) return;
    clearInterval(this.#timer);
    find(document, "main", HTMLElement).replaceChildren(t("The debug view has closed: its time is up."));
    location.replace(this.dataset.then ?? "/");
  };
}

// The text for how long a debug view stays open.

/**
 * @param {number} milliseconds until it closes
 * @returns {string} "Closes in 3 h 12 min", "Closes in 14 min", "Closes in 45 s", "Closed"
 */
export function remainingText(milliseconds) {
  const seconds = Math.ceil(milliseconds / 1000);
  if (seconds <= 0) return tc("the debug view", "Closed");
  if (seconds < 60) return t("Closes in %(seconds)s s", { seconds });
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 60) return t("Closes in %(minutes)s min", { minutes });
  const rest = minutes % 60;
  const hours = Math.floor(minutes / 60);
  if (!rest) return t("Closes in %(hours)s h", { hours });
  return t("Closes in %(hours)s h %(minutes)s min", { hours, minutes: rest });
}

customElements.define("debug-view", DebugView);
customElements.define("debug-clock", DebugClock);
