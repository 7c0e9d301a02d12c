// What the page and the server say to each other over the socket: types, and which fields an event must have.
// Made from chatui/wire by `make wire`. Do not change it by hand: a test compares the two.

/**
 * @typedef {"final" | "preamble" | "tool"} PartKind
 * @typedef {{ sentences: Record<string, string>, about: string[] }} SummaryLine
 * @typedef {{ message_id: string, kind: PartKind, blocks: string[] }} MessageSoFar
 * @typedef {{ message_id: string, header: Record<string, string>, why_hidden?: string | null, text: string,
 *   open: boolean }} FrameSoFar
 * @typedef {{ id: string, use: string, places: string }} FileUse
 * @typedef {{ has: string[], finals: string[], facts: string[], at?: string | null, verdict?: string | null }}
 *   AnswerRow
 * @typedef {{ type: "send", client_id: string, conversation: string | null, folder: string | null,
 *   assistant: string | null, collections: string | null, text: string, effort: string, choice: string | null,
 *   tools_off: string | null, answer_format: string | null, temporary: boolean | null, files: FileUse[] | null }} Send
 * @typedef {{ type: "edit", client_id: string, conversation: string, question: string, text: string, effort: string,
 *   choice: string | null, files: FileUse[] | null }} Edit
 * @typedef {{ type: "regenerate", client_id: string, conversation: string, question: string, effort: string,
 *   choice: string | null, stays_with: string | null }} Regenerate
 * @typedef {{ type: "continue", client_id: string, conversation: string, turn: string }} Continue
 * @typedef {{ type: "stop", conversation: string, turn: string }} Stop
 * @typedef {{ type: "answer_now", conversation: string, turn: string }} AnswerNow
 * @typedef {{ type: "make_way", conversation: string, turn: string, is_wanted: boolean }} MakeWay
 * @typedef {{ type: "subscribe", conversation: string }} Subscribe
 * @typedef {{ type: "see", conversation: string }} See
 * @typedef {{ type: "watch", conversation: string }} Watch
 * @typedef {{ type: "pong", number: number }} Pong
 * @typedef {{ type: "probe" }} Probe
 * @typedef {Send | Edit | Regenerate | Continue} Ask
 * @typedef {Send | Edit | Regenerate | Continue | Stop | AnswerNow | MakeWay | Subscribe | See | Watch | Pong | Probe}
 *   Command
 * @typedef {{ type: "chatui:accepted", client_id: string, conversation: string, turn: string, question: string,
 *   url: string, title: string, percent?: number | null, until?: string | null }} Accepted
 * @typedef {{ type: "chatui:refused", client_id?: string | null, code: string, until?: string | null,
 *   contact?: string | null }} Refused
 * @typedef {{ type: "chatui:idle", conversation: string, turn?: string | null, state?: string | null }} Idle
 * @typedef {{ type: "chatui:title", conversation: string, title: string }} TitleChanged
 * @typedef {{ type: "chatui:listed", conversation: string, url: string, title: string, updated_at: string,
 *   is_imported: boolean, is_copy: boolean, is_running: boolean, has_news: boolean, is_pinned: boolean, folder: string
 *   }} Listed
 * @typedef {{ type: "chatui:answered", conversation: string, updated_at: string, has_news: boolean }} Answered
 * @typedef {{ type: "chatui:seen", conversation: string }} AnswerSeen
 * @typedef {{ type: "chatui:waits", conversation: string, waits: boolean }} AnswerWaits
 * @typedef {{ type: "chatui:archived", conversation: string }} Archived
 * @typedef {{ type: "chatui:unlisted", conversation: string }} Unlisted
 * @typedef {{ type: "chatui:folder", folder: string, name: string, before: string }} FolderKept
 * @typedef {{ type: "chatui:folder.gone", folder: string }} FolderGone
 * @typedef {{ type: "chatui:rated", conversation: string, message: string, verdict: string }} Rated
 * @typedef {{ type: "chatui:closing", code: string }} Closing
 * @typedef {{ type: "chatui:ping", number: number }} Ping
 * @typedef {{ type: "chatui:alive" }} Alive
 * @typedef {{ type: "response.created", turn: string, sequence_number: number, conversation: string, question: string,
 *   after?: string | null, kind: string, continued_turn?: string | null, html?: string | null,
 *   language?: string | null, choice?: string | null, effort?: string | null }} TurnCreated
 * @typedef {{ type: "chatui:working", turn: string, sequence_number: number, elapsed: number, can_answer_now: boolean
 *   }} WorkingBegan
 * @typedef {{ type: "chatui:summary", turn: string, sequence_number: number, line: SummaryLine }} SummaryStep
 * @typedef {{ type: "chatui:asked", turn: string, sequence_number: number, line?: SummaryLine | null }} AskedFor
 * @typedef {{ type: "chatui:thought", turn: string, sequence_number: number, seconds: number }} ThoughtEnded
 * @typedef {{ type: "chatui:message", turn: string, sequence_number: number, message_id: string, kind: PartKind,
 *   continued_message?: string | null, blocks?: number | null }} MessageBegan
 * @typedef {{ type: "chatui:relabelled", turn: string, sequence_number: number, message_id: string, kind: PartKind }}
 *   MessageRelabelled
 * @typedef {{ type: "chatui:withdrawn", turn: string, sequence_number: number, message_id: string }} MessageWithdrawn
 * @typedef {{ type: "response.delta" | "chatui:preamble.delta", turn: string, sequence_number: number,
 *   message_id: string, block: number, html: string }} BlockReplaced
 * @typedef {{ type: "response.delta" | "chatui:preamble.delta", turn: string, sequence_number: number,
 *   message_id: string, block: number, text: string }} BlockGrew
 * @typedef {{ type: "response.delta.flush", turn: string, sequence_number: number, message_id: string, block: number,
 *   html: string }} BlockFlushed
 * @typedef {{ type: "chatui:queued", turn: string, sequence_number: number, place: number }} Queued
 * @typedef {{ type: "chatui:calls_wait", turn: string, sequence_number: number, count: number, told?: number | null }}
 *   CallsWait
 * @typedef {{ type: "chatui:files", turn: string, sequence_number: number, count: number }} FilesCame
 * @typedef {{ type: "chatui:progress", turn: string, sequence_number: number, server: string, percent?: number | null,
 *   words?: string | null }} ToolProgress
 * @typedef {{ type: "chatui:checking" | "chatui:saving", turn: string, sequence_number: number }} Delayed
 * @typedef {{ type: "response.completed" | "response.incomplete" | "response.failed" | "response.cancel", turn: string,
 *   sequence_number: number, state: string, code?: string | null, elapsed: number, context?: number | null,
 *   left_out?: number | null, row?: AnswerRow | null, html?: string | null, language?: string | null }} TurnEnded
 * @typedef {{ type: "chatui:beat", turn: string, sequence_number: number }} Beat
 * @typedef {{ type: "chatui:snapshot", turn: string, sequence_number: number, elapsed: number, working: boolean,
 *   steps: SummaryLine[], thought?: number | null, messages: MessageSoFar[], place: number, can_answer_now: boolean,
 *   calls_wait: number, files: number, delay?: "chatui:checking" | "chatui:saving" | null, asked?: SummaryLine | null,
 *   uses_tool?: boolean | null, told?: number | null }} Snapshot
 * @typedef {{ type: "chatui:frame.opened", turn: string, sequence_number: number, message_id: string,
 *   header: Record<string, string>, why_hidden?: string | null }} FrameBegan
 * @typedef {{ type: "chatui:frame.delta", turn: string, sequence_number: number, message_id: string, text: string }}
 *   FrameGrew
 * @typedef {{ type: "chatui:frame.withdrawn", turn: string, sequence_number: number, message_id: string,
 *   header: Record<string, string>, why_hidden?: string | null }} FrameHidden
 * @typedef {{ type: "chatui:frame.closed", turn: string, sequence_number: number, message_id: string,
 *   terminator?: string | null, code?: string | null }} FrameEnded
 * @typedef {{ type: "chatui:debug.snapshot", turn: string, sequence_number: number, frames: FrameSoFar[] }}
 *   DebugSnapshot
 * @typedef {TurnCreated | WorkingBegan | SummaryStep | AskedFor | ThoughtEnded | MessageBegan | MessageRelabelled |
 *   MessageWithdrawn | BlockReplaced | BlockGrew | BlockFlushed | Queued | CallsWait | FilesCame | ToolProgress |
 *   Delayed | TurnEnded | FrameBegan | FrameGrew | FrameHidden | FrameEnded} TurnEvent
 * @typedef {Accepted | Refused | Idle | TitleChanged | Listed | Answered | AnswerSeen | AnswerWaits | Archived |
 *   Unlisted | FolderKept | FolderGone | Rated | Closing | Ping | Alive | TurnCreated | WorkingBegan | SummaryStep |
 *   AskedFor | ThoughtEnded | MessageBegan | MessageRelabelled | MessageWithdrawn | BlockReplaced | BlockGrew |
 *   BlockFlushed | Queued | CallsWait | FilesCame | ToolProgress | Delayed | TurnEnded | Beat | Snapshot} EndUserEvent
 * @typedef {Refused | Idle | TitleChanged | Closing | Ping | Alive | FrameBegan | FrameGrew | FrameHidden | FrameEnded
 *   | DebugSnapshot} DebugPageEvent
 * @typedef {EndUserEvent | DebugPageEvent} ServerEvent
 */

export const PROTOCOL = 10;

export const END_USER_TYPES = /** @type {readonly string[]} */ (Object.freeze([
  "chatui:accepted", "chatui:refused", "chatui:idle", "chatui:title", "chatui:listed", "chatui:answered", "chatui:seen",
    "chatui:waits", "chatui:archived", "chatui:unlisted", "chatui:folder", "chatui:folder.gone", "chatui:rated",
    "chatui:closing", "chatui:ping", "chatui:alive", "response.created", "chatui:working", "chatui:summary",
    "chatui:asked", "chatui:thought", "chatui:message", "chatui:relabelled", "chatui:withdrawn", "response.delta",
    "chatui:preamble.delta", "response.delta.flush", "chatui:queued", "chatui:calls_wait", "chatui:files",
    "chatui:progress", "chatui:checking", "chatui:saving", "response.completed", "response.incomplete",
    "response.failed", "response.cancel", "chatui:beat", "chatui:snapshot",
]));

export const DEBUG_PAGE_TYPES = /** @type {readonly string[]} */ (Object.freeze([
  "chatui:refused", "chatui:idle", "chatui:title", "chatui:closing", "chatui:ping", "chatui:alive",
    "chatui:frame.opened", "chatui:frame.delta", "chatui:frame.withdrawn", "chatui:frame.closed",
    "chatui:debug.snapshot",
]));

export const TURN_TYPES = /** @type {readonly string[]} */ (Object.freeze([
  "response.created", "chatui:working", "chatui:summary", "chatui:asked", "chatui:thought", "chatui:message",
    "chatui:relabelled", "chatui:withdrawn", "response.delta", "chatui:preamble.delta", "response.delta.flush",
    "chatui:queued", "chatui:calls_wait", "chatui:files", "chatui:progress", "chatui:checking", "chatui:saving",
    "response.completed", "response.incomplete", "response.failed", "response.cancel", "chatui:frame.opened",
    "chatui:frame.delta", "chatui:frame.withdrawn", "chatui:frame.closed",
]));

/**
 * What an event of each type must have: all fields of one of these, with what `typeof` says of them.
 * @type {Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>}
 */
export const FIELDS = {
  "chatui:accepted": [{ client_id: "string", conversation: "string", turn: "string", question: "string", url: "string",
    title: "string" }],
  "chatui:refused": [{ code: "string" }],
  "chatui:idle": [{ conversation: "string" }],
  "chatui:title": [{ conversation: "string", title: "string" }],
  "chatui:listed": [{ conversation: "string", url: "string", title: "string", updated_at: "string",
    is_imported: "boolean", is_copy: "boolean", is_running: "boolean", has_news: "boolean", is_pinned: "boolean",
    folder: "string" }],
  "chatui:answered": [{ conversation: "string", updated_at: "string", has_news: "boolean" }],
  "chatui:seen": [{ conversation: "string" }],
  "chatui:waits": [{ conversation: "string", waits: "boolean" }],
  "chatui:archived": [{ conversation: "string" }],
  "chatui:unlisted": [{ conversation: "string" }],
  "chatui:folder": [{ folder: "string", name: "string", before: "string" }],
  "chatui:folder.gone": [{ folder: "string" }],
  "chatui:rated": [{ conversation: "string", message: "string", verdict: "string" }],
  "chatui:closing": [{ code: "string" }],
  "chatui:ping": [{ number: "number" }],
  "chatui:alive": [{  }],
  "response.created": [{ turn: "string", sequence_number: "number", conversation: "string", question: "string",
    kind: "string" }],
  "chatui:working": [{ turn: "string", sequence_number: "number", elapsed: "number", can_answer_now: "boolean" }],
  "chatui:summary": [{ turn: "string", sequence_number: "number", line: "object" }],
  "chatui:asked": [{ turn: "string", sequence_number: "number" }],
  "chatui:thought": [{ turn: "string", sequence_number: "number", seconds: "number" }],
  "chatui:message": [{ turn: "string", sequence_number: "number", message_id: "string", kind: "string" }],
  "chatui:relabelled": [{ turn: "string", sequence_number: "number", message_id: "string", kind: "string" }],
  "chatui:withdrawn": [{ turn: "string", sequence_number: "number", message_id: "string" }],
  "response.delta": [{ turn: "string", sequence_number: "number", message_id: "string", block: "number", html: "string"
    }, { turn: "string", sequence_number: "number", message_id: "string", block: "number", text: "string" }],
  "chatui:preamble.delta": [{ turn: "string", sequence_number: "number", message_id: "string", block: "number",
    html: "string" }, { turn: "string", sequence_number: "number", message_id: "string", block: "number", text: "string"
    }],
  "response.delta.flush": [{ turn: "string", sequence_number: "number", message_id: "string", block: "number",
    html: "string" }],
  "chatui:queued": [{ turn: "string", sequence_number: "number", place: "number" }],
  "chatui:calls_wait": [{ turn: "string", sequence_number: "number", count: "number" }],
  "chatui:files": [{ turn: "string", sequence_number: "number", count: "number" }],
  "chatui:progress": [{ turn: "string", sequence_number: "number", server: "string" }],
  "chatui:checking": [{ turn: "string", sequence_number: "number" }],
  "chatui:saving": [{ turn: "string", sequence_number: "number" }],
  "response.completed": [{ turn: "string", sequence_number: "number", state: "string", elapsed: "number" }],
  "response.incomplete": [{ turn: "string", sequence_number: "number", state: "string", elapsed: "number" }],
  "response.failed": [{ turn: "string", sequence_number: "number", state: "string", elapsed: "number" }],
  "response.cancel": [{ turn: "string", sequence_number: "number", state: "string", elapsed: "number" }],
  "chatui:beat": [{ turn: "string", sequence_number: "number" }],
  "chatui:snapshot": [{ turn: "string", sequence_number: "number", elapsed: "number", working: "boolean",
    steps: "array", messages: "array", place: "number", can_answer_now: "boolean", calls_wait: "number", files: "number"
    }],
  "chatui:frame.opened": [{ turn: "string", sequence_number: "number", message_id: "string", header: "object" }],
  "chatui:frame.delta": [{ turn: "string", sequence_number: "number", message_id: "string", text: "string" }],
  "chatui:frame.withdrawn": [{ turn: "string", sequence_number: "number", message_id: "string", header: "object" }],
  "chatui:frame.closed": [{ turn: "string", sequence_number: "number", message_id: "string" }],
  "chatui:debug.snapshot": [{ turn: "string", sequence_number: "number", frames: "array" }],
};
