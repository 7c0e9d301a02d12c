// The page as an installed app: the service worker, and what is loaded for new versions and notifications.

import { closestTo, find, lifeOf, workerAddress } from "./dom.js";
import { recall } from "./storage.js";

/** @import { AnswerNotice } from "./answer-notice.js" */
/** @import { ChatComposer } from "../composer/composer.js" */
/** @import { ChatTranscript } from "../chat/transcript.js" */

/** The name under which the browser stores who wants notifications. */
const KEY = "chatui:notice";

/** @param {HTMLElement} page that asked for this, and may have been left meanwhile */
export function start(page) {
  if (!page.isConnected) return;
  const composer = /** @type {ChatComposer} */ (find(page, "chat-composer", HTMLElement));
  const transcript = /** @type {ChatTranscript} */ (find(page, "chat-transcript", HTMLElement));
  if ("Notification" in globalThis) noticeOnDemand(composer, transcript);
  void work(composer);
}

/**
 * Notifications are loaded only if somebody has switched them on, in this tab or another one.
 * @param {ChatComposer} composer
 * @param {ChatTranscript} transcript
 */
function noticeOnDemand(composer, transcript) {
  /** @type {Promise<AnswerNotice> | null} */
  let loading = null;
  const signal = lifeOf(composer);
  /** @param {(notice: AnswerNotice) => unknown} use */
  const use = (use) => {
    loading ??= begun(composer, transcript);
    loading.then(use, () => (loading = null));
  };
  document.addEventListener("click", (event) => {
    if (closestTo(event, "[data-action=tell-ready]")) use((notice) => notice.choose());
  }, { signal });
  const look = () => {
    if (recall(KEY)) use(() => undefined);
  };
  addEventListener("storage", look, { signal });
  find(document, "[data-action=tell-ready]", HTMLButtonElement).hidden = false;
  look();
}

/** @param {ChatComposer} composer @param {ChatTranscript} transcript */
async function begun(composer, transcript) {
  const { AnswerNotice } = await import("./answer-notice.js");
  const notice = new AnswerNotice(composer, transcript);
  notice.listen();
  return notice;
}

/** @param {ChatComposer} composer */
async function work(composer) {
  const { serviceWorker } = /** @type {{ serviceWorker?: ServiceWorkerContainer }} */ (navigator);
  if (!serviceWorker || !("worker" in find(document, "chat-page", HTMLElement).dataset)) return;
  try {
    const registration = await serviceWorker.register(workerAddress());
    // Browsers and extensions that block workers may register none.
    const load = () => void import("./new-version.js").then(({ NewVersion }) => {
      if (registration && composer.isConnected) new NewVersion(registration, serviceWorker, composer).watch();
    }, () => {});
    // The first worker of a browser replaces none: on its first page, there is nothing to tell for a while.
    if (serviceWorker.controller) load();
    else document.addEventListener("visibilitychange", load, { once: true, signal: lifeOf(composer) });
  } catch {
    // Browsers may refuse, for example in private windows: the page works without it.
  }
}
