// The matching messages that the page has not loaded.

import { t } from "../language/words.js";

export class Elsewhere {
  #messages;
  #isKnown = true;

  /** @param {string[]} messages all that match, in order: those on the page divide the rest into above and below */
  constructor(messages) {
    this.#messages = messages;
  }

  /** The server could not be reached. */
  static unknown() {
    const elsewhere = new Elsewhere([]);
    elsewhere.#isKnown = false;
    return elsewhere;
  }

  /**
   * The nearest one in that direction, or the first one from the other end; null if there is none.
   * @param {1 | -1} by
   */
  next(by) {
    const { above, below } = this.#parts();
    return [...below, ...above].at(by > 0 ? 0 : -1) ?? null;
  }

  /**
   * @param {number} current -1 for none
   * @param {number} count of matches on the page
   */
  sentence(current, count) {
    const { above, below } = this.#parts();
    const isElsewhere = above.length + below.length > 0;
    const none = isElsewhere ? t("No match in this part.") : t("No matches.");
    const here = count ? t("Match %(place)s of %(count)s.", { place: current + 1, count }) : none;
    const earlier = above.length ? t("Messages above: %(count)s.", { count: above.length }) : "";
    const later = below.length ? t("Messages below: %(count)s.", { count: below.length }) : "";
    const unknown = this.#isKnown ? "" : t("Other parts of the conversation could not be searched.");
    return [here, earlier, later, unknown].filter(Boolean).join(" ");
  }

  /** More of the conversation may have been loaded since. */
  #parts() {
    const all = this.#messages;
    const loaded = all.map((id) => document.getElementById(`m-${id}`) !== null);
    const [first, last] = [loaded.indexOf(true), loaded.lastIndexOf(true)];
    if (first >= 0) return { above: all.slice(0, first), below: all.slice(last + 1) };
    const isAbove = document.querySelector("[data-more='earlier']") !== null;
    return isAbove ? { above: all, below: [] } : { above: [], below: all };
  }
}
