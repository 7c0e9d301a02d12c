// The banner about the state of the connection. It stays empty while the connection works, and during interruptions of
// less than a second.

import { refusal } from "../language/refusals.js";
import { number, t, tc } from "../language/words.js";

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
    void import("./refused-socket.js").then(({ why }) => why()).then(this.#refused, () => {});
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
