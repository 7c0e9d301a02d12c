// Loads the module for the queued message when an answer is being written, or when this browser already stores a queued
// message.

import { t } from "../language/words.js";
import { newId } from "../models/client-id.js";
import { find } from "../page/dom.js";
import { textStorage } from "../page/storage.js";
import { laterStyles } from "../windows/later-styles.js";

/** @import { PageParts, NextMessage } from "./next-message.js" */

const PREFIX = "chatui:next:";
const NO_CONNECTION = t("There is no connection to the server. Please try again when it is back.");

/** @param {Omit<PageParts, "newId">} around */
export function nextMessageOnDemand(around) {
  const { composer } = around;
  /** @type {NextMessage | null} */
  let next = null;
  /** @type {Promise<void> | null} */
  let loading = null;
  const load = () => (loading ??= Promise.all([import("./next-message.js"), laterStyles()]).then(([module]) => {
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
  addEventListener("storage", ({ key }) => key?.startsWith(PREFIX) && prepare());
  return {
    /** The page is ready and knows whether an answer is being written. */
    start() {
      const storage = textStorage();
      const keys = Array.from({ length: storage?.length ?? 0 }, (_, index) => storage?.key(index) ?? "");
      if (composer.isRunning || keys.some((key) => key.startsWith(PREFIX))) prepare();
    },
    /** The person signs out: deletes what they wrote from this browser. */
    forget: () => next?.forget(),
  };
}
