// The queue of the server's events: applies them one after the other, each once and without a gap.

import { isTurnEvent, Sequence } from "../wire/protocol.js";

/** @import { EndUserEvent, Snapshot } from "../wire/wire.js" */

/** After a gap, the snapshot is not requested again before this time has passed; the turn's events wait. */
const RESYNC_MS = 3_000;

export class EventQueue {
  #apply;
  #askSnapshot;
  #sequence = new Sequence();
  /** @type {EndUserEvent[]} */
  #waiting = [];
  #isDraining = false;
  #askedAt = -Infinity;

  /**
   * @param {(event: EndUserEvent) => Promise<void> | void} apply
   * @param {() => void} askSnapshot called when events of a turn are missing: the server has to send a snapshot
   */
  constructor(apply, askSnapshot) {
    this.#apply = apply;
    this.#askSnapshot = askSnapshot;
  }

  /** @param {EndUserEvent[]} events */
  receive(events) {
    this.#waiting.push(...events);
    if (!this.#isDraining) void this.#drain();
  }

  /** @param {Snapshot} snapshot that was applied: events that it includes are not applied again */
  resume({ turn, sequence_number: number }) {
    this.#sequence.resume(turn, number);
  }

  /** Events after a snapshot wait until the page that it needs has been fetched. */
  async #drain() {
    this.#isDraining = true;
    try {
      for (let event = this.#waiting.shift(); event; event = this.#waiting.shift()) {
        const pending = this.#isNext(event) ? this.#apply(event) : undefined;
        if (pending instanceof Promise) await pending;
      }
    } finally {
      this.#isDraining = false;
    }
  }

  /** @param {EndUserEvent} event */
  #isNext(event) {
    if (event.type === "chatui:beat") {
      if (this.#sequence.lacks(event.turn, event.sequence_number)) this.#resync();
      return false;
    }
    if (!isTurnEvent(event)) return true;
    const verdict = this.#sequence.admit(event.turn, event.sequence_number, event.type === "response.created");
    if (verdict === "gap") this.#resync();
    return verdict === "apply";
  }

  #resync() {
    if (performance.now() - this.#askedAt < RESYNC_MS) return;
    this.#askedAt = performance.now();
    this.#askSnapshot();
  }
}
