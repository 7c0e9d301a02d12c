// Signing out: after a question if something is unsent, deletes everything that a person wrote from this browser,
// whatever tab or page they sign out in, and empties their other pages.

import { atEnd, closestTo } from "../page/dom.js";
import { openStorage, openTabStorage, pageTexts, remember } from "../page/storage.js";

const LEFT = "chatui:left";
const FORM_KEY = "chatui:form";
const PERSONAL = [
  FORM_KEY, "chatui:choice", "chatui:mine", "chatui:notice", "chatui:folders", "chatui:tools",
];
/** Whose they are is in their names: somebody else's stay, if their session ended without a sign-out. */
const TEXTS = ["chatui:draft:", "chatui:next:", "chatui:search:"];

/** @type {Set<() => void>} */
const runs = new Set();

/**
 * @param {() => void} run when the person signs out: its data must not be stored again
 * @param {AbortSignal} life of the page that has the data
 */
export function whenLeaving(run, life) {
  runs.add(run);
  atEnd(life, () => runs.delete(run));
}

/** The person may sign out here, in another tab, or without this script: then the sign-in page tells this script. */
export function watchLeaving() {
  const { person = "" } = document.documentElement.dataset;
  document.addEventListener("submit", (event) => {
    const form = closestTo(event, "form[data-sign-out]");
    if (!(form instanceof HTMLFormElement)) return;
    if ("sure" in form.dataset) return leave(person);
    event.preventDefault();
    const go = () => ((form.dataset.sure = ""), form.requestSubmit());
    unsent().then((module) => module.askToLeave(form, go), go);
  });
  addEventListener("storage", ({ key, newValue: whose }) => {
    if (key !== LEFT || whose === null) return;
    forget(whose);
    if (!person || (whose && whose !== person)) return;
    for (const run of [...runs]) run();
    document.body.replaceChildren();
    void unsent().then((module) => module.showSignedOut());
  });
  const gone = document.querySelector("[data-signed-out]");
  if (gone instanceof HTMLElement) {
    leave(gone.dataset.signedOut ?? "");
    // Only once: somebody may have signed in again when this page is opened from the history.
    history.replaceState(null, "", location.pathname);
  }
  const watch = () => void unsent().then((module) => module.watch(), () => {});
  if (!document.querySelector("chat-page") || openTabStorage()?.getItem(FORM_KEY)) watch();
  else addEventListener("input", (event) => closestTo(event, "[method=post]") && watch());
}

function unsent() {
  return import("../page/unsent.js");
}

/** @param {string} person empty for everybody */
function leave(person) {
  for (const run of [...runs]) run();
  forget(person);
  // Notifies other tabs, and leaves nothing stored.
  remember(LEFT, person);
  remember(LEFT, null);
}

/** @param {string} person */
function forget(person) {
  const own = [...PERSONAL, ...TEXTS.map((beginning) => (person ? `${beginning}${person}:` : beginning))];
  for (const storage of [openStorage(), openTabStorage(), pageTexts]) {
    const keys = Array.from({ length: storage?.length ?? 0 }, (_, index) => storage?.key(index) ?? "");
    for (const key of keys) if (own.some((beginning) => key.startsWith(beginning))) storage?.removeItem(key);
  }
}
