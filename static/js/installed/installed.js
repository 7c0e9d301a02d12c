// The page as an app of its own: the service worker, new versions of the product, and notices of long answers.

import { find, workerAddress } from "../page/dom.js";
import { AnswerNotice } from "./answer-notice.js";
import { NewVersion } from "./new-version.js";

/** @import { ChatComposer } from "../chat/composer.js" */
/** @import { ChatTranscript } from "../chat/transcript.js" */

export function start() {
  const composer = /** @type {ChatComposer} */ (find(document, "chat-composer", HTMLElement));
  const transcript = /** @type {ChatTranscript} */ (find(document, "chat-transcript", HTMLElement));
  new AnswerNotice(composer, transcript).listen();
  void work(composer);
}

/** @param {ChatComposer} composer */
async function work(composer) {
  const { serviceWorker } = /** @type {{ serviceWorker?: ServiceWorkerContainer }} */ (navigator);
  if (!serviceWorker || !("worker" in find(document, "chat-page", HTMLElement).dataset)) return;
  try {
    new NewVersion(await serviceWorker.register(workerAddress()), serviceWorker, composer).watch();
  } catch {
    // A browser may refuse, in a private window for one: the page does without.
  }
}
