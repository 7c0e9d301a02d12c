// The page of a temporary chat: it says when it is left, closes the chat for good, or keeps it after all.

import { t } from "../language/words.js";
import { around, find } from "../page/dom.js";
import { act } from "../page/server.js";
import { toast } from "../page/toasts.js";

/** When a tab says that it still shows a chat that another one has left: the server is to hear of the leaving first. */
const OBJECT_MS = 2_000;

const page = find(document, "chat-page", HTMLElement);
const actions = find(page, ".temporary-actions", HTMLElement);
const over = find(page, ".banner-deleted", HTMLElement);
/** Other tabs of this browser may show the same chat: one that is left must not end it for them. */
const tabs = typeof BroadcastChannel === "function" ? new BroadcastChannel("temporary-chats") : null;
/** The chat was closed or kept: leaving the page says nothing any more. */
let isSettled = false;

/** @returns {string | null} the address of the chat; null until the first message has created it */
function chat() {
  return location.pathname.startsWith("/c/") ? location.pathname : null;
}

/** @param {"close" | "keep" | "stay"} what */
async function tell(what) {
  await act(`${chat()}temporary/${what}/`);
}

function leave() {
  const path = chat();
  if (!path || isSettled) return;
  const token = document.querySelector('meta[name="csrf-token"]')?.getAttribute("content") ?? "";
  // Unlike other requests, a beacon is sent although the page is gone.
  navigator.sendBeacon(`${path}temporary/leave/`, new URLSearchParams({ csrfmiddlewaretoken: token }));
  tabs?.postMessage(path);
}

/** Somebody is here. Where the chat is gone by now, the page says so when its connection is back. */
function stay() {
  if (chat() && !isSettled) void tell("stay").catch(() => {});
}

/** @param {"close" | "keep"} what */
async function settle(what) {
  const next = what === "close" ? (page.dataset.home ?? "/") : location.href;
  try {
    await tell(what);
    isSettled = true;
    location.assign(next);
  } catch (error) {
    toast(error instanceof Error ? error.message : t("That did not work. Please reload the page."));
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

/** It is gone: so is what this page still shows of it. */
function forget() {
  isSettled = true;
  actions.hidden = true;
  find(page, "chat-transcript", HTMLElement).replaceChildren();
}

/** The page is one of a temporary chat. */
export function begin() {
  page.addEventListener("click", (event) => {
    if (around(event, "[data-action=close-temporary]")) void settle("close");
    if (around(event, "[data-action=keep-temporary]")) keep();
  });
  // What the server has accepted has an address once the event has been handled.
  find(page, "chat-composer", HTMLElement).addEventListener("chat:settled", () => setTimeout(showActions));
  new MutationObserver(() => !over.hidden && forget()).observe(over, { attributeFilter: ["hidden"] });
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (event) => event.persisted && stay());
  tabs?.addEventListener("message", ({ data }) => data === chat() && setTimeout(stay, OBJECT_MS));
  showActions();
}
