// The conversation that the page shows. Keeps title, top bar and list up to date, and fetches what the page has missed.

import { find, lifeOf, pageOf, parse, seek, showsAs, takeOver, templateWith } from "../page/dom.js";
import { Missing, SignedOut, messageOf, postJson, read } from "../page/server.js";
import { toast } from "../page/menus.js";
import { ListEvents } from "../sidebar/conversation-list.js";

/** @import { ConversationList, ListEvent } from "../sidebar/conversation-list.js" */
/** @import { ConnectionBanner, TabTitle } from "../page/connection.js" */
/** @import { Exchange } from "../exchange/exchange.js" */
/** @import { ChatTranscript } from "./transcript.js" */
/** @import { Accepted } from "../wire/wire.js" */

/** @typedef {{ transcript: ChatTranscript, list: ConversationList, banner: ConnectionBanner, tab: TabTitle }} Shown */

const SIGNED_OUT = 4401;
/** Pages that lost their connection together do not all fetch their lists at the same moment. */
const CATCH_UP_MS = 5_000;

export class OpenConversation {
  #page;
  #shown;
  #listEvents;
  #url;
  /** Null until the first message has created the conversation. @type {string | null} */
  #id;

  /**
   * @param {HTMLElement} page
   * @param {Shown} shown
   */
  constructor(page, shown) {
    this.#page = page;
    this.#shown = shown;
    this.#listEvents = new ListEvents(page, shown.list, shown.tab, (conversation) => conversation === this.#id);
    this.#id = page.dataset.conversation ?? null;
    this.#url = page.dataset.url ?? null;
  }

  get id() {
    return this.#id;
  }

  /** Whether another page has taken its place: what is fetched now comes too late. */
  get #isOver() {
    return lifeOf(this.#page).aborted;
  }

  /** The folder that a new conversation begins in. */
  get folder() {
    return this.#page.dataset.folder ?? null;
  }

  /** The collections that a new conversation asks. */
  get collections() {
    return this.#page.dataset.collections ?? null;
  }

  /** The assistant that a new conversation begins with. */
  get assistant() {
    return this.#page.dataset.assistant ?? null;
  }

  /** Whether it is temporary: not listed, and deleted soon. */
  get isTemporary() {
    return "temporary" in this.#page.dataset;
  }

  /** Whether the page was loaded with a finished answer that the person had not seen. */
  get hasNews() {
    return "news" in this.#page.dataset;
  }

  /**
   * Replaces an exchange by the server's current rendering of it.
   * @param {Exchange} exchange
   * @returns {Promise<boolean>} whether that could be fetched
   */
  async fetchExchange(exchange) {
    if (!exchange.turn || !this.#url) return false;
    try {
      const page = parse(await read(`${this.#url}turns/${exchange.turn}/`));
      exchange.adopt(find(page, ".exchange", HTMLElement));
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  /**
   * Updates the branch, the title, the top bar and the list from the server's page. Somebody who reads in the middle of
   * a long conversation stays there; newer messages below are loaded when they get to them.
   */
  async refresh() {
    try {
      await this.#refresh();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** @returns {Promise<boolean>} whether there is such a page */
  async #refresh() {
    if (!this.#url) return false;
    const page = await this.#readFresh(this.#url).catch((error) => {
      if (error instanceof Missing) return null;
      throw error;
    });
    if (this.#isOver) return true;
    if (!page) return this.#gone();
    if (this.#shown.transcript.reachesEnd) this.#shown.transcript.replace(page.content);
    if (page.isFresh) this.#replaceFrame(page.content);
    return true;
  }

  /** Leaves the middle of a long conversation for its end. */
  async showEnd() {
    if (!this.#url || this.#shown.transcript.reachesEnd) return;
    try {
      const page = parse(await read(this.#url));
      if (this.#isOver) return;
      this.#shown.transcript.replace(page);
      showsAs(this.#url);
    } catch (error) {
      this.#failed(error);
    }
  }

  /**
   * Opens a message that is not on this page, through the server, which knows where it is.
   * @param {string} message
   * @param {string} [query] what is sought there
   */
  leadTo(message, query = "") {
    if (!this.#url || this.#isOver) return;
    location.replace(`${this.#url}at/${encodeURIComponent(message)}/${query && `?${query}`}`);
  }

  /**
   * The first message created the conversation: the page becomes that conversation's page.
   * @param {Accepted} event
   */
  moveTo({ conversation, url, title }) {
    if (this.#isOver) return;
    this.#id = conversation;
    this.#url = new URL(url, location.href).pathname;
    showsAs(this.#url);
    const bar = templateWith("top-bar", HTMLElement, conversation);
    find(this.#page, ".top-bar", HTMLElement).replaceWith(bar);
    for (const link of this.#page.querySelectorAll("[data-asks]")) link.setAttribute("href", `${this.#url}documents/`);
    if (this.isTemporary) return;
    const marks = { is_imported: false, is_copy: false, is_running: true, has_news: false, is_pinned: false };
    const place = { folder: this.folder ?? "", updated_at: new Date().toISOString() };
    this.#shown.list.put({ conversation, url: this.#url, title, ...place, ...marks });
    this.#shown.list.open(conversation);
    this.retitle({ conversation, title });
  }

  /** @param {ListEvent} event about the person's list */
  changed(event) {
    this.#shown.list.news.came();
    this.#listEvents.apply(event);
    // Conversations of the folder may now be anywhere in the list, even where the page has not loaded it.
    if (event.type === "chatui:folder.gone") this.catchUp();
    if (event.type !== "chatui:answered" || event.conversation !== this.#id) return;
    this.#shown.transcript.dispatchEvent(new CustomEvent("chat:answered"));
  }

  /** While there was no connection, other tabs may have changed this conversation and the list. */
  catchUp() {
    setTimeout(() => {
      if (this.#isOver) return;
      this.#refresh().then((isShown) => (isShown ? undefined : this.#refreshList())).catch(() => {
        // The next change of the list comes as an event, and the next page has all of it.
      });
    }, CATCH_UP_MS * Math.random());
  }

  /** A conversation that was deleted meanwhile has no page. */
  #gone() {
    this.#listEvents.apply({ type: "chatui:unlisted", conversation: this.#id ?? "" });
    for (const exchange of this.#shown.transcript.running) exchange.end("stopped");
    return false;
  }

  async #refreshList() {
    const page = await this.#readFresh(this.#page.dataset.home ?? "/");
    if (page.isFresh) this.#shown.list.update(page.content);
    if (this.#id) this.#shown.list.open(this.#id);
  }

  /** Takes the conversation out of the bin again. */
  async restore() {
    try {
      await postJson(`${this.#url}restore/`);
      // Also said by an event, which is lost if the connection breaks at this moment.
      this.#listEvents.exists();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** @param {{ conversation: string, title: string }} event */
  retitle(event) {
    this.#shown.list.news.came();
    this.#listEvents.retitle(event);
  }

  /**
   * A page from the server. If it is not fresh, events arrived meanwhile, and its title and list may be older than
   * theirs.
   * @param {string} url
   */
  #readFresh(url) {
    return this.#shown.list.news.read(async () => parse(await read(url)));
  }

  /** @param {DocumentFragment} page */
  #replaceFrame(page) {
    const title = seek(page, "title", HTMLTitleElement)?.textContent;
    if (title) this.#shown.tab.set(title);
    const bar = seek(page, ".top-bar", HTMLElement);
    const mine = find(this.#page, ".top-bar", HTMLElement);
    // A title that is being edited is newer.
    if (bar && !seek(mine, ".rename", HTMLElement)) takeOver(mine, bar);
    this.#shown.list.update(page);
    const composer = seek(page, "chat-composer", HTMLElement);
    if (composer) void import("./model-offers.js").then((module) => module.adopt(this.#page, composer), () => {});
  }

  /** @param {unknown} error */
  #failed(error) {
    if (this.#isOver) return;
    if (error instanceof SignedOut) this.#shown.banner.ended(SIGNED_OUT);
    else toast(messageOf(error));
  }
}

// Keeps the newest text in view until the reader scrolls up, edits a question or compares answers; then shows a button
// that leads back to it.

export class Scrolling {
  #following = new Following();
  #scroller;
  #content;
  #jump;

  /**
   * @param {HTMLElement} scroller
   * @param {ChatTranscript} content
   */
  constructor(scroller, content) {
    this.#scroller = scroller;
    this.#content = content;
    this.#jump = find(pageOf(scroller), ".jump", HTMLElement);
    const observer = new ResizeObserver(this.#resized);
    observer.observe(content);
    observer.observe(scroller);
    scroller.addEventListener("scroll", this.#scrolled, { passive: true });
    for (const name of ["chat:editing", "chat:comparing", "chat:placed"]) {
      content.addEventListener(name, () => this.#following.leave());
    }
    content.addEventListener("chat:edited", () => this.toEnd());
  }

  /** Scrolls to the newest text, and follows it from now on. */
  toEnd() {
    this.#following.resume();
    this.#settle();
  }

  /**
   * Scrolls to the message that the address names, such as after a search.
   * @param {(message: string) => void} lead called with a message that is not on the page
   * @returns {boolean} whether it names a message that is on the page
   */
  toFoundMessage(lead) {
    const [, message] = /^#m-([0-9a-f-]{36})$/.exec(location.hash) ?? [];
    if (!message) return false;
    const element = document.getElementById(`m-${message}`);
    if (element) this.to(element);
    else if (new URLSearchParams(location.search).get("at") !== message) lead(message);
    return element !== null;
  }

  /**
   * Scrolls to an element instead, and stays there.
   * @param {Element} element
   * @param {"start" | "center"} [block] where it is then
   */
  to(element, block = "start") {
    this.#following.leave();
    element.scrollIntoView({ block });
    this.#show();
  }

  #resized = () => {
    // The reader may have scrolled up just now: their scroll event comes later, and would find the page at its end
    // again.
    this.#following.resized(this.#position);
    this.#settle();
  };

  #settle() {
    // If later messages are not loaded yet, the end of the page is not the newest text.
    if (!this.#content.reachesEnd) this.#following.leave();
    // The welcome text, shown alone while there is no message, starts at its top.
    if (this.#following.isOn && this.#content.clientHeight) this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#show();
  }

  get #position() {
    const { scrollTop: top, scrollHeight: height, clientHeight: view } = this.#scroller;
    return { top, height, view };
  }

  #scrolled = () => {
    this.#following.scrolled(this.#position);
    if (!this.#content.reachesEnd) this.#following.leave();
    this.#show();
  };

  #show() {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const isAtEnd = this.#content.reachesEnd && scrollHeight - scrollTop - clientHeight < 1;
    const isHidden = this.#following.isOn || isAtEnd;
    if (this.#jump.hidden !== isHidden) this.#jump.hidden = isHidden;
  }
}

// Decides whether the page follows the newest text: until the reader scrolls up, and again once they are back at the
// end.

/**
 * @typedef {{ top: number, height: number, view: number }} Position scroll offset, content height, visible height; CSS
 * pixels
 */

const AT_END_PX = 40;
const JITTER_PX = 2;

export class Following {
  #isOn = true;
  #last = /** @type {Position} */ ({ top: 0, height: 0, view: 0 });

  get isOn() {
    return this.#isOn;
  }

  /** The reader asked for the newest text, by the button or by sending a message. */
  resume() {
    this.#isOn = true;
  }

  /** The reader moved to another place. */
  leave() {
    this.#isOn = false;
  }

  /**
   * The content or the view changed its size. Even then, the reader may have caused a lower offset.
   * @param {Position} now
   */
  resized(now) {
    if (this.#isBack(now)) this.#isOn = false;
  }

  /**
   * The scroll position changed. Shrinking content and a growing view also lower the offset; only a lower offset
   * without either of them means that the reader scrolled up.
   * @param {Position} now
   */
  scrolled(now) {
    const { top } = this.#last;
    const isBack = this.#isBack(now);
    this.#last = now;
    const distance = now.height - now.top - now.view;
    if (distance <= JITTER_PX) this.#isOn = true;
    else if (isBack) this.#isOn = false;
    else if (distance <= AT_END_PX && now.top > top) this.#isOn = true;
  }

  /** @param {Position} now */
  #isBack(now) {
    const { top, height, view } = this.#last;
    return now.top < top - JITTER_PX && now.height >= height && now.view <= view;
  }
}
