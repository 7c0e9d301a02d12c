// What a screen reader is told about a turn: each sentence once, and nothing per token.

/** @typedef {"thinking" | "ready" | "stopped" | "problem"} Moment */

const SENTENCES = /** @type {Readonly<Record<Moment, string>>} */ ({
  thinking: "Thinking",
  ready: "Answer ready",
  stopped: "Stopped",
  problem: "The answer was not finished",
});

export class Announcements {
  /** @type {Set<string>} */
  #said = new Set();

  /**
   * The sentence to say now, or null when this was said before or the turn's end has been told.
   * @param {string} turn
   * @param {Moment} moment
   * @param {string | null} [sentence] a more exact one, as the server worded it
   * @returns {string | null}
   */
  say(turn, moment, sentence = null) {
    const key = moment === "thinking" ? `${turn} thinking` : `${turn} end`;
    if (this.#said.has(key) || this.#said.has(`${turn} end`)) return null;
    this.#said.add(key);
    return sentence ?? SENTENCES[moment];
  }
}
