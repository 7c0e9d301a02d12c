// The WebSocket connection to the server. It notices a silent loss, and reconnects after every one.

import { atEnd } from "./dom.js";
import { LANGUAGE } from "../language/words.js";
import { readFrame } from "../wire/protocol.js";
import { PROTOCOL } from "../wire/wire.js";

/** @import { Command, ServerEvent } from "../wire/wire.js" */

/**
 * @typedef {object} Listener
 * @property {() => void} opened the socket is up: subscribe, and send unanswered commands again
 * @property {(events: ServerEvent[]) => void} received
 * @property {() => void} silent nothing arrives any more, though the socket was not closed
 * @property {() => void} recovered after `silent`: something arrived on the same socket
 * @property {() => void} lost the socket is down, and a reconnect will follow
 * @property {(code: number) => void} ended the server refuses this connection for good
 */

/** Close codes after which a reconnect is pointless: signed out, not allowed, too many pages, other release. */
const FINAL_CODES = new Set([4401, 4403, 4408, 4426]);
/** Close code for "too fast": wait longer before the next attempt. */
const TOO_FAST = 4429;
const TOO_FAST_WAIT_MS = 10_000;
/** The socket of a page that was hidden for this long may be dead without an error. */
const SUSPICIOUS_MS = 30_000;
/** How long a new socket may take to open. */
const OPENING_MS = 6_000;
/** How long a hidden page waits before it probes the server. */
const HIDDEN_MS = 20_000;

export class Connection {
  #path;
  #listener;
  #backoff = new Backoff();
  #heartbeat = new Heartbeat();
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {number | undefined} */
  #retry;
  #hiddenAt = 0;
  #heardAt = 0;
  #isSilent = false;
  #over = false;

  /**
   * @param {string} path
   * @param {Listener} listener
   */
  constructor(path, listener) {
    this.#path = path;
    this.#listener = listener;
  }

  /** @param {AbortSignal} signal that ends it */
  start(signal) {
    document.addEventListener("visibilitychange", this.#looked, { signal });
    addEventListener("online", this.#hurry, { signal });
    addEventListener("offline", this.#silent, { signal });
    addEventListener("pagehide", this.#leave, { signal });
    addEventListener("pageshow", this.#hurry, { signal });
    const looking = setInterval(this.#look, LOOK_MS);
    atEnd(signal, () => (clearInterval(looking), this.end()));
    this.#connect();
  }

  /** Whether the socket is open and the server has sent something. */
  get isWell() {
    return this.#isOpen && !this.#isSilent;
  }

  /**
   * Sends now, or returns false: a command that must not be lost is sent again when the connection is back.
   * @param {Command} command
   * @returns {boolean}
   */
  send(command) {
    if (!this.isWell) return false;
    this.#socket?.send(JSON.stringify(command));
    return true;
  }

  get #isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  #connect() {
    clearTimeout(this.#retry);
    if (this.#over) return;
    const address = new URL(this.#path, location.href);
    address.searchParams.set("protocol", String(PROTOCOL));
    address.searchParams.set("language", LANGUAGE);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    this.#heardAt = performance.now();
    socket.addEventListener("open", () => this.#opened(socket));
    socket.addEventListener("message", (event) => this.#onMessage(socket, event));
    socket.addEventListener("close", (event) => this.#closed(socket, event.code));
  }

  /** @param {WebSocket} socket */
  #opened(socket) {
    if (socket !== this.#socket) return;
    this.#heard();
    this.#listener.opened();
  }

  /**
   * @param {WebSocket} socket
   * @param {MessageEvent} event
   */
  #onMessage(socket, event) {
    if (socket !== this.#socket || typeof event.data !== "string") return;
    const wasSilent = this.#isSilent;
    this.#heard();
    // Only a message from the server proves that it works: a socket that opens and closes at once must not be retried
    // in quick succession.
    this.#backoff.reset();
    const events = readFrame(event.data);
    for (const each of events) if (each.type === "chatui:ping") this.send({ type: "pong", number: each.number });
    this.#listener.received(events);
    if (wasSilent) this.#listener.recovered();
  }

  #heard() {
    this.#isSilent = false;
    this.#heardAt = performance.now();
    this.#heartbeat.heard(this.#heardAt);
  }

  #look = () => {
    const now = performance.now();
    if (this.#socket?.readyState === WebSocket.CONNECTING && now - this.#heardAt > OPENING_MS) return this.#drop();
    if (!this.#isOpen || (document.visibilityState === "hidden" && now - this.#heardAt < HIDDEN_MS)) return;
    const verdict = this.#heartbeat.look(now);
    // Also on a silent socket: the answer shows that it works again.
    if (verdict === "ask") this.#socket?.send(JSON.stringify(/** @type {Command} */ ({ type: "probe" })));
    else if (verdict === "late") this.#silent();
    else if (verdict === "dead") this.#drop();
  };

  /** The answer to a probe is late, or the browser says that it is offline. */
  #silent = () => {
    if (!this.isWell) return;
    this.#isSilent = true;
    this.#listener.silent();
  };

  /**
   * @param {WebSocket} socket
   * @param {number} code
   */
  #closed(socket, code) {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#isSilent = false;
    if (FINAL_CODES.has(code)) {
      this.#over = true;
      this.#listener.ended(code);
      return;
    }
    this.#listener.lost();
    this.#retry = setTimeout(() => this.#connect(), (code === TOO_FAST ? TOO_FAST_WAIT_MS : 0) + this.#backoff.next());
  }

  #drop() {
    const socket = this.#socket;
    if (!socket) return;
    socket.close();
    // If the other end is gone, the browser takes long to report the socket as closed.
    this.#closed(socket, 1006);
    this.#hurry();
  }

  #hurry = () => {
    if (!this.#socket) this.#connect();
  };

  #looked = () => {
    if (document.visibilityState === "hidden") {
      this.#hiddenAt = performance.now();
      return;
    }
    // Both: hidden for long, and without a message.
    const silence = performance.now() - Math.max(this.#hiddenAt, this.#heardAt);
    if (this.#isOpen && silence > SUSPICIOUS_MS) this.#drop();
    else this.#hurry();
  };

  /** The person signs out, or another page is shown: nothing is received any more. */
  end() {
    this.#over = true;
    this.#leave();
  }

  /** A page in the back-forward cache may not hold a socket. */
  #leave = () => {
    const socket = this.#socket;
    this.#socket = null;
    clearTimeout(this.#retry);
    socket?.close();
  };
}

// The waits between attempts to connect: longer each time, with random jitter.

const FIRST_MS = 500;
/** Short, because people wait for it, and because a refused attempt costs a server that is down or starting little. */
const MAX_MS = 5_000;

export class Backoff {
  #attempts = 0;
  #random;

  /** @param {() => number} [random] from 0 to 1 */
  constructor(random = Math.random) {
    this.#random = random;
  }

  /** Milliseconds to wait now. Half of it is random, so that browsers do not all reconnect at the same moment. */
  next() {
    const longest = Math.min(MAX_MS, FIRST_MS * 2 ** this.#attempts);
    this.#attempts += 1;
    return longest / 2 + (longest / 2) * this.#random();
  }

  reset() {
    this.#attempts = 0;
  }
}

// Decides from the time of the last message whether the other end of a connection is still alive.

/** After this long without a message, the server is asked for one. */
const ASK_MS = 1_000;
/** The answer is late: the connection counts as lost, though it was not closed. Less than three seconds in total. */
const LATE_MS = 1_500;
/** No answer is expected any more. */
const DEAD_MS = 5_000;

/** How often to check. */
export const LOOK_MS = 200;

export class Heartbeat {
  #heardAt = 0;
  /** @type {number | null} */
  #askedAt = null;

  /** @param {number} now milliseconds; the connection opened, or a message arrived */
  heard(now) {
    this.#heardAt = now;
    this.#askedAt = null;
  }

  /**
   * What to do about the silence. An answer is requested once, however late this check runs: background pages check
   * rarely, which says nothing about the server.
   * @param {number} now milliseconds
   * @returns {"ask" | "late" | "dead" | null}
   */
  look(now) {
    if (this.#askedAt === null) {
      if (now - this.#heardAt < ASK_MS) return null;
      this.#askedAt = now;
      return "ask";
    }
    const waited = now - this.#askedAt;
    return waited >= DEAD_MS ? "dead" : waited >= LATE_MS ? "late" : null;
  }
}
