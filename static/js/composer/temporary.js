// The page of a temporary chat: reports when it is left, closes the chat permanently, or keeps it.

import { t } from "../language/words.js";
import { closestTo, find } from "../page/dom.js";
import { messageOf, postJson } from "../page/server.js";
import { openStorage, pageTexts } from "../page/storage.js";
import { toast } from "../page/menus.js";
import { ChatComposer } from "./composer.js";
import { confirmLoss, watch } from "../page/unsent.js";

/** The delay before a page reports that it shows a chat that another page has left: the leaving must arrive first. */
const OBJECT_MS = 2_000;

const page = find(document, "chat-page", HTMLElement);
const actions = find(page, ".temporary-actions", HTMLElement);
const over = find(page, ".banner-deleted", HTMLElement);
/** Other tabs of this browser may show the same chat: leaving one must not end it for them. */
const tabs = typeof BroadcastChannel === "function" ? new BroadcastChannel("temporary-chats") : null;
/** The chat was closed or kept: leaving the page is no longer reported. */
let isSettled = false;

/** @returns {string | null} the address of the chat; null until the first message has created it */
function chat() {
  return location.pathname.startsWith("/c/") ? location.pathname : null;
}

/** @param {"close" | "keep" | "stay"} what */
async function tell(what) {
  await postJson(`${chat()}temporary/${what}/`);
}

function leave() {
  const path = chat();
  if (!path || isSettled) return;
  const token = document.querySelector('meta[name="csrf-token"]')?.getAttribute("content") ?? "";
  // Unlike other requests, a beacon is sent even after the page is gone.
  navigator.sendBeacon(`${path}temporary/leave/`, new URLSearchParams({ csrfmiddlewaretoken: token }));
  tabs?.postMessage(path);
}

/** The page is in use. If the chat has been deleted, its page says so. */
function stay() {
  if (chat() && !isSettled) void tell("stay").catch(() => {});
}

/** @param {"close" | "keep"} what */
async function settle(what) {
  // Without the fragment, which would only scroll the same page.
  const next = what === "close" ? (page.dataset.home ?? "/") : (chat() ?? "/");
  try {
    await tell(what);
    isSettled = true;
    if (what === "close") forgetDraft();
    else storeDraft();
    location.assign(next);
  } catch (error) {
    toast(messageOf(error));
  }
}

function keep() {
  if (page.querySelector('.exchange[data-state="running"]')) {
    toast(t("Wait until the answer is finished, or stop it first."));
  } else {
    void settle("keep");
  }
}

function showActions() {
  actions.hidden = chat() === null;
}

/** Deletes unsent text together with the chat. Only this page has it. */
function forgetDraft() {
  page.querySelector(".question-editor")?.remove();
  find(page, "chat-composer", ChatComposer).text = "";
  emptied(() => undefined);
}

/** The chat is an ordinary conversation now: its unsent text is stored. */
function storeDraft() {
  const storage = openStorage();
  if (storage) emptied((key, text) => storage.setItem(key, text));
}

/** @param {(key: string, text: string) => void} move what is to be done with each text */
function emptied(move) {
  find(page, "chat-composer", ChatComposer).flush();
  for (const key of Array.from({ length: pageTexts.length }, (_, index) => pageTexts.key(index) ?? "")) {
    move(key, pageTexts.getItem(key) ?? "");
    pageTexts.removeItem(key);
  }
}

/** A link leads out of the chat, which is then deleted: asks first. @param {MouseEvent} event */
async function leaving(event) {
  const link = closestTo(event, "a[href]");
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.defaultPrevented;
  if (!(link instanceof HTMLAnchorElement) || !isPlain || link.target || link.download || !chat() || isSettled) return;
  if (link.pathname === location.pathname || link.origin !== location.origin) return;
  event.preventDefault();
  const { title = "", lead = "", stay = "", go = "" } = actions.dataset;
  if (!(await confirmLoss({ title, lead, stay, go, items: [] }))) return;
  forgetDraft();
  location.assign(link.href);
}

/** The chat was deleted: clears what this page still shows of it. */
function forget() {
  isSettled = true;
  forgetDraft();
  actions.hidden = true;
  find(page, "chat-transcript", HTMLElement).replaceChildren();
}

/** Starts the scripts of a temporary chat's page. */
export function begin() {
  watch();
  page.addEventListener("click", (event) => {
    if (closestTo(event, "[data-action=close-temporary]")) void settle("close");
    if (closestTo(event, "[data-action=keep-temporary]")) keep();
  });
  document.addEventListener("click", (event) => void leaving(event));
  // An accepted message has an address once the event has been handled.
  find(page, "chat-composer", HTMLElement).addEventListener("chat:settled", () => setTimeout(showActions));
  new MutationObserver(() => !over.hidden && forget()).observe(over, { attributeFilter: ["hidden"] });
  addEventListener("pagehide", leave);
  // A page from the back-forward cache may show a chat that was deleted long ago.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  // After a reload, the previous page reports only now that it was left.
  if (chat()) setTimeout(stay, OBJECT_MS);
  tabs?.addEventListener("message", ({ data }) => data === chat() && setTimeout(stay, OBJECT_MS));
  showActions();
}
