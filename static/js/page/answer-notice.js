// Notifies people who are looking at something else that a long answer has ended, or that an answer in any of their
// conversations waits for their decision. They switch it on for this browser only. The notice contains nothing from the
// conversation, because anybody may see the screen.

import { t } from "../language/words.js";
import { atEnd, find, lifeOf, pageOf } from "./dom.js";
import { whenLeaving } from "../composer/leaving.js";
import { recall, remember } from "./storage.js";
import { toast } from "./menus.js";

/** @import { ChatComposer } from "../composer/composer.js" */
/** @import { ChatTranscript } from "../chat/transcript.js" */

/** As in "installed.js". */
const KEY = "chatui:notice";
const LONG_MS = 10_000;
const READY = t("An answer is ready");
const NOT_FINISHED = t("The answer was not finished");
const WAITS = t("An answer waits for you.");
const ON = t("You will be notified of long answers, and when one waits for you.");
const OFF = t("You will not be notified any more.");
const DENIED = t("Your browser does not allow it. Notifications can be allowed in its settings for this site.");
/** Held by each visible page, so that the others know that the person is there and sees the list. */
const LOOKING = "visible-page";

export class AnswerNotice {
  #composer;
  #transcript;
  #button;
  /** When the running answer began. @type {number | null} */
  #began = null;

  /**
   * @param {ChatComposer} composer
   * @param {ChatTranscript} transcript
   */
  constructor(composer, transcript) {
    this.#composer = composer;
    this.#transcript = transcript;
    this.#button = find(pageOf(composer), "[data-action=tell-ready]", HTMLButtonElement);
  }

  listen() {
    const signal = lifeOf(this.#composer);
    addEventListener("storage", (event) => event.key === KEY && this.#show(), { signal });
    this.#composer.addEventListener("chat:running", this.#followed);
    document.addEventListener("chat:waits", this.#waits, { signal });
    document.addEventListener("visibilitychange", () => look(signal), { signal });
    look(signal);
    whenLeaving(() => this.#set(false), signal);
    this.#show();
    this.#followed();
  }

  get #isOn() {
    return recall(KEY) === "on" && Notification.permission === "granted";
  }

  /** Browsers ask for permission only after a click. */
  async choose() {
    if (this.#isOn) return this.#set(false, OFF);
    const permission = await Notification.requestPermission();
    this.#set(permission === "granted", permission === "granted" ? ON : DENIED);
  }

  /** @param {boolean} on @param {string} [sentence] */
  #set(on, sentence) {
    remember(KEY, on ? "on" : null);
    this.#show();
    if (sentence) toast(sentence);
  }

  #show() {
    this.#button.setAttribute("aria-pressed", String(this.#isOn));
  }

  #followed = () => {
    const began = this.#began;
    this.#began = this.#composer.isRunning ? (began ?? performance.now()) : null;
    if (this.#began !== null || began === null || performance.now() - began < LONG_MS) return;
    const { state, turn } = this.#transcript.exchanges.at(-1) ?? {};
    if (!document.hidden || !this.#isOn || state === "stopped") return;
    void tell(state === "completed" ? READY : NOT_FINISHED, `chatui-ready-${turn}`);
  };

  /** @param {Event} event */
  #waits = async (event) => {
    if (!(event instanceof CustomEvent && event.detail) || !document.hidden || !this.#isOn) return;
    const { held = [] } = (await navigator.locks?.query()) ?? {};
    if (!held.some(({ name }) => name === LOOKING)) void tell(WAITS, `chatui-waits-${event.detail}`);
  };
}

/** @param {AbortSignal} signal of the page's life */
function look(signal) {
  if (document.hidden || signal.aborted) return;
  const left = () => new Promise((/** @type {(_: void) => void} */ done) => {
    document.addEventListener("visibilitychange", () => done(), { once: true, signal });
    atEnd(signal, done);
  });
  void navigator.locks?.request(LOOKING, { mode: "shared" }, left);
}

/**
 * @param {string} words
 * @param {string} tag of this answer: two tabs with it show one notice. Browsers put a second notice of one tag in the
 *   place of the first without a sound, so another answer has another tag.
 */
async function tell(words, tag) {
  const options = { tag };
  try {
    const notice = new Notification(words, options);
    notice.addEventListener("click", () => {
      focus();
      notice.close();
    });
  } catch {
    // Phone browsers show only notifications of a service worker, which then brings the page to the front.
    const { serviceWorker } = /** @type {{ serviceWorker?: ServiceWorkerContainer }} */ (navigator);
    await (await serviceWorker?.getRegistration())?.showNotification(words, options);
  }
}
