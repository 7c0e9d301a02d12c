// <debug-view>: shows every frame while it streams, hidden frames included. Everything is inserted as text.

import { t } from "../language/words.js";
import { Connection } from "../page/connection.js";
import { find, fromTemplate, seek } from "../page/dom.js";
import { refusal } from "../language/refusals.js";
import { isDebugPageEvent, isTurnEvent, unhandled } from "../wire/protocol.js";
import { label, relabel, sumUp } from "./labels.js";
import { Sequence } from "../wire/sequence.js";

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
    this.#connection.start();
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

customElements.define("debug-view", DebugView);
