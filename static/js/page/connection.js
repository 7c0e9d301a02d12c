// The socket: connects, connects again after a loss, and hands over whole arrays of events.

import { Backoff } from "../models/backoff.js";
import { readFrame } from "../models/protocol.js";

/** @import { Command, ServerEvent } from "../models/wire.js" */

/**
 * @typedef {object} Listener
 * @property {() => void} opened the socket is up: subscribe, and ask again what was not answered
 * @property {(events: ServerEvent[]) => void} received
 * @property {() => void} lost the socket is down and will be tried again
 * @property {(code: number) => void} ended the server does not want this connection any more
 */

/** Close codes after which trying again is pointless: signed out, not allowed, too many pages. */
const FINAL_CODES = new Set([4401, 4403, 4408]);
/** Close code for "too fast": wait longer before the next attempt. */
const TOO_FAST = 4429;
const TOO_FAST_WAIT_MS = 10_000;
/** A page that was hidden for this long may hold a socket whose other end is gone without a word. */
const SUSPICIOUS_MS = 30_000;
/** How long a probe may stay unanswered before the socket is given up. */
const PROBE_MS = 5_000;

export class Connection {
  #path;
  #listener;
  #backoff = new Backoff();
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {number | undefined} */
  #retry;
  /** @type {number | undefined} */
  #probe;
  #hiddenAt = 0;
  #heardAt = 0;
  #over = false;

  /**
   * @param {string} path
   * @param {Listener} listener
   */
  constructor(path, listener) {
    this.#path = path;
    this.#listener = listener;
  }

  start() {
    document.addEventListener("visibilitychange", this.#looked);
    addEventListener("online", this.#hurry);
    addEventListener("pagehide", this.#leave);
    addEventListener("pageshow", this.#hurry);
    this.#connect();
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Milliseconds since the last word from the server. */
  get silence() {
    return performance.now() - this.#heardAt;
  }

  /**
   * Sends now, or says that it could not: what must not be lost is asked again when the socket opens.
   * @param {Command} command
   * @returns {boolean}
   */
  send(command) {
    if (!this.isOpen) return false;
    this.#socket?.send(JSON.stringify(command));
    return true;
  }

  /**
   * Asks something that the server always answers; without an answer the socket is taken for dead.
   * @param {Command} command
   */
  probe(command) {
    if (this.#probe !== undefined || !this.send(command)) return;
    this.#probe = setTimeout(() => this.#drop(), PROBE_MS);
  }

  #connect() {
    clearTimeout(this.#retry);
    if (this.#over) return;
    const address = new URL(this.#path, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.addEventListener("open", () => this.#opened(socket));
    socket.addEventListener("message", (event) => this.#heard(socket, event));
    socket.addEventListener("close", (event) => this.#closed(socket, event.code));
  }

  /** @param {WebSocket} socket */
  #opened(socket) {
    if (socket !== this.#socket) return;
    this.#heardAt = performance.now();
    this.#listener.opened();
  }

  /**
   * @param {WebSocket} socket
   * @param {MessageEvent} event
   */
  #heard(socket, event) {
    if (socket !== this.#socket || typeof event.data !== "string") return;
    this.#settleProbe();
    this.#heardAt = performance.now();
    // Only a word from the server proves that it is well: a socket that opens and closes at once must not be tried in a
    // rush.
    this.#backoff.reset();
    this.#listener.received(readFrame(event.data));
  }

  /**
   * @param {WebSocket} socket
   * @param {number} code
   */
  #closed(socket, code) {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#settleProbe();
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
    // The other end may be gone, and then the browser waits long before it says "closed".
    this.#closed(socket, 1006);
    this.#hurry();
  }

  #settleProbe() {
    clearTimeout(this.#probe);
    this.#probe = undefined;
  }

  #hurry = () => {
    if (!this.#socket) this.#connect();
  };

  #looked = () => {
    if (document.visibilityState === "hidden") {
      this.#hiddenAt = performance.now();
      return;
    }
    const away = performance.now() - this.#hiddenAt;
    if (this.isOpen && away > SUSPICIOUS_MS && this.silence > SUSPICIOUS_MS) this.#drop();
    else this.#hurry();
  };

  /** A page in the back-forward cache may not hold a socket. */
  #leave = () => {
    const socket = this.#socket;
    this.#socket = null;
    clearTimeout(this.#retry);
    this.#settleProbe();
    socket?.close();
  };
}
