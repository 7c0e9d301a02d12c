// Reads the events that the server sends over the socket. Their types are in wire.js, generated from the server's code.

import { DEBUG_PAGE_TYPES, END_USER_TYPES, FIELDS, TURN_TYPES } from "./wire.js";

/** @import { ServerEvent } from "./wire.js" */

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
