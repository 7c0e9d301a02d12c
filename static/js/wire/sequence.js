// Checks the sequence numbers of a turn's events: each is the next one, a duplicate, or one after a gap.

/** @typedef {"apply" | "drop" | "gap"} Verdict */

export class Sequence {
  /** @type {Map<string, number>} */
  #last = new Map();

  /**
   * @param {string} turn
   * @param {number | undefined} number the event's sequence_number; events without one are always applied
   * @param {boolean} [begins] whether this event begins the turn
   * @returns {Verdict}
   */
  admit(turn, number, begins = false) {
    if (typeof number !== "number") return "apply";
    const last = this.#last.get(turn);
    if (last === undefined && !begins) return "gap";
    if (last !== undefined && number <= last) return "drop";
    if (last !== undefined && number > last + 1) return "gap";
    this.#last.set(turn, number);
    return "apply";
  }

  /**
   * Whether events up to this number are missing.
   * @param {string} turn
   * @param {number} number
   */
  lacks(turn, number) {
    return (this.#last.get(turn) ?? 0) < number;
  }

  /**
   * A snapshot holds everything up to and including this number.
   * @param {string} turn
   * @param {number} number
   */
  resume(turn, number) {
    this.#last.set(turn, number);
  }
}
