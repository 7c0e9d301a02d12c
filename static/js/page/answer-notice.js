// Notifies people who are looking at something else that a long answer is ready. They switch it on for this browser
// only. The notice contains nothing from the conversation, because anybody may see the screen.

import { t } from "../language/words.js";
import { find } from "./dom.js";
import { whenLeaving } from "../composer/leaving.js";
import { recall, remember } from "./storage.js";
import { toast } from "./menus.js";

/** @import { ChatComposer } from "../composer/composer.js" */
/** @import { ChatTranscript } from "../chat/transcript.js" */

/** As in "installed.js". */
const KEY = "chatui:notice";
const LONG_MS = 10_000;
const READY = t("An answer is ready");
const ON = t("You will be notified of long answers.");
const OFF = t("You will not be notified any more.");
const DENIED = t("Not allowed by your browser’s settings.");

export class AnswerNotice {
  #composer;
  #transcript;
  #button = find(document, "[data-action=tell-ready]", HTMLButtonElement);
  /** When the running answer began. @type {number | null} */
  #began = null;

  /**
   * @param {ChatComposer} composer
   * @param {ChatTranscript} transcript
   */
  constructor(composer, transcript) {
    this.#composer = composer;
    this.#transcript = transcript;
  }

  listen() {
    addEventListener("storage", (event) => event.key === KEY && this.#show());
    this.#composer.addEventListener("chat:running", this.#followed);
    whenLeaving(() => this.#set(false));
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
    if (document.hidden && this.#isOn && this.#transcript.exchanges.at(-1)?.state === "completed") void tell();
  };
}

async function tell() {
  // Two tabs with the same answer show one notice.
  const options = { tag: "chatui-ready" };
  try {
    const notice = new Notification(READY, options);
    notice.addEventListener("click", () => {
      focus();
      notice.close();
    });
  } catch {
    // Phone browsers show only notifications of a service worker, which then brings the page to the front.
    const { serviceWorker } = /** @type {{ serviceWorker?: ServiceWorkerContainer }} */ (navigator);
    await (await serviceWorker?.getRegistration())?.showNotification(READY, options);
  }
}
