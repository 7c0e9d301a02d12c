// Decides from the time of the last message whether the other end of a connection is still alive.

/** After this long without a message, the server is asked for one. */
const ASK_MS = 1_000;
/** The answer is late: the connection counts as lost, though it was not closed. Less than three seconds in total. */
const LATE_MS = 1_500;
/** No answer is expected any more. */
const DEAD_MS = 5_000;

/** How often to check. */
export const LOOK_MS = 200;

export class Heartbeat {
  #heardAt = 0;
  /** @type {number | null} */
  #askedAt = null;

  /** @param {number} now milliseconds; the connection opened, or a message arrived */
  heard(now) {
    this.#heardAt = now;
    this.#askedAt = null;
  }

  /**
   * What to do about the silence. An answer is requested once, however late this check runs: background pages check
   * rarely, which says nothing about the server.
   * @param {number} now milliseconds
   * @returns {"ask" | "late" | "dead" | null}
   */
  look(now) {
    if (this.#askedAt === null) {
      if (now - this.#heardAt < ASK_MS) return null;
      this.#askedAt = now;
      return "ask";
    }
    const waited = now - this.#askedAt;
    return waited >= DEAD_MS ? "dead" : waited >= LATE_MS ? "late" : null;
  }
}
