// Reads the events that the server sends over the socket. Their types are in wire.js, generated from the server's code.

import { DEBUG_PAGE_TYPES, END_USER_TYPES, FIELDS, TURN_TYPES } from "./wire.js";

/** @import { ServerEvent } from "./wire.js" */

/** How a turn ended, as the server names its state, by the event that says so. */
export const STATE_OF = Object.freeze({
  "response.completed": "completed",
  "response.incomplete": "incomplete",
  "response.failed": "failed",
  "response.cancel": "stopped",
});

/**
 * The events in one socket frame, a JSON array. Unknown events are left out, so that an older page works with a newer
 * server.
 * @param {string} frame
 * @returns {ServerEvent[]}
 */
export function readFrame(frame) {
  /** @type {unknown} */
  let events;
  try {
    events = JSON.parse(frame);
  } catch {
    return [];
  }
  return Array.isArray(events) ? events.filter(isEvent) : [];
}

/**
 * Whether an event is a step of a turn, and so has a number. Replies and snapshots are not.
 * @param {ServerEvent} event
 * @returns {event is import("./wire.js").TurnEvent}
 */
export function isTurnEvent(event) {
  return TURN_TYPES.includes(event.type);
}

/**
 * @param {ServerEvent} event
 * @returns {event is import("./wire.js").EndUserEvent}
 */
export function isEndUserEvent(event) {
  return END_USER_TYPES.includes(event.type);
}

/**
 * @param {ServerEvent} event
 * @returns {event is import("./wire.js").DebugPageEvent}
 */
export function isDebugPageEvent(event) {
  return DEBUG_PAGE_TYPES.includes(event.type);
}

/**
 * The default case of a switch that handles every event. TypeScript reports an error here if one is missing.
 * @param {never} event
 */
export function unhandled(event) {
  return event;
}

/**
 * @param {unknown} value
 * @returns {value is ServerEvent}
 */
function isEvent(value) {
  if (typeof value !== "object" || value === null) return false;
  const event = /** @type {Record<string, unknown>} */ (value);
  if (typeof event.type !== "string" || !Object.hasOwn(FIELDS, event.type)) return false;
  const ways = FIELDS[event.type] ?? [];
  return ways.some((fields) => Object.entries(fields).every(([name, kind]) => kindOf(event[name]) === kind));
}

/** @param {unknown} value */
function kindOf(value) {
  return Array.isArray(value) ? "array" : typeof value;
}

// Checks the sequence numbers of a turn's events: each is the next one, a duplicate, or one after a gap.

/** @typedef {"apply" | "drop" | "gap"} Verdict */

export class Sequence {
  /** @type {Map<string, number>} */
  #last = new Map();

  /**
   * @param {string} turn
   * @param {number | undefined} number the event's sequence_number; events without one are always applied
   * @param {boolean} [begins] whether this event begins the turn
   * @returns {Verdict}
   */
  admit(turn, number, begins = false) {
    if (typeof number !== "number") return "apply";
    const last = this.#last.get(turn);
    if (last === undefined && !begins) return "gap";
    if (last !== undefined && number <= last) return "drop";
    if (last !== undefined && number > last + 1) return "gap";
    this.#last.set(turn, number);
    return "apply";
  }

  /**
   * Whether events up to this number are missing.
   * @param {string} turn
   * @param {number} number
   */
  lacks(turn, number) {
    return (this.#last.get(turn) ?? 0) < number;
  }

  /**
   * A snapshot holds everything up to and including this number.
   * @param {string} turn
   * @param {number} number
   */
  resume(turn, number) {
    this.#last.set(turn, number);
  }
}
