// Handles the buttons for other versions of an answer: switching, comparing side by side, and answering with another
// model. Loads the code for them on first use.

import { t } from "../language/words.js";
import { closestTo } from "../page/dom.js";
import { laterStyles } from "../windows/later-styles.js";
import { toast } from "../page/toasts.js";
import { listenToAgainMenu } from "./again-menu.js";

/** @import { ChatTranscript } from "../chat/transcript.js" */
/** @import { Comparison } from "./comparison.js" */

/** @param {ChatTranscript} transcript */
export function listenForVersions(transcript) {
  /** @type {Promise<Comparison> | null} */
  let loading = null;
  const load = () => (loading ??= begun(transcript));
  /** @returns {Promise<Comparison | null>} null if it could not be loaded; the person was told */
  const comparison = () => load().catch(() => {
    loading = null;
    return noVersionsLoaded();
  });
  transcript.addEventListener("submit", async (event) => {
    const form = closestTo(event, "form.siblings");
    const button = event.submitter;
    if (!(form instanceof HTMLFormElement) || !(button instanceof HTMLButtonElement)) return;
    // Submitting the form would reload the page; this way the reader's place is kept.
    event.preventDefault();
    (await import("../exchange/versions.js").catch(noVersionsLoaded))?.showVersion(transcript, form, button);
  });
  listenToAgainMenu(comparison);
  transcript.addEventListener("click", async (event) => {
    const element = closestTo(event, ".exchange");
    if (element && closestTo(event, "button[data-action=compare]")) (await comparison())?.toggle(element);
  });
  if (new URLSearchParams(location.search).has("compare")) void comparison();
}

function noVersionsLoaded() {
  toast(t("There is no connection to the server. Please try again when it is back."));
  return null;
}

/** @param {ChatTranscript} transcript */
async function begun(transcript) {
  const [{ Comparison }] = await Promise.all([import("./comparison.js"), laterStyles()]);
  const comparison = new Comparison(transcript);
  comparison.listen();
  return comparison;
}
