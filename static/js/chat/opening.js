// Opens another conversation, or a new one, without loading a page: puts the <chat-page> of the server's page in the
// place of the one that is shown. What does not fit, fails or takes long is loaded by the browser as ever.

import { find, parseDocument, seek, shownAddress, showsAs } from "../page/dom.js";
import { applyLanguages } from "../page/menus.js";
import { identity } from "./transcript.js";

/**
 * @typedef {object} Address where a link, or the history, leads
 * @property {string} href
 * @property {boolean} [isBack] whether the history leads there, which then has that address already
 *
 * @typedef {{ fresh: Document, address: string }} Answer the server's page, and the address that it has
 * @typedef {{ href: string, at: number, answer: Promise<Answer | null>, ending: AbortController }} Asked
 * @typedef {{ name: string, top: number }} Place an exchange, and where below the top of the screen it begins
 */

/** After that, the browser loads the page, and shows that it does. */
const PATIENCE_MS = 4_000;
/** A page that was asked for when the button went down is not shown if it is older. */
const FRESH_MS = 1_000;
/** What the page looks for when it is made. */
const PARTS = "conversation-list, chat-transcript, chat-composer";
/** Leads to the page with a message, and may open the branch that it is on. */
const MESSAGE = /^(\/c\/[^/]+\/)at\/([^/]+)\/$/;

/** @type {Asked | null} */
let ahead = null;
/** Where the reader was in what the history leads back to, by its address. @type {Map<string, Place>} */
const places = new Map();

/** The button is down on a link: asks for its page. Only a click opens a branch. @param {string} href */
export function prepare(href) {
  ahead?.ending.abort();
  ahead = MESSAGE.test(new URL(href).pathname) ? null : ask(href);
}

/**
 * @param {HTMLElement} page that is shown
 * @param {Address} to
 * @param {AbortSignal} signal that ends the attempt: the page stays, or leads elsewhere
 */
export async function open(page, to, signal) {
  const [before, isWriting] = [ahead, writing(page, signal)];
  ahead = null;
  const isFresh = before?.href === to.href && performance.now() - before.at < FRESH_MS;
  if (!isFresh) before?.ending.abort();
  const asked = isFresh ? before : ask(to.href);
  signal.addEventListener("abort", () => asked.ending.abort());
  const late = setTimeout(() => asked.ending.abort(), PATIENCE_MS);
  const answer = await asked.answer;
  clearTimeout(late);
  await isWriting();
  if (signal.aborted || !page.isConnected) return;
  // As before a load: what is unsent is stored, or the person is asked.
  const mayLeave = dispatchEvent(new Event("beforeunload", { cancelable: true }));
  if (answer && mayLeave) return show(page, answer, Boolean(to.isBack));
  if (!to.isBack) return location.assign(to.href);
  if (mayLeave) return location.reload();
  // Whoever stays then is still where the page says.
  history.pushState(null, "", shownAddress());
  location.assign(to.href);
}

/** @param {string} href @returns {Asked} */
function ask(href) {
  const ending = new AbortController();
  return { href, at: performance.now(), ending, answer: fetched(href, ending.signal).catch(() => null) };
}

/**
 * @param {string} href
 * @param {AbortSignal} signal
 * @returns {Promise<Answer | null>} null if the browser has to load the page
 */
async function fetched(href, signal) {
  const response = await fetch(href, { credentials: "same-origin", signal });
  const [asked, shown] = [new URL(href), new URL(response.url)];
  const [, conversation, message] = MESSAGE.exec(asked.pathname) ?? [];
  const isPageOfMessage = message !== undefined && shown.pathname === conversation;
  if (!response.ok || (response.redirected && !isPageOfMessage)) return null;
  if (!response.headers.get("Content-Type")?.startsWith("text/html")) return null;
  const fresh = parseDocument(await response.text());
  const hash = isPageOfMessage ? `#m-${message}` : asked.hash;
  return fits(fresh) ? { fresh, address: shown.pathname + shown.search + hash } : null;
}

/** Whether it is a page of the same release, for the same person and in the same language. @param {Document} fresh */
function fits(fresh) {
  const page = seek(fresh, "chat-page", HTMLElement);
  const [mine, theirs] = [document.documentElement, fresh.documentElement];
  const isSame = ["lang", "dir", "data-person", "data-time-zone"].every((name) => {
    return mine.getAttribute(name) === theirs.getAttribute(name);
  });
  if (!page || "temporary" in page.dataset || !isSame) return false;
  return [...fresh.head.querySelectorAll("script[src], link[rel=stylesheet]")].every((each) => {
    const name = each.localName === "link" ? "href" : "src";
    return document.head.querySelector(`${each.localName}[${name}="${CSS.escape(each.getAttribute(name) ?? "")}"]`);
  });
}

/**
 * Follows an input method: the word that it writes is not cut.
 * @param {HTMLElement} page
 * @param {AbortSignal} signal
 * @returns {() => Promise<unknown>} resolves when it writes none
 */
function writing(page, signal) {
  let isOver = Promise.resolve();
  page.addEventListener("compositionstart", () => {
    isOver = new Promise((resolve) => {
      page.addEventListener("compositionend", () => resolve(), { once: true, signal });
      signal.addEventListener("abort", () => resolve());
    });
  }, { signal });
  return () => isOver;
}

/**
 * @param {HTMLElement} page that is shown
 * @param {Answer} answer
 * @param {boolean} isBack
 */
async function show(page, { fresh, address }, isBack) {
  const next = find(fresh, "chat-page", HTMLElement);
  const [box, list] = [boxOf(page), listOf(page).scrollTop];
  const { value, selectionStart, selectionEnd } = box;
  keepPlace(page);
  dispatchEvent(new Event("pagehide")); // as at the end of a page: drafts are stored
  // As a link to the page itself, which adds nothing to the history. The history may lead back just when a message
  // gives the shown page the address of its conversation.
  const isSame = address === location.pathname + location.search + location.hash;
  if (!isBack || !isSame) history[isSame ? "replaceState" : "pushState"](null, "", address);
  showsAs();
  document.title = fresh.title;
  const token = "meta[name=csrf-token]";
  find(document, token, HTMLMetaElement).content = find(fresh, token, HTMLMetaElement).content;
  for (const each of document.querySelectorAll("body > dialog")) if (each instanceof HTMLDialogElement) each.close();
  document.adoptNode(next);
  for (const part of next.querySelectorAll(PARTS)) customElements.upgrade(part);
  customElements.upgrade(next);
  // The page sends it when it starts, as what is submitted before its scripts are loaded.
  if (box.form && "asked" in box.form.dataset) find(next, ".composer-form", HTMLElement).dataset.asked = "";
  page.replaceWith(next);
  const focused = document.activeElement;
  // Only a step within the page makes a message the one that the address names, for the style sheet.
  if (location.hash) location.replace(location.hash);
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  await null; // the page starts
  if (isBack) showPlace(next);
  keepList(listOf(next), list);
  const mine = boxOf(next);
  if (document.activeElement === mine && mine.value === value) mine.setSelectionRange(selectionStart, selectionEnd);
  applyLanguages();
  if (next.querySelector(".model-search")) void import("./model-search.js").then((module) => module.start(), () => {});
  // Screen readers hear of no load.
  requestAnimationFrame(() => (find(next, ".announcer", HTMLElement).textContent = fresh.title));
  // If the page is still loading, this follows then.
  if (document.readyState !== "complete") return;
  void import("../page/installed.js").then((module) => module.start(next), () => {});
}

/** @param {HTMLElement} page */
function boxOf(page) {
  return find(page, "#composer-text", HTMLTextAreaElement);
}

/** @param {HTMLElement} page */
function listOf(page) {
  return find(page, "conversation-list", HTMLElement);
}

/**
 * The list stays where it was, unless its open conversation would be out of sight.
 * @param {HTMLElement} list
 * @param {number} top
 */
function keepList(list, top) {
  const before = list.scrollTop;
  list.scrollTop = top;
  const [open, view] = [list.querySelector("[aria-current]"), list.getBoundingClientRect()];
  const shown = open?.getBoundingClientRect();
  if (shown && (shown.top < view.top || shown.bottom > view.bottom)) list.scrollTop = before;
}

/** Who follows the newest text is led to it again. @param {HTMLElement} page */
function keepPlace(page) {
  const [address, { scroller, exchanges, top }] = [shownAddress(), readingIn(page)];
  places.delete(address);
  if (scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 1) return;
  const first = exchanges.find((each) => each.getBoundingClientRect().bottom > top);
  if (first) places.set(address, { name: identity(first), top: first.getBoundingClientRect().top - top });
}

/** @param {HTMLElement} page */
function showPlace(page) {
  const place = places.get(shownAddress());
  const { scroller, transcript, exchanges, top } = readingIn(page);
  const first = exchanges.find((each) => identity(each) === place?.name);
  if (!first || !place) return;
  transcript.dispatchEvent(new CustomEvent("chat:placed"));
  const scroll = () => (scroller.scrollTop += first.getBoundingClientRect().top - top - place.top);
  scroll();
  // What comes near to the screen is laid out only now, and may be higher or lower than was expected.
  requestAnimationFrame(scroll);
}

/** @param {HTMLElement} page */
function readingIn(page) {
  const [scroller, transcript] = [find(page, ".scroller", HTMLElement), find(page, "chat-transcript", HTMLElement)];
  return { scroller, transcript, exchanges: [...transcript.children], top: scroller.getBoundingClientRect().top };
}
