// The menu of tools, fetched when it is opened.

import { brought } from "./drafts.js";
import { seek, find, lifeOf } from "../page/dom.js";
import { laterStyles } from "../exchange/later-styles.js";
import { recall, remember, newId, textStorage } from "../page/storage.js";
import { t } from "../language/words.js";

/** @import { Brought } from "./drafts.js" */
/** @import { PageParts, NextMessage } from "./next-message.js" */

/** @param {HTMLElement} composer */
export function listenToToolsMenu(composer) {
  const menu = seek(composer, "#tools-menu", HTMLElement);
  menu?.addEventListener("beforetoggle", (event) => {
    const { newState } = /** @type {ToggleEvent} */ (event);
    if (newState !== "open") return;
    const kept = { toolsOff, keepToolsOff };
    void Promise.all([import("./tools-menu.js"), laterStyles()]).then(([made]) => made.open(menu, kept));
  });
}

// The tools that are off in a new conversation: the person's last choice in this browser.

const TOOLS_OFF_KEY = "chatui:tools";

/** Their names, separated by commas; empty if no tools are offered. */
export function toolsOff() {
  return seek(document, "#tools-menu", HTMLElement) ? (recall(TOOLS_OFF_KEY) ?? "") : "";
}

/** @param {string[]} names */
function keepToolsOff(names) {
  remember(TOOLS_OFF_KEY, names.length ? names.join(",") : null);
}

// Loads the module for the queued message when an answer is being written, or when this browser already stores a queued
// message.

const PREFIX = "chatui:next:";
const NO_CONNECTION = t("There is no connection to the server. Please try again when it is back.");

/** @param {Omit<PageParts, "newId">} around */
export function nextMessageOnDemand(around) {
  const { composer } = around;
  const signal = lifeOf(composer);
  /** @type {NextMessage | null} */
  let next = null;
  /** @type {Promise<void> | null} */
  let loading = null;
  const load = () => (loading ??= Promise.all([import("./next-message.js"), laterStyles()]).then(([module]) => {
    if (signal.aborted) return;
    next = new module.NextMessage({ ...around, newId });
    next.start();
  }, (error) => {
    loading = null;
    throw error;
  }));
  /** A failed attempt is reported only to a person who sends something. */
  const prepare = () => void load().catch(() => undefined);

  composer.addEventListener("chat:running", () => composer.isRunning && prepare());
  composer.addEventListener("chat:next", (event) => {
    if (next) return;
    // The text stays in the box until it can be queued.
    event.preventDefault();
    const form = find(composer, "form", HTMLFormElement);
    load().then(() => form.requestSubmit(), () => composer.say(NO_CONNECTION, "hint"));
  });
  addEventListener("storage", ({ key }) => key?.startsWith(PREFIX) && prepare(), { signal });
  return {
    /** The page is ready and knows whether an answer is being written. */
    start() {
      const storage = textStorage();
      const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "");
      if (composer.isRunning || keys.some((key) => key.startsWith(PREFIX))) prepare();
    },
    /** The person signs out: nothing is stored any more. */
    forget: () => next?.forget(),
  };
}

// Loads the file modules when somebody first attaches a file, with the button or by dragging or pasting anywhere on the
// page, or already has files.

/** @param {import("./composer.js").ChatComposer} composer */
export function filesOnDemand(composer) {
  const { files } = composer.dataset;
  const bring = (/** @type {[string, Brought?]} */ ...all) => void Promise.all([
    import("../files/pending-files.js"), laterStyles(),
  ]).then(([made]) => made.bring(composer, ...all));
  if (files === "") bring(files);
  for (const button of composer.querySelectorAll(".earlier")) {
    button.addEventListener("click", () => bring(button.matches("[data-servers]") ? "servers" : "earlier"));
  }
  composer.addEventListener("chat:attach-text", () => bring("text"));
  for (const name of ["change", "dragover", "drop", "paste"]) {
    addEventListener(name, (event) => {
      const what = brought(event);
      if (!what) return;
      if (!what.isNative) event.preventDefault();
      bring(name, what);
    }, { signal: lifeOf(composer) });
  }
}
