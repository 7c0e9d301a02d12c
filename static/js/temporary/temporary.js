// The page of a temporary chat: it says when it is left, closes the chat for good, or keeps it after all.

import { t } from "../language/words.js";
import { around, find } from "../page/dom.js";
import { act } from "../page/server.js";
import { toast } from "../page/toasts.js";

/** When a page says that it shows a chat that another one has left: the server is to hear of the leaving first. */
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

/** Somebody is here. A chat that is gone by now is one whose page says so. */
function stay() {
  if (chat() && !isSettled) void tell("stay").catch(() => {});
}

/** @param {"close" | "keep"} what */
async function settle(what) {
  // Without what stands behind a #, with which the same page would only scroll.
  const next = what === "close" ? (page.dataset.home ?? "/") : (chat() ?? "/");
  try {
    await tell(what);
    isSettled = true;
    if (what === "close") forgetDraft();
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

/** Unsent text goes with the chat. This tab alone has it. */
function forgetDraft() {
  find(page, "chat-composer textarea", HTMLTextAreaElement).value = "";
  const id = chat()?.split("/")[2];
  if (!id) return;
  // What is written over a question stands under the question's id; only temporary chats have theirs here.
  for (const key of Object.keys(sessionStorage)) {
    if (key.includes(id) || key.includes(":edit:")) sessionStorage.removeItem(key);
  }
}

/** It is gone: so is what this page still shows of it. */
function forget() {
  isSettled = true;
  forgetDraft();
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
  // A page from the browser's own memory may show what is long gone.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  // Where this page was reloaded, the one before it says only now that it was left.
  if (chat()) setTimeout(stay, OBJECT_MS);
  tabs?.addEventListener("message", ({ data }) => data === chat() && setTimeout(stay, OBJECT_MS));
  showActions();
}
