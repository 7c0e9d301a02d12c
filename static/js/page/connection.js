// The WebSocket connection to the server. It notices a silent loss, and reconnects after every one.

import { atEnd } from "./dom.js";
import { LANGUAGE, number, t, tc } from "../language/words.js";
import { readFrame } from "../wire/protocol.js";
import { PROTOCOL } from "../wire/wire.js";
import { refusal } from "../language/refusals.js";

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

// The banner about the state of the connection. It stays empty while the connection works, and during interruptions of
// less than a second.

const PATIENCE_MS = 1_000;
const SETTLING_MS = 500;
const SIGNED_OUT = 4401;
const OTHER_RELEASE = 4426;
const SIGNED_OUT_TEXT = t("You have been signed out. Your text is kept.");
const RECONNECTING_TEXT = t("No connection to the server. Reconnecting…");
const OFFLINE_TEXT = t("You are offline. Waiting for the network…");
const CLOSED_TEXT = t("You no longer have access to this page.");

export class ConnectionBanner {
  #line;
  #signIn;
  #onLost;
  /** @type {number | undefined} */
  #timer;
  /** @type {number | undefined} */
  #settling;
  #isDown = true;
  #closingMessage = "";
  #losses = 0;

  /**
   * @param {HTMLElement} line
   * @param {string} signIn path of the sign-in page
   * @param {(final?: string) => void} onLost called when it reports a lost connection, with why it will not come back
   */
  constructor(line, signIn, onLost) {
    this.#line = line;
    this.#signIn = signIn;
    this.#onLost = onLost;
  }

  /**
   * The socket opened. It may close again at once (a proxy without a server behind it), so the banner stays a little
   * longer.
   */
  opened() {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.well(), SETTLING_MS);
  }

  /** The server sent something. */
  well() {
    if (!this.#isDown) return;
    this.#isDown = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#losses = 0;
    this.#line.hidden = true;
  }

  lost() {
    clearTimeout(this.#settling);
    this.#isDown = true;
    this.#timer ??= setTimeout(() => this.#sayDown(), PATIENCE_MS);
    // Without a server, there is no script either, and no reason.
    if (++this.#losses % 4) return;
    void import("../chat/refused-socket.js").then(({ why }) => why()).then(this.#refused, () => {});
  }

  /** @param {string} sentence why the server refuses every socket; empty if it does not */
  #refused = (sentence) => {
    if (!sentence || !this.#isDown) return;
    this.#say(sentence);
    this.#onLost(sentence);
  };

  /** Nothing has arrived for so long that the banner is shown. */
  silent() {
    this.lost();
    clearTimeout(this.#timer);
    this.#sayDown();
  }

  #sayDown() {
    this.#say(navigator.onLine ? RECONNECTING_TEXT : OFFLINE_TEXT);
    this.#onLost();
  }

  /** Something is waiting for the connection: shows the banner if it stays down. */
  hurry() {
    if (this.#isDown) this.lost();
  }

  /** @param {string} code why the server is about to close the socket */
  closing(code) {
    this.#closingMessage = refusal(code);
  }

  /** @param {number} code a close code after which the page does not reconnect */
  ended(code) {
    clearTimeout(this.#timer);
    clearTimeout(this.#settling);
    this.#say(this.#closingMessage || (code === SIGNED_OUT ? SIGNED_OUT_TEXT : CLOSED_TEXT));
    this.#line.dataset.kind = "final";
    this.#onLost(this.#line.textContent ?? "");
    if (code === OTHER_RELEASE) this.#line.append(" ", reloadButton());
    if (code !== SIGNED_OUT) return;
    const link = document.createElement("a");
    link.href = `${this.#signIn}?next=${encodeURIComponent(location.pathname)}`;
    link.textContent = t("Sign in again");
    this.#line.append(" ", link);
  }

  /** @param {string} sentence */
  #say(sentence) {
    this.#line.textContent = sentence;
    this.#line.hidden = false;
  }
}

function reloadButton() {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button";
  button.textContent = tc("button", "Reload");
  button.addEventListener("click", () => location.reload());
  return button;
}

// The title of the browser tab: the conversation's title, with a notice in front of it until the person sees the news.
// It begins with how many conversations wait for a decision of the person, as far as the page shows them.

export class TabTitle {
  #title = document.title;
  #news = "";
  #signal;

  /** @param {AbortSignal} signal that ends with the page: what it still fetches has no title any more */
  constructor(signal) {
    this.#signal = signal;
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.#show("");
    }, { signal });
    document.addEventListener("chat:waits", () => this.#show(this.#news), { signal });
    this.#show("");
  }

  /** @param {string} title */
  set(title) {
    this.#title = title;
    this.#show(this.#news);
  }

  /**
   * Something happened. The title shows it only in a background tab, and never with any content.
   * @param {string} news
   */
  tell(news) {
    if (document.hidden) this.#show(news);
  }

  /** @param {string} news */
  #show(news) {
    if (this.#signal.aborted) return;
    this.#news = news;
    const title = news ? `${news} · ${this.#title}` : this.#title;
    // A temporary or archived conversation is not in the list, but the page has its card.
    const marks = document.querySelectorAll(".conversation-waits").length;
    const count = marks || (document.querySelector(".exchange[data-state=running] [data-waiting]") ? 1 : 0);
    document.title = count ? `(${number(count)}) ${title}` : title;
  }
}
