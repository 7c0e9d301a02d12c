// Reads the events that the server sends over the socket. Their types are in wire.js, generated from the server's code.

import { Expander } from "./compact.js";
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
 * @param {Expander} expander one for each socket: it expands short events
 * @returns {ServerEvent[]}
 */
export function readFrame(frame, expander = new Expander()) {
  /** @type {unknown} */
  let events;
  try {
    events = JSON.parse(frame);
  } catch {
    return [];
  }
  return Array.isArray(events) ? events.map((event) => expander.expand(event)).filter(isEvent) : [];
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
