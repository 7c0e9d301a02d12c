// The waits between attempts to connect: longer each time, with random jitter.

const FIRST_MS = 500;
/** Short, because people wait for it, and because a refused attempt costs a server that is down or starting little. */
const MAX_MS = 5_000;

export class Backoff {
  #attempts = 0;
  #random;

  /** @param {() => number} [random] from 0 to 1 */
  constructor(random = Math.random) {
    this.#random = random;
  }

  /** Milliseconds to wait now. Half of it is random, so that browsers do not all reconnect at the same moment. */
  next() {
    const longest = Math.min(MAX_MS, FIRST_MS * 2 ** this.#attempts);
    this.#attempts += 1;
    return longest / 2 + (longest / 2) * this.#random();
  }

  reset() {
    this.#attempts = 0;
  }
}
