// The script of the chat page. Its element, <chat-page>, creates the parts of the page, and passes the person's actions
// on to them. The custom elements inside are defined first, innermost before outer, so that each finds its children
// ready.

import "../site.js";
import "../exchange/answer-parts.js";
import { ChatComposer, ContextUse, nextMessageOnDemand } from "../composer/composer.js";
import { ChatTranscript, moreOnDemand } from "./transcript.js";
import { ConversationList, Drawer, searchOnDemand } from "../sidebar/conversation-list.js";
import { isPlain } from "../sidebar/list-actions.js";
import { atEnd, closestTo, endLife, find, lifeOf, listen, pageOf, shownAddress, showsAs } from "../page/dom.js";
import { Connection, ConnectionBanner, TabTitle } from "../page/connection.js";
import { whenLeaving } from "../composer/leaving.js";
import { t } from "../language/words.js";
import { Shortcuts } from "../page/shortcuts.js";
import { isEndUserEvent } from "../wire/protocol.js";
import { Announcer, ServerEvents } from "./server-events.js";
import { Commands } from "./commands.js";
import { OpenConversation, Scrolling } from "./open-conversation.js";
import { menuOpener, toast } from "../page/menus.js";

/** @import { OutgoingMessage } from "../composer/composer.js" */
/** @import { Address } from "./opening.js" */
/** @import { ContinueRequest, EditRequest, RegenerateRequest } from "../exchange/buttons.js" */
/** @import { FindBar, PageParts } from "../page/find-bar.js" */

/** @typedef {{ conversation: string, title: string }} Retitled */

/** Milliseconds without an event of a running answer, for which the server sends one every two seconds at least. */
const SILENCE_MS = 3_000;
const CONVERSATION = /^\/c\/([^/]+)\/(?:at\/[^/]+\/)?$/;
/** Pages that are loaded even if their conversation could be opened without. */
const LOADED = /[?&](?:all|print)=/;
const opening = () => import("./opening.js");

class ChatPage extends HTMLElement {
  #transcript = find(this, "chat-transcript", ChatTranscript);
  #composer = find(this, "chat-composer", ChatComposer);
  #list = find(this, "conversation-list", ConversationList);
  #stage = find(this, ".stage", HTMLElement);
  #banner = new ConnectionBanner(
    find(this, ".banner-connection", HTMLElement),
    this.dataset.signIn ?? "/",
    (final) => this.#commands.hold(final),
  );
  #drawer = new Drawer(this);
  #scroller = find(this, ".scroller", HTMLElement);
  #scrolling = new Scrolling(this.#scroller, this.#transcript);
  #tab = new TabTitle(lifeOf(this));
  #announcer = new Announcer(find(this, ".announcer", HTMLElement), this.#tab);
  #connection = new Connection(this.dataset.socket ?? "/ws/", {
    opened: () => this.#opened(),
    received: (events) => {
      this.#banner.well();
      if (events.some((event) => event.type !== "chatui:alive")) this.#newsAt = performance.now();
      this.#events.receive(events.filter(isEndUserEvent));
    },
    silent: () => this.#banner.silent(),
    recovered: () => this.#commands.resend(),
    lost: () => this.#banner.lost(),
    ended: (code) => this.#banner.ended(code),
  });
  #open = new OpenConversation(this, {
    transcript: this.#transcript,
    list: this.#list,
    banner: this.#banner,
    tab: this.#tab,
  });
  #commands = new Commands({
    composer: this.#composer,
    transcript: this.#transcript,
    banner: this.#banner,
    connection: this.#connection,
    open: this.#open,
  });
  #next = nextMessageOnDemand({
    composer: this.#composer,
    transcript: this.#transcript,
    open: this.#open,
    send: (written) => this.#commands.send(written),
    sendNow: (written) => void this.#send(written),
    announce: (sentence) => this.#announcer.say(sentence),
    makeWay: (turn, wanted) => this.#commands.makeWay(turn, wanted),
  });
  #events = new ServerEvents({
    transcript: this.#transcript,
    composer: this.#composer,
    banner: this.#banner,
    announcer: this.#announcer,
    commands: this.#commands,
    open: this.#open,
    stage: this.#stage,
  });

  #find = findOnDemand({ transcript: this.#transcript, open: this.#open, scrolling: this.#scrolling });

  /** When the server last sent something other than a heartbeat. */
  #newsAt = 0;
  #wasOpen = false;
  /** Ends the attempt to open another conversation. */
  #opening = new AbortController();

  connectedCallback() {
    // Its parts are connected after it, if all were put into the document together.
    queueMicrotask(() => this.isConnected && this.#start());
  }

  disconnectedCallback() {
    endLife(this);
  }

  #start() {
    const life = lifeOf(this);
    this.#transcript.limit = this.#composer.limit;
    this.#listen();
    showsAs();
    fitKeyboard(life);
    new ContextUse(find(this, ".context-use", HTMLElement), this.#transcript).watch();
    this.#composer.running = this.#transcript.running.length > 0;
    this.#next.start();
    if (!this.#toFoundMessage()) this.#scrolling.toEnd();
    moreOnDemand(this.#transcript, this.#scroller);
    searchOnDemand();
    this.#find.arrive();
    this.#connection.start(life);
    if (this.#open.isTemporary) import("../composer/temporary.js").then((module) => module.begin(), () => {});
    this.#composer.begin();
    const watching = setInterval(() => this.#watchSilence(), SILENCE_MS / 4);
    atEnd(life, () => clearInterval(watching));
  }

  #listen() {
    const commands = this.#commands;
    const signal = lifeOf(this);
    listen(this.#composer, "chat:send", (/** @type {OutgoingMessage} */ written) => this.#send(written));
    listen(this.#composer, "chat:stop", () => commands.stop());
    listen(this.#transcript, "chat:edit", (/** @type {EditRequest} */ asked) => commands.edit(asked));
    listen(this.#transcript, "chat:regenerate", (/** @type {RegenerateRequest} */ asked) => commands.regenerate(asked));
    listen(this.#transcript, "chat:continue", (/** @type {ContinueRequest} */ asked) => commands.continue(asked));
    listen(this.#transcript, "chat:take-back", (/** @type {string} */ clientId) => this.#takeBack(clientId));
    listen(this.#transcript, "chat:branch", () => commands.subscribe());
    listen(this.#transcript, "chat:announce", (/** @type {string} */ sentence) => this.#announcer.say(sentence));
    listen(this.#list, "chat:title", (/** @type {Retitled} */ to) => this.#open.retitle(to));
    listen(this.#list, "chat:deleted", (/** @type {string} */ conversation) => this.#leave(conversation));
    find(this, ".jump", HTMLElement).addEventListener("click", () => this.#toEnd());
    addEventListener("hashchange", () => this.#toFoundMessage(), { signal });
    if (location.search.includes("print=")) void import("../page/printing.js");
    this.addEventListener("chat:search", () => this.#drawer.show());
    this.addEventListener("click", this.#clicked);
    addEventListener("click", this.#followed, { signal }); // after those who have another use for it
    addEventListener("pageshow", ({ persisted }) => persisted && this.#stay(), { signal });
    addEventListener("pointerdown", this.#pressed, { signal });
    addEventListener("popstate", this.#returned, { signal });
    this.addEventListener("chat:restored", () => commands.subscribe());
    whenLeaving(() => this.#forget(), signal);
    const [message, fold] = [() => this.#composer.focus(), () => this.#drawer.toggle()];
    new Shortcuts({ page: this, message, fold, stop: () => this.#stop(), escape: () => this.#escape() }).listen();
  }

  /** @param {OutgoingMessage} written */
  async #send(written) {
    delete this.#stage.dataset.empty;
    if (!this.#transcript.reachesEnd) await this.#open.showEnd();
    this.#commands.send(written);
    this.#scrolling.toEnd();
  }

  /** @param {string} clientId of a message that has not been sent */
  #takeBack(clientId) {
    const text = this.#commands.takeBack(clientId);
    if (text === null) return;
    if (this.#transcript.isEmpty) this.#stage.dataset.empty = "";
    this.#composer.refused(text);
  }

  async #toEnd() {
    await this.#open.showEnd();
    this.#scrolling.toEnd();
  }

  #toFoundMessage = () => this.#scrolling.toFoundMessage((message) => this.#open.leadTo(message));

  #opened() {
    this.#banner.opened();
    if (this.#wasOpen) this.#open.catchUp();
    this.#commands.opened(this.#wasOpen);
    this.#wasOpen = true;
  }

  /** Events of a running answer are missing, although the connection may work: asks the server for the state. */
  #watchSilence() {
    if (!this.#isWorking || performance.now() - this.#newsAt < SILENCE_MS) return;
    this.#newsAt = performance.now();
    this.#commands.subscribe();
  }

  /** @param {string} conversation that was deleted while it was open: the home page offers to undo that */
  #leave(conversation) {
    location.assign(`${this.dataset.home ?? "/"}?deleted=${encodeURIComponent(conversation)}`);
  }

  /** @param {Event} event */
  #clicked = (event) => {
    if (closestTo(event, ".drawer-open")) this.#drawer.open();
    if (closestTo(event, "[data-action=restore]")) void this.#open.restore();
  };

  /**
   * Where a plain click leads: to a conversation, or to a new one, which is null; `isOpened`: without loading a page.
   * @param {MouseEvent} event
   */
  #ledTo(event) {
    const link = closestTo(event, "a[href]:not([target], [download])");
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || !isPlain(event)) return null;
    const { origin, pathname, search, hash, href } = link;
    const isHere = hash && pathname === location.pathname;
    if (origin !== location.origin || isHere || search.includes("temporary=")) return null;
    const conversation = pathname === this.dataset.home ? null : CONVERSATION.exec(pathname)?.[1];
    if (conversation === undefined) return null;
    const isLoaded = LOADED.test(search) || this.#open.isTemporary || this.#composer.held;
    return { href, conversation, isOpened: !isLoaded };
  }

  /** Most of the time until the click is over is enough for the server. @param {PointerEvent} event */
  #pressed = (event) => {
    const to = event.pointerType === "touch" || "choosing" in this.#list.dataset ? null : this.#ledTo(event);
    if (to?.isOpened) opening().then(({ prepare }) => prepare(to.href), () => {});
  };

  /** What is typed until another page comes is not for this one. @param {MouseEvent} event */
  #followed = (event) => {
    const to = this.#ledTo(event);
    if (!to) return;
    this.#composer.giveTo(to.href, to.conversation, to.isOpened);
    if (!to.isOpened) return;
    event.preventDefault();
    this.#lead(to, () => location.assign(to.href));
  };

  /** The browser's history leads to another conversation that was opened without loading a page. */
  #returned = () => {
    if (this.#isAtAddress) this.#stay();
    else this.#lead({ href: location.href, isBack: true }, () => location.reload());
  };

  /** Whether the browser's address is the one of what is shown: not while the history leads elsewhere. */
  get #isAtAddress() {
    return location.pathname + location.search === shownAddress();
  }

  /** @param {Address} to @param {() => void} load the page */
  #lead(to, load) {
    this.#opening.abort();
    const { signal } = (this.#opening = new AbortController());
    opening().then(({ open }) => open(this, to, signal), load);
  }

  /** The other page does not come. */
  #stay() {
    this.#opening.abort();
    if (!this.#isAtAddress) history.pushState(null, "", shownAddress());
    this.#composer.stay();
  }

  #forget() {
    this.#composer.forget();
    this.#next.forget();
    this.#connection.end();
    this.#opening.abort();
    this.#tab.set(t("You have been signed out."));
  }

  #escape() {
    if (document.querySelector(":popover-open")) return;
    this.#stay();
    if (this.#drawer.isOpen) this.#drawer.close();
    else if (this.#isWorking || !this.#find.close()) this.#stop();
  }

  get #isWorking() {
    return this.#transcript.running.length > 0 || this.#commands.isWorking;
  }

  #stop() {
    if (this.#isWorking) this.#commands.stop();
  }
}

// Keeps the composer above an on-screen keyboard, in browsers that lay the keyboard over the page.

/** @param {AbortSignal} signal */
function fitKeyboard(signal) {
  const view = window.visualViewport;
  if (!view) return;
  const fit = () => {
    if (view.scale !== 1) return;
    document.documentElement.style.setProperty("--viewport", `${view.height}px`);
    if (view.offsetTop) scrollTo(0, 0);
  };
  view.addEventListener("resize", fit, { signal });
  fit();
}

// Loads the find bar on first use: most conversations are read without it.

/**
 * @param {PageParts} page
 * @returns {{ arrive: () => void, close: () => boolean }} `arrive`: shows what the address says is sought; `close`:
 * whether the bar was open
 */
export function findOnDemand(page) {
  /** @type {Promise<FindBar> | null} */
  let loading = null;
  const load = () => (loading ??= begun(page));
  const element = find(pageOf(page.transcript), ".find-bar", HTMLElement);
  const text = find(element, "input", HTMLInputElement);
  /** @param {(bar: FindBar) => void} use */
  const use = (use) =>
    void load().then(use, () => {
      loading = null;
      element.hidden = true;
      toast(t("There is no connection to the server. Please try again when it is back."));
    });
  /** @type {Element | null} */
  let before = null;
  /** What is typed from now on is the search text, not a shortcut. @param {Element | null} opener */
  const open = (opener) => {
    const isNew = element.hidden;
    if (isNew) before = opener;
    element.hidden = false;
    text.focus();
    text.select();
    use((bar) => {
      if (!element.hidden) bar.open(isNew ? opener : undefined);
    });
  };
  text.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    // Also while the bar is loading. A hidden field keeps the focus until the next frame, and would swallow the
    // next keys.
    element.hidden = true;
    text.blur();
    if (before instanceof HTMLElement) before.focus();
  });
  element.addEventListener("chat:find", () => open(document.activeElement));
  document.addEventListener("click", (event) => {
    // Whoever uses a mouse goes on writing afterwards.
    const isClicked = /** @type {MouseEvent} */ (event).detail && matchMedia("(pointer: fine)").matches;
    const opener = isClicked ? document.getElementById("composer-text") : menuOpener();
    if (closestTo(event, "#top-menu [data-action=find]")) open(opener);
  }, { signal: lifeOf(element) });
  const close = () => {
    if (element.hidden) return false;
    use((bar) => bar.close());
    return true;
  };
  const arrive = () => {
    if (/[?&](words|find)=/.test(location.search)) use((bar) => bar.arrive());
    else close();
  };
  return { arrive, close };
}

/** @param {PageParts} page */
async function begun(page) {
  const { FindBar } = await import("../page/find-bar.js");
  const bar = new FindBar(page);
  bar.listen();
  return bar;
}

customElements.define("chat-page", ChatPage);

// Loads the code for the installed app after everything else.

addEventListener("load", () => {
  const page = find(document, "chat-page", HTMLElement);
  void import("../page/installed.js").then((module) => module.start(page), () => {});
});
