// <chat-page>: the wiring between the socket, the transcript, the composer and the side bar.

import { ChatComposer, newId } from "./composer.js";
import { ChatTranscript } from "./transcript.js";
import { Connection } from "../page/connection.js";
import { ConnectionBanner } from "./connection-banner.js";
import { ConversationList } from "../sidebar/conversation-list.js";
import { around, find, parse, seek } from "../page/dom.js";
import { Drawer } from "../sidebar/drawer.js";
import { Announcements } from "../models/announcements.js";
import { Outbox } from "../models/outbox.js";
import { isTurnEvent } from "../models/protocol.js";
import { Sequence } from "../models/sequence.js";
import { Scrolling } from "./scrolling.js";
import { SignedOut, read } from "../page/server.js";
import { TabTitle } from "./tab-title.js";
import { toast } from "../page/toasts.js";

/** @import { Accepted, Ask, Created, Ended, Idle, MessageBegan, Refused, ServerEvent, Snapshot } from "../models/protocol.js" */
/** @import { Written } from "./composer.js" */
/** @import { Again, Beginning, Edited, Onward } from "./transcript.js" */
/** @import { Exchange } from "./exchange.js" */

/** A running answer without a word for this long: ask whether the socket still lives. */
const SILENCE_MS = 20_000;
/** While a gap is being closed, further events of that turn wait this long before the snapshot is asked for again. */
const RESYNC_MS = 3_000;
const STATE_OF = Object.freeze({
  "response.completed": "completed",
  "response.incomplete": "incomplete",
  "response.failed": "failed",
  "response.cancel": "stopped",
});

class ChatPage extends HTMLElement {
  #transcript = find(this, "chat-transcript", ChatTranscript);
  #composer = find(this, "chat-composer", ChatComposer);
  #list = find(this, "conversation-list", ConversationList);
  #stage = find(this, ".stage", HTMLElement);
  #announcer = find(this, ".announcer", HTMLElement);
  #banner = new ConnectionBanner(find(this, ".banner-connection", HTMLElement), this.dataset.signIn ?? "/");
  #drawer = new Drawer(this);
  #scrolling = new Scrolling(find(this, ".scroller", HTMLElement), this.#transcript, find(this, ".jump", HTMLElement));
  #outbox = new Outbox();
  #sequence = new Sequence();
  #announcements = new Announcements();
  #connection = new Connection(this.dataset.socket ?? "/ws/", {
    opened: () => this.#opened(),
    received: (events) => this.#received(events),
    lost: () => this.#banner.lost(),
    ended: (code) => this.#banner.ended(code),
  });
  #conversation = this.dataset.conversation ?? null;
  #url = this.dataset.url ?? null;
  /** @type {ServerEvent[]} */
  #queue = [];
  #draining = false;
  #resyncedAt = -Infinity;
  /** Stop was pressed before the server had given the turn its id. */
  #stopWanted = false;
  #tab = new TabTitle();

  connectedCallback() {
    this.#transcript.limit = this.#composer.limit;
    this.#composer.addEventListener("chat:send", (event) => this.#send(/** @type {CustomEvent<Written>} */ (event).detail));
    this.#composer.addEventListener("chat:stop", () => this.#stop());
    this.#transcript.addEventListener("chat:edit", (event) => this.#edit(/** @type {CustomEvent<Edited>} */ (event).detail));
    this.#transcript.addEventListener("chat:regenerate", (event) => this.#regenerate(/** @type {CustomEvent<Again>} */ (event).detail));
    this.#transcript.addEventListener("chat:continue", (event) => this.#continue(/** @type {CustomEvent<Onward>} */ (event).detail));
    this.#transcript.addEventListener("chat:branch", () => this.#subscribe());
    this.#transcript.addEventListener("chat:announce", (event) => this.#announce(/** @type {CustomEvent<string>} */ (event).detail));
    this.#list.addEventListener("chat:title", (event) => this.#retitle(/** @type {CustomEvent<{ conversation: string, title: string }>} */ (event).detail));
    this.#list.addEventListener("chat:deleted", (event) => this.#leave(/** @type {CustomEvent<string>} */ (event).detail));
    this.addEventListener("click", this.#clicked);
    this.addEventListener("submit", this.#submitted);
    this.addEventListener("chat:search", this.#searched);
    document.addEventListener("keydown", this.#key);
    this.#fitKeyboard();
    this.#composer.running = this.#transcript.running.length > 0;
    const target = this.#target();
    if (target) this.#scrolling.to(target);
    else this.#scrolling.toEnd();
    this.#connection.start();
    setInterval(() => this.#watchSilence(), SILENCE_MS / 4);
  }

  // What the person asks for

  /** @param {Written} written */
  #send({ text, effort, choice, clientId }) {
    delete this.#stage.dataset.empty;
    this.#transcript.send(clientId, text);
    this.#scrolling.toEnd();
    this.#ask({ type: "send", client_id: clientId, conversation: this.#conversation, text, effort, choice });
  }

  /** @param {Edited} edited */
  #edit({ question, text }) {
    if (!this.#conversation) return;
    const { effort, choice } = this.#composer;
    this.#ask({ type: "edit", client_id: newId(), conversation: this.#conversation, question, text, effort, choice });
  }

  /** @param {Again} again */
  #regenerate({ question }) {
    if (!this.#conversation || this.#outbox.size) return;
    const { effort, choice } = this.#composer;
    this.#ask({ type: "regenerate", client_id: newId(), conversation: this.#conversation, question, effort, choice });
  }

  /** @param {Onward} onward */
  #continue({ turn }) {
    if (!this.#conversation || this.#outbox.size) return;
    this.#ask({ type: "continue", client_id: newId(), conversation: this.#conversation, turn });
    // The button that was pressed goes away; what stops the answer is what keyboard users may want next.
    find(this.#composer, ".stop", HTMLButtonElement).focus({ preventScroll: true });
  }

  /** @param {Ask} command */
  #ask(command) {
    this.#stopWanted = false;
    this.#outbox.add(command);
    this.#composer.running = true;
    if (!this.#connection.send(command)) this.#banner.hurry();
  }

  #stop() {
    const running = this.#transcript.running.at(-1);
    if (running?.turn && this.#conversation) this.#connection.send({ type: "stop", conversation: this.#conversation, turn: running.turn });
    else this.#stopWanted = true;
  }

  #subscribe() {
    if (this.#conversation) this.#connection.send({ type: "subscribe", conversation: this.#conversation });
  }

  // What the server says

  #opened() {
    this.#banner.opened();
    this.#subscribe();
    for (const command of this.#outbox.waiting()) this.#connection.send(command);
  }

  /** @param {ServerEvent[]} events */
  #received(events) {
    this.#banner.well();
    this.#queue.push(...events);
    if (!this.#draining) void this.#drain();
  }

  /** One event after the other: what follows a snapshot waits until the page that it needs has been fetched. */
  async #drain() {
    this.#draining = true;
    try {
      for (let event = this.#queue.shift(); event; event = this.#queue.shift()) {
        const work = this.#apply(event);
        if (work) await work;
      }
    } finally {
      this.#draining = false;
    }
  }

  /**
   * @param {ServerEvent} event
   * @returns {Promise<void> | void}
   */
  #apply(event) {
    if (isTurnEvent(event)) {
      const verdict = this.#sequence.admit(event.turn, event.sequence_number, event.type === "response.created");
      if (verdict === "gap") this.#resync();
      if (verdict !== "apply") return;
    }
    switch (event.type) {
      case "chatui:accepted":
        return this.#accepted(event);
      case "chatui:refused":
        return this.#refused(event);
      case "response.created":
        return this.#created(event);
      case "chatui:working":
        this.#transcript.byTurn(event.turn)?.working(event.elapsed);
        return this.#announce(this.#announcements.say(event.turn, "thinking"));
      case "chatui:summary":
        return this.#transcript.byTurn(event.turn)?.step(event.text);
      case "chatui:thought":
        return this.#transcript.byTurn(event.turn)?.thought(event.seconds);
      case "chatui:message":
        return this.#messageBegan(event);
      case "chatui:relabelled":
        return this.#transcript.byTurn(event.turn)?.relabel(event.message_id, event.kind);
      case "response.delta":
      case "chatui:preamble.delta":
      case "response.delta.flush":
        return this.#transcript.write(event);
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
      case "response.cancel":
        return this.#ended(event);
      case "chatui:snapshot":
        return this.#resume(event);
      case "chatui:idle":
        return this.#idle(event);
      case "chatui:title":
        return this.#retitle(event);
      case "chatui:bye":
        return this.#banner.bye(event.message);
    }
  }

  /** @param {Accepted} event */
  #accepted(event) {
    const command = this.#outbox.settle(event.client_id);
    if (!command) return;
    const isNew = this.#conversation === null;
    if (command.type === "send") this.#composer.accepted(event.conversation);
    this.#transcript.accepted(event.client_id, event.turn);
    if (isNew) this.#moveTo(event.conversation, event.url);
    this.#begin({
      turn: event.turn,
      question: event.question,
      after: null,
      kind: command.type,
      ...(command.type === "edit" ? { replaces: command.question } : {}),
      ...(command.type === "continue" ? { continues: command.turn } : {}),
    });
    if (isNew) this.#subscribe();
    if (this.#stopWanted) this.#stop();
  }

  /** @param {Refused} event */
  #refused(event) {
    const command = this.#outbox.settle(event.client_id);
    this.#composer.running = this.#transcript.running.some((exchange) => !("sending" in exchange.element.dataset));
    if (command?.type === "send") {
      this.#transcript.unsend(command.client_id);
      if (this.#transcript.isEmpty) this.#stage.dataset.empty = "";
      this.#composer.refused(command.text, event.message);
    } else if (command?.type !== "edit" || !this.#transcript.refuseEdit(event.message)) {
      this.#composer.say(event.message);
    }
  }

  /** @param {Created} event */
  #created(event) {
    if (event.conversation === this.#conversation) this.#begin(event);
  }

  /** @param {Beginning} event */
  #begin(event) {
    const isNews = this.#transcript.byTurn(event.turn)?.question !== event.question;
    const exchange = this.#transcript.begin(event);
    if (!exchange) return void this.#refresh();
    if (!isNews || !exchange.isRunning) return;
    this.#composer.running = true;
    this.#announce(this.#announcements.say(event.turn, "thinking"));
    if (this.#conversation) this.#list.touch(this.#conversation);
    delete this.#stage.dataset.empty;
    void this.#fetchExchange(exchange);
  }

  /** @param {MessageBegan} event */
  #messageBegan(event) {
    const exchange = this.#transcript.byTurn(event.turn);
    exchange?.rest();
    // Where the text that this goes on from is not on the page, the server has to send all of it.
    if (event.continues && !exchange?.takeOver(event.continues, event.message_id, event.blocks ?? 0)) this.#subscribe();
    else exchange?.part(event.message_id, event.kind);
  }

  /** @param {Ended} event */
  #ended(event) {
    const exchange = this.#transcript.byTurn(event.turn);
    const state = STATE_OF[event.type];
    exchange?.end(state);
    this.#composer.running = this.#transcript.running.length > 0;
    this.#announceEnd(event.turn, state, event.message ?? null);
    if (exchange) void this.#fetchExchange(exchange);
  }

  /** @param {Snapshot} snapshot */
  async #resume(snapshot) {
    // A turn that this page has never seen began while it was away: take the branch from the server first.
    if (!this.#transcript.byTurn(snapshot.turn)) await this.#refresh();
    this.#sequence.resume(snapshot.turn, snapshot.sequence_number);
    this.#transcript.resume(snapshot);
    this.#composer.running = this.#transcript.running.length > 0;
    if (snapshot.working) this.#announce(this.#announcements.say(snapshot.turn, "thinking"));
  }

  /** @param {Idle} event */
  async #idle(event) {
    for (const exchange of this.#transcript.running) await this.#fetchExchange(exchange);
    if (event.turn && !this.#transcript.byTurn(event.turn)) await this.#refresh();
    this.#composer.running = this.#outbox.size > 0 || this.#transcript.running.length > 0;
  }

  #resync() {
    if (performance.now() - this.#resyncedAt < RESYNC_MS) return;
    this.#resyncedAt = performance.now();
    this.#subscribe();
  }

  #watchSilence() {
    const isWaiting = this.#transcript.running.length > 0 || this.#outbox.size > 0;
    if (!this.#conversation || !isWaiting || this.#connection.silence < SILENCE_MS) return;
    this.#connection.probe({ type: "subscribe", conversation: this.#conversation });
  }

  // Pages and fragments

  /** @param {Exchange} exchange */
  async #fetchExchange(exchange) {
    if (!exchange.turn || !this.#url) return;
    try {
      exchange.adopt(await read(`${this.#url}turns/${exchange.turn}/`));
      if (!exchange.isRunning) this.#announceEnd(exchange.turn, exchange.state);
    } catch (error) {
      this.#failed(error);
    }
    this.#composer.running = this.#outbox.size > 0 || this.#transcript.running.length > 0;
  }

  /** Takes the branch, the title, the top bar and the list from the server's page. */
  async #refresh() {
    if (!this.#url) return;
    try {
      const page = parse(await read(this.#url));
      this.#transcript.replace(page);
      this.#replaceFrame(page);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** @param {DocumentFragment} page */
  #replaceFrame(page) {
    const title = seek(page, "title", HTMLTitleElement)?.textContent;
    if (title) this.#tab.set(title);
    const bar = seek(page, ".top-bar", HTMLElement);
    if (bar) find(this, ".top-bar", HTMLElement).replaceWith(bar);
    this.#list.replace(page);
  }

  /**
   * The first message made the conversation: the page becomes that conversation's page.
   * @param {string} conversation
   * @param {string} url
   */
  async #moveTo(conversation, url) {
    this.#conversation = conversation;
    this.#url = new URL(url, location.href).pathname;
    history.replaceState(null, "", this.#url);
    try {
      this.#replaceFrame(parse(await read(this.#url)));
    } catch (error) {
      this.#failed(error);
    }
  }

  /** @param {unknown} error */
  #failed(error) {
    if (error instanceof SignedOut) this.#banner.ended(4401);
    else toast(error instanceof Error ? error.message : "Something went wrong. Please reload the page.");
  }

  // Small things

  /** @param {{ conversation: string, title: string }} event */
  #retitle({ conversation, title }) {
    this.#list.retitle(conversation, title);
    if (conversation !== this.#conversation) return;
    find(this, ".top-title", HTMLElement).textContent = title;
    this.#tab.set(`${title} · chatui`);
  }

  /** @param {string} conversation */
  #leave(conversation) {
    location.assign(`${this.dataset.home ?? "/"}?deleted=${encodeURIComponent(conversation)}`);
  }

  /** @param {string | null} sentence */
  #announce(sentence) {
    if (sentence) this.#announcer.textContent = sentence;
  }

  /**
   * @param {string} turn
   * @param {string} state
   * @param {string | null} [sentence] what the server says about a problem
   */
  #announceEnd(turn, state, sentence = null) {
    const moment = state === "completed" ? "ready" : state === "stopped" ? "stopped" : "problem";
    const said = this.#announcements.say(turn, moment, moment === "problem" ? sentence : null);
    this.#announce(said);
    if (said && moment !== "stopped") this.#tab.tell(moment === "ready" ? "Answer ready" : "Not finished");
  }

  /** The message that the address names, where a search led to it. */
  #target() {
    return location.hash.startsWith("#m-") ? document.getElementById(location.hash.slice(1)) : null;
  }

  #searched = () => {
    if (this.#drawer.isDrawer && !this.#drawer.isOpen) this.#drawer.open();
  };

  /** @param {Event} event */
  #clicked = (event) => {
    if (around(event, ".drawer-open")) this.#drawer.open();
  };

  /** @param {Event} event */
  #submitted = (event) => {
    if (around(event, "form[data-sign-out]")) this.#composer.forget();
  };

  /** @param {KeyboardEvent} event */
  #key = (event) => {
    if (event.ctrlKey && event.shiftKey && event.key.toLowerCase() === "o") {
      event.preventDefault();
      location.assign(this.dataset.home ?? "/");
    } else if (event.key === "Escape" && !event.isComposing && !event.defaultPrevented && !document.querySelector(":popover-open")) {
      if (this.#drawer.isOpen) this.#drawer.close();
      else if (this.#transcript.running.length || this.#outbox.size) this.#stop();
    }
  };

  /** Keeps the composer above an on-screen keyboard where the browser lays it over the page instead of shrinking it. */
  #fitKeyboard() {
    const view = window.visualViewport;
    if (!view) return;
    const fit = () => {
      if (view.scale !== 1) return;
      document.documentElement.style.setProperty("--viewport", `${view.height}px`);
      if (view.offsetTop) scrollTo(0, 0);
    };
    view.addEventListener("resize", fit);
    fit();
  }
}

customElements.define("chat-page", ChatPage);
