// Tells from the time of the last message whether the other end of a connection is still there.

/** After so long without a message, the server is asked for one. */
const ASK_MS = 1_000;
/** The answer is late: the connection counts as lost, though nobody has closed it. Less than three seconds in all. */
const LATE_MS = 1_500;
/** There will be no answer any more. */
const DEAD_MS = 5_000;

/** How often to look. */
export const LOOK_MS = 200;

export class Heartbeat {
  #heardAt = 0;
  /** @type {number | null} */
  #askedAt = null;

  /** @param {number} now milliseconds; the connection opened, or a message came */
  heard(now) {
    this.#heardAt = now;
    this.#askedAt = null;
  }

  /**
   * What follows from the silence. An answer is asked for once, however late somebody looks: a page in the background
   * does so rarely, and that is not the server's silence.
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
