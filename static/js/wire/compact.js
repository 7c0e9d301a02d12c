// Reads the short form of the most frequent events: more text for the open block. chatui/wire/compact.py
// defines it.

/**
 * @typedef {{ turn: string, type: string, message_id: string, block: number, html: string | null }} Open the block that
 * short events are about
 */

const BEAT = "chatui:beat";
const NEXT = -1;

export class Expander {
  /** @type {Open | null} */
  #open = null;

  /**
   * @param {unknown} event as it is in a frame
   * @returns {unknown} the event in full; null for a short one whose block is not known
   */
  expand(event) {
    if (Array.isArray(event)) return this.#expanded(event);
    if (isAboutATurn(event)) this.#open = openBlock(event);
    return event;
  }

  /** @param {unknown[]} short */
  #expanded([number, first, more, removed = 0, closes = 0]) {
    const known = this.#open;
    if (!known) return null;
    const { turn, type, message_id, block } = known;
    const full = { turn, type, message_id, block, sequence_number: number };
    if (more === undefined) {
      known.html = null;
      return { ...full, text: first };
    }
    if (first === NEXT && typeof more === "string") {
      known.block += 1;
      known.html = more;
      return { ...full, block: known.block, html: more };
    }
    const isEdit = typeof first === "number" && typeof more === "string" && typeof removed === "number";
    if (known.html === null || !isEdit) return null;
    const end = known.html.length - first;
    const whole = known.html.slice(0, end - removed) + more + known.html.slice(end);
    known.html = closes ? null : whole;
    return closes ? { ...full, type: "response.delta.flush", html: whole } : { ...full, html: whole };
  }
}

/**
 * A heartbeat is not: it comes while the model is silent, and the next event may be about the block that was open
 * before.
 * @param {unknown} event
 * @returns {event is Record<string, unknown>}
 */
function isAboutATurn(event) {
  return typeof event === "object" && event !== null && "turn" in event && !("type" in event && event.type === BEAT);
}

/**
 * @param {Record<string, unknown>} event
 * @returns {Open | null}
 */
function openBlock({ turn, type, message_id, block, html }) {
  const isDelta = type === "response.delta" || type === "chatui:preamble.delta";
  if (!isDelta || typeof turn !== "string" || typeof message_id !== "string" || typeof block !== "number") return null;
  return { turn, type, message_id, block, html: typeof html === "string" ? html : null };
}
