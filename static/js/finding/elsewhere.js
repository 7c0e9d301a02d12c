// The messages with a match that the page has not loaded, and what is kept while one of them is opened.

const KEY = "chatui:find";

/** @typedef {{ conversation: string, text: string, message: string }} Kept */

export class Elsewhere {
  #messages;
  #isKnown = true;

  /** @param {string[]} messages all with a match, in order: those on the page divide them into above and below */
  constructor(messages) {
    this.#messages = messages;
  }

  /** The server could not be asked. */
  static unknown() {
    const elsewhere = new Elsewhere([]);
    elsewhere.#isKnown = false;
    return elsewhere;
  }

  /**
   * The nearest one in that direction, or null.
   * @param {1 | -1} by
   */
  next(by) {
    const { above, below } = this.#parts();
    return (by > 0 ? below[0] : above.at(-1)) ?? null;
  }

  /**
   * @param {number} current -1 for none
   * @param {number} count of matches on the page
   */
  sentence(current, count) {
    const { above, below } = this.#parts();
    const isElsewhere = above.length + below.length > 0;
    const here = count ? `Match ${current + 1} of ${count}.` : isElsewhere ? "No match on this part." : "No matches.";
    const earlier = above.length ? `Messages above: ${above.length}.` : "";
    const later = below.length ? `Messages below: ${below.length}.` : "";
    const unknown = this.#isKnown ? "" : "Other parts of the conversation could not be searched.";
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

/** @param {Kept} kept for the page that shows the message */
export function keepForNextPage(kept) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // Then the message is opened, and the bar is not.
  }
}

/** @returns {Kept | null} */
export function takeFromLastPage() {
  try {
    const kept = /** @type {unknown} */ (JSON.parse(sessionStorage.getItem(KEY) ?? "null"));
    sessionStorage.removeItem(KEY);
    return typeof kept === "object" ? /** @type {Kept | null} */ (kept) : null;
  } catch {
    return null;
  }
}
