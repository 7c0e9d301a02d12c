// The sentences about a turn for screen readers: each is announced once, and tokens never.

import { t, tc } from "../language/words.js";

/** @typedef {"thinking" | "ready" | "stopped" | "problem"} Moment */

const SENTENCES = /** @type {Readonly<Record<Moment, string>>} */ ({
  thinking: t("Thinking"),
  ready: t("Answer ready"),
  stopped: tc("an answer", "Stopped"),
  problem: t("The answer was not finished"),
});

export class Announcements {
  /** @type {Set<string>} */
  #announced = new Set();

  /**
   * The sentence to announce, or null if it, or the end of the turn, was already announced.
   * @param {string} turn
   * @param {Moment} moment
   * @param {string | null} [sentence] a more exact one from the server
   * @returns {string | null}
   */
  say(turn, moment, sentence = null) {
    const key = moment === "thinking" ? `${turn} thinking` : `${turn} end`;
    if (this.#announced.has(key) || this.#announced.has(`${turn} end`)) return null;
    this.#announced.add(key);
    return sentence ?? SENTENCES[moment];
  }
}
