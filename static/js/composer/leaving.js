// Signing out: deletes everything that a person wrote from this browser, whatever tab or page they sign out in.

import { closestTo } from "../page/dom.js";
import { openStorage, remember } from "../page/storage.js";

const LEFT = "chatui:left";
const PERSONAL = [
  "chatui:draft:", "chatui:next", "chatui:find", "chatui:choice", "chatui:notice", "chatui:folders",
  "chatui:tools",
];

/** @type {(() => void)[]} */
const runs = [];

/** @param {() => void} run when the person signs out: its data must not be stored again */
export function whenLeaving(run) {
  runs.push(run);
}

/** The person may sign out here, in another tab, or without this script: then the sign-in page tells this script. */
export function watchLeaving() {
  document.addEventListener("submit", (event) => {
    if (closestTo(event, "form[data-sign-out]")) leave();
  });
  addEventListener("storage", (event) => {
    if (event.key === LEFT && event.newValue !== null) forget();
  });
  if (document.querySelector("[data-signed-out]")) leave();
}

function leave() {
  forget();
  // Notifies other tabs, and leaves nothing stored.
  remember(LEFT, "now");
  remember(LEFT, null);
}

function forget() {
  for (const run of runs) run();
  for (const storage of [openStorage(), ofThisTab()]) {
    const keys = Array.from({ length: storage?.length ?? 0 }, (_, index) => storage?.key(index) ?? "");
    for (const key of keys) if (PERSONAL.some((beginning) => key.startsWith(beginning))) storage?.removeItem(key);
  }
}

/** @returns {Storage | null} */
function ofThisTab() {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}
