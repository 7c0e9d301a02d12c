// Announces the progress of a turn to screen readers and in the title of a background tab.

import { t, tc } from "../language/words.js";

/** @import { TabTitle } from "./connection-banner.js" */

export class Announcer {
  #line;
  #tab;
  #announcements = new Announcements();

  /**
   * @param {HTMLElement} line the live region
   * @param {TabTitle} tab
   */
  constructor(line, tab) {
    this.#line = line;
    this.#tab = tab;
  }

  /** @param {string | null | void} sentence */
  say(sentence) {
    if (sentence) this.#line.textContent = sentence;
  }

  /** @param {string} turn */
  thinking(turn) {
    this.say(this.#announcements.say(turn, "thinking"));
  }

  /**
   * @param {string} turn
   * @param {string} state
   * @param {string | null} [sentence] what the server says about a problem
   */
  ended(turn, state, sentence = null) {
    const moment = state === "completed" ? "ready" : state === "stopped" ? "stopped" : "problem";
    const text = this.#announcements.say(turn, moment, moment === "problem" ? sentence : null);
    this.say(text);
    if (text && moment !== "stopped") this.#tab.tell(moment === "ready" ? t("Answer ready") : t("Not finished"));
  }
}

// The sentences about a turn for screen readers: each is announced once, and tokens never.

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
