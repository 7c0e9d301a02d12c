// The page as an installed app: the service worker, new versions of the product, and notifications of long answers.

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
    new NewVersion(await serviceWorker.register(workerAddress()), serviceWorker, composer).watch();
  } catch {
    // Browsers may refuse, for example in private windows: the page works without it.
  }
}

// The notice that the product has a new version. It never appears while an answer is being written.

/** Milliseconds between checks for a new version by a page that stays open. */
const LOOK_MS = 3_600_000;

class NewVersion {
  #registration;
  #container;
  #composer;
  #line = find(document, ".banner-version", HTMLElement);
  #lookedAt = performance.now();

  /**
   * @param {ServiceWorkerRegistration} registration
   * @param {ServiceWorkerContainer} container
   * @param {ChatComposer} composer
   */
  constructor(registration, container, composer) {
    this.#registration = registration;
    this.#container = container;
    this.#composer = composer;
  }

  watch() {
    const life = { signal: lifeOf(this.#composer) };
    this.#registration.addEventListener("updatefound", () => {
      this.#registration.installing?.addEventListener("statechange", this.#show, life);
    }, life);
    this.#registration.installing?.addEventListener("statechange", this.#show, life);
    this.#composer.addEventListener("chat:running", this.#show);
    this.#line.addEventListener("click", this.#clicked);
    document.addEventListener("visibilitychange", this.#look, life);
    this.#show();
  }

  #show = () => {
    // The first worker of a browser replaces none, so it is not a new version.
    const isNew = this.#registration.waiting !== null && this.#container.controller !== null;
    this.#line.hidden = !isNew || this.#composer.isRunning;
  };

  /** @param {Event} event */
  #clicked = (event) => {
    if (!closestTo(event, "[data-action=reload]") || !this.#registration.waiting) return;
    this.#container.addEventListener("controllerchange", () => location.reload(), { once: true });
    this.#registration.waiting.postMessage("take over");
  };

  #look = () => {
    if (document.hidden || performance.now() - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = performance.now();
    this.#registration.update().catch(() => undefined);
  };
}
