// The words that the page and the server exchange over the socket, and the one function that reads them.

/**
 * @typedef {"send" | "edit" | "regenerate" | "continue"} Kind
 * @typedef {"final" | "preamble"} PartKind
 * @typedef {{ message_id: string, kind: PartKind, blocks: string[] }} SnapshotMessage
 * @typedef {Record<string, string>} FrameHeader
 *
 * @typedef {{ type: "subscribe", conversation: string }} Subscribe
 * @typedef {{ type: "watch", conversation: string }} Watch
 * @typedef {{ type: "stop", conversation: string, turn: string }} Stop
 * @typedef {{ type: "send", client_id: string, conversation: string | null, text: string, effort: string, choice: string }} Send
 * @typedef {{ type: "edit", client_id: string, conversation: string, question: string, text: string, effort: string, choice: string }} Edit
 * @typedef {{ type: "regenerate", client_id: string, conversation: string, question: string, effort: string, choice: string }} Regenerate
 * @typedef {{ type: "continue", client_id: string, conversation: string, turn: string }} Continue
 * @typedef {Send | Edit | Regenerate | Continue} Ask
 * @typedef {Subscribe | Watch | Stop | Ask} Command
 *
 * @typedef {{ type: "chatui:accepted", client_id: string, conversation: string, turn: string, question: string, url: string }} Accepted
 * @typedef {{ type: "chatui:refused", client_id?: string, code: string, message: string }} Refused
 * @typedef {{ type: "response.created", conversation: string, turn: string, question: string, after?: string | null, kind: Kind, continues?: string | null }} Created
 * @typedef {{ type: "chatui:working", turn: string, elapsed: number }} Working
 * @typedef {{ type: "chatui:summary", turn: string, text: string }} SummaryStep
 * @typedef {{ type: "chatui:thought", turn: string, seconds: number }} ThoughtEnded
 * @typedef {{ type: "chatui:message", turn: string, message_id: string, kind: PartKind, continues?: string | null, blocks?: number | null }} MessageBegan
 * @typedef {{ type: "chatui:relabelled", turn: string, message_id: string, kind: PartKind }} Relabelled
 * @typedef {{ type: "response.delta" | "chatui:preamble.delta", turn: string, message_id: string, block: number, html?: string, text?: string }} Delta
 * @typedef {{ type: "response.delta.flush", turn: string, message_id: string, block: number, html: string }} Flush
 * @typedef {{ type: "response.completed" | "response.incomplete" | "response.failed" | "response.cancel", turn: string, code?: string | null, message?: string | null, elapsed: number }} Ended
 * @typedef {{ type: "chatui:snapshot", turn: string, sequence_number: number, elapsed: number, working: boolean, steps: string[], thought?: number | null, messages: SnapshotMessage[] }} Snapshot
 * @typedef {{ type: "chatui:idle", conversation: string, turn?: string | null, state?: string }} Idle
 * @typedef {{ type: "chatui:title", conversation: string, title: string }} Title
 * @typedef {{ type: "chatui:bye", code: string, message: string }} Bye
 * @typedef {{ type: "chatui:frame.opened", turn: string, message_id: string, header: FrameHeader, why_hidden?: string | null }} FrameOpened
 * @typedef {{ type: "chatui:frame.delta", turn: string, message_id: string, text: string }} FrameDelta
 * @typedef {{ type: "chatui:frame.closed", turn: string, message_id: string, terminator?: string | null, code?: string | null }} FrameClosed
 * @typedef {{ message_id: string, header: FrameHeader, why_hidden?: string | null, text: string, open: boolean }} SnapshotFrame
 * @typedef {{ type: "chatui:debug.snapshot", turn: string, sequence_number: number, frames: SnapshotFrame[] }} DebugSnapshot
 * @typedef {Created | Working | SummaryStep | ThoughtEnded | MessageBegan | Relabelled | Delta | Flush | Ended | FrameOpened | FrameDelta | FrameClosed} TurnEvent one step of a turn; numbered
 * @typedef {Accepted | Refused | TurnEvent | Snapshot | Idle | Title | Bye | DebugSnapshot} ServerEvent
 */

/** Per type, the fields that must be there as text. What is missing one of them is not an event of ours and is left out. */
const TEXT_FIELDS = /** @type {Readonly<Record<ServerEvent["type"], readonly string[]>>} */ ({
  "chatui:accepted": ["client_id", "conversation", "turn", "question", "url"],
  "chatui:refused": ["message"],
  "response.created": ["turn", "question", "kind"],
  "chatui:working": ["turn"],
  "chatui:summary": ["turn", "text"],
  "chatui:thought": ["turn"],
  "chatui:message": ["turn", "message_id", "kind"],
  "chatui:relabelled": ["turn", "message_id", "kind"],
  "response.delta": ["turn", "message_id"],
  "chatui:preamble.delta": ["turn", "message_id"],
  "response.delta.flush": ["turn", "message_id", "html"],
  "response.completed": ["turn"],
  "response.incomplete": ["turn"],
  "response.failed": ["turn"],
  "response.cancel": ["turn"],
  "chatui:snapshot": ["turn"],
  "chatui:idle": ["conversation"],
  "chatui:title": ["conversation", "title"],
  "chatui:bye": ["message"],
  "chatui:frame.opened": ["turn", "message_id"],
  "chatui:frame.delta": ["turn", "message_id", "text"],
  "chatui:frame.closed": ["turn", "message_id"],
  "chatui:debug.snapshot": ["turn"],
});

/**
 * The events in one socket frame, a JSON array. What is not ours is left out, so that an older page survives a newer server.
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

/** Types of events that are numbered within their turn. Replies and snapshots are not: they stand for themselves. */
const NUMBERED = new Set(/** @type {string[]} */ ([
  "response.created",
  "chatui:working",
  "chatui:summary",
  "chatui:thought",
  "chatui:message",
  "chatui:relabelled",
  "response.delta",
  "chatui:preamble.delta",
  "response.delta.flush",
  "response.completed",
  "response.incomplete",
  "response.failed",
  "response.cancel",
  "chatui:frame.opened",
  "chatui:frame.delta",
  "chatui:frame.closed",
]));

/**
 * @param {ServerEvent} event
 * @returns {event is TurnEvent & { sequence_number?: number }}
 */
export function isTurnEvent(event) {
  return NUMBERED.has(event.type);
}

/**
 * @param {unknown} value
 * @returns {value is ServerEvent}
 */
function isEvent(value) {
  if (typeof value !== "object" || value === null) return false;
  const event = /** @type {Record<string, unknown>} */ (value);
  if (typeof event.type !== "string" || !Object.hasOwn(TEXT_FIELDS, event.type)) return false;
  return TEXT_FIELDS[/** @type {ServerEvent["type"]} */ (event.type)].every((name) => typeof event[name] === "string");
}
