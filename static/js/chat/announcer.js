// Announces the progress of a turn to screen readers and in the title of a background tab.

import { t } from "../language/words.js";
import { Announcements } from "../models/announcements.js";

/** @import { TabTitle } from "./tab-title.js" */

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
