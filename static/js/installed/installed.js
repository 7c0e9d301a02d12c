// The page as an installed app: the service worker, new versions of the product, and notifications of long answers.

import { closestTo, find, workerAddress } from "../page/dom.js";
import { recall } from "../page/storage.js";
import { NewVersion } from "./new-version.js";

/** @import { AnswerNotice } from "./answer-notice.js" */
/** @import { ChatComposer } from "../chat/composer.js" */
/** @import { ChatTranscript } from "../chat/transcript.js" */

/** The name under which the browser stores who wants notifications. */
const KEY = "chatui:notice";

export function start() {
  const composer = /** @type {ChatComposer} */ (find(document, "chat-composer", HTMLElement));
  const transcript = /** @type {ChatTranscript} */ (find(document, "chat-transcript", HTMLElement));
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
  /** @param {(notice: AnswerNotice) => unknown} use */
  const use = (use) => {
    loading ??= begun(composer, transcript);
    loading.then(use, () => (loading = null));
  };
  document.addEventListener("click", (event) => {
    if (closestTo(event, "[data-action=tell-ready]")) use((notice) => notice.choose());
  });
  const look = () => {
    if (recall(KEY)) use(() => undefined);
  };
  addEventListener("storage", look);
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
    new NewVersion(await serviceWorker.register(workerAddress()), serviceWorker, composer).watch();
  } catch {
    // Browsers may refuse, for example in private windows: the page works without it.
  }
}
