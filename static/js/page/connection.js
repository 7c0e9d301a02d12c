// The WebSocket connection to the server. It reconnects after a loss.

import { Backoff } from "../models/backoff.js";
import { Expander } from "../wire/compact.js";
import { readFrame } from "../wire/protocol.js";
import { PROTOCOL } from "../wire/wire.js";

/** @import { Command, ServerEvent } from "../wire/wire.js" */

/**
 * @typedef {object} Listener
 * @property {() => void} opened the socket is up: subscribe, and send unanswered commands again
 * @property {(events: ServerEvent[]) => void} received
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
/** How long a probe may stay unanswered before the socket is considered dead. */
const PROBE_MS = 3_000;

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
  #expander = new Expander();
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

  /** Milliseconds since the last message from the server. */
  get silence() {
    return performance.now() - this.#heardAt;
  }

  /**
   * Sends now, or returns false: a command that must not be lost is sent again when the socket opens.
   * @param {Command} command
   * @returns {boolean}
   */
  send(command) {
    if (!this.isOpen) return false;
    this.#socket?.send(JSON.stringify(command));
    return true;
  }

  /**
   * Sends a command that the server always answers; without an answer the socket is considered dead.
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
    address.searchParams.set("protocol", String(PROTOCOL));
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    this.#expander = new Expander();
    socket.addEventListener("open", () => this.#opened(socket));
    socket.addEventListener("message", (event) => this.#onMessage(socket, event));
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
  #onMessage(socket, event) {
    if (socket !== this.#socket || typeof event.data !== "string") return;
    this.#settleProbe();
    this.#heardAt = performance.now();
    // Only a message from the server proves that it works: a socket that opens and closes at once must not be retried
    // in quick succession.
    this.#backoff.reset();
    const events = readFrame(event.data, this.#expander);
    for (const each of events) if (each.type === "chatui:ping") this.send({ type: "pong", number: each.number });
    this.#listener.received(events);
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
    // The other end may be gone, and then it takes the browser long to report the socket as closed.
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
