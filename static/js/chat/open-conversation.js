// The conversation that the page shows. Updates the page from the server's rendering of it.

import { find, parse, seek } from "../page/dom.js";
import { SignedOut, read } from "../page/server.js";
import { toast } from "../page/toasts.js";

/** @import { ConversationList } from "../sidebar/conversation-list.js" */
/** @import { ConnectionBanner } from "./connection-banner.js" */
/** @import { Exchange } from "../exchange/exchange.js" */
/** @import { TabTitle } from "./tab-title.js" */
/** @import { ChatTranscript } from "./transcript.js" */
/** @typedef {{ transcript: ChatTranscript, list: ConversationList, banner: ConnectionBanner, tab: TabTitle }} Shown */

const SIGNED_OUT = 4401;

export class OpenConversation {
  #page;
  #shown;
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
    this.#id = page.dataset.conversation ?? null;
    this.#url = page.dataset.url ?? null;
  }

  get id() {
    return this.#id;
  }

  /**
   * Replaces an exchange by the server's current rendering of it.
   * @param {Exchange} exchange
   * @returns {Promise<boolean>} whether that could be fetched
   */
  async fetchExchange(exchange) {
    if (!exchange.turn || !this.#url) return false;
    try {
      exchange.adopt(await read(`${this.#url}turns/${exchange.turn}/`));
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  /** Updates the branch, the title, the top bar and the list from the server's page. */
  async refresh() {
    if (!this.#url) return;
    try {
      const page = parse(await read(this.#url));
      this.#shown.transcript.replace(page);
      this.#replaceFrame(page);
    } catch (error) {
      this.#failed(error);
    }
  }

  /**
   * The first message created the conversation: the page becomes that conversation's page.
   * @param {string} conversation
   * @param {string} url
   */
  async moveTo(conversation, url) {
    this.#id = conversation;
    this.#url = new URL(url, location.href).pathname;
    history.replaceState(null, "", this.#url);
    try {
      this.#replaceFrame(parse(await read(this.#url)));
    } catch (error) {
      this.#failed(error);
    }
  }

  /** @param {{ conversation: string, title: string }} event */
  retitle({ conversation, title }) {
    this.#shown.list.retitle(conversation, title);
    if (conversation !== this.#id) return;
    find(this.#page, ".top-title", HTMLElement).textContent = title;
    this.#shown.tab.set(`${title} · chatui`);
  }

  /** @param {DocumentFragment} page */
  #replaceFrame(page) {
    const title = seek(page, "title", HTMLTitleElement)?.textContent;
    if (title) this.#shown.tab.set(title);
    const bar = seek(page, ".top-bar", HTMLElement);
    if (bar) find(this.#page, ".top-bar", HTMLElement).replaceWith(bar);
    this.#shown.list.replace(page);
  }

  /** @param {unknown} error */
  #failed(error) {
    if (error instanceof SignedOut) this.#shown.banner.ended(SIGNED_OUT);
    else toast(error instanceof Error ? error.message : "Something went wrong. Please reload the page.");
  }
}
