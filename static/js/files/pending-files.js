// The files attached to the next message. They are uploaded immediately, one by one, and wait on the server.

import { t } from "../language/words.js";
import { find, lifeOf, listen } from "../page/dom.js";
import {
  attachLong, showDropHint, takeIn, MAX_FILES, TOO_MANY, hint, whyNot, whyNotBeside, isEdited, queuedFiles,
  withoutRefused,
} from "./attaching.js";
import { Chip, waiting } from "./chip.js";

/** @import { ChatComposer } from "../composer/composer.js" */
/** @import { Brought } from "../composer/drafts.js" */
/** @import { AttachedFile, UploadedFile } from "./chip.js" */

/** Of each message box. @type {WeakMap<ChatComposer, PendingFiles>} */
const bringing = new WeakMap();

/**
 * @param {ChatComposer} composer
 * @param {string} what the event; empty after the page has loaded
 * @param {Brought} [all]
 */
export function bring(composer, what, all) {
  const made = bringing.get(composer) ?? new PendingFiles(composer);
  bringing.set(composer, made);
  if (!what) return void made.restore();
  if (what === "dragover") return showDropHint();
  if (what === "text") return attachLong(composer, (files) => made.add(files));
  if (what === "earlier") {
    const again = (/** @type {UploadedFile} */ taken) => made.again(taken);
    return void import("./earlier-files.js").then(({ showEarlier }) => showEarlier(composer, again));
  }
  if (what === "servers") {
    const take = (/** @type {UploadedFile} */ taken) => made.again(taken);
    return void import("./server-files.js").then(({ showServers }) => showServers(composer, take));
  }
  if (all) takeIn(composer, all, (files) => made.add(files));
}

const TOGETHER_MS = 150;

class PendingFiles {
  #composer;
  #form;
  #list = document.createElement("ul");
  #live = document.createElement("p");
  /** Those that are about to be announced. @type {string[]} */
  #sentences = [];
  /** @type {Chip[]} */
  #chips = [];
  /** Those of the message that is being sent. @type {Chip[]} */
  #sent = [];
  /** Those of the queued message. @type {Chip[]} */
  #queued = [];
  /** The ids of files removed here: a list that was read before still has them. @type {Set<string>} */
  #removed = new Set();

  /** @param {ChatComposer} composer */
  constructor(composer) {
    this.#composer = composer;
    this.#form = find(composer, "form", HTMLFormElement);
    Object.assign(this.#list, { className: "chips", hidden: true });
    this.#list.setAttribute("aria-label", t("Files for this message"));
    this.#live.className = "visually-hidden";
    this.#live.setAttribute("role", "status");
    find(composer, ".composer-row", HTMLElement).before(this.#list, this.#live);
    composer.files = () => this.#take();
    // Runs before the composer's own listener, which must not send files that are not ready.
    this.#form.parentElement?.addEventListener("submit", this.#check, { capture: true });
    const signal = lifeOf(composer);
    // After a reload, files on the server are shown again, but running uploads would be lost.
    addEventListener("beforeunload", (event) => {
      if (this.#chips.some((chip) => chip.isBusy)) event.preventDefault();
    }, { signal });
    composer.addEventListener("change", ({ target }) => {
      if (target instanceof HTMLSelectElement && target.name === "choice") void this.#renew();
    });
    listen(composer, "chat:queued", (/** @type {AttachedFile[]} */ files) => this.#queue(files));
    const look = () => void (document.visibilityState === "visible" && this.restore());
    document.addEventListener("visibilitychange", look, { signal });
    // Another tab has queued a message: its files must not be removed or sent from here.
    const heldOf = () => this.#chips.filter((chip) => this.#held.has(chip.taken?.id ?? ""));
    addEventListener("storage", () => this.#empty(heldOf()), { signal });
    composer.addEventListener("chat:settled", (event) => this.#settled(event instanceof CustomEvent && event.detail));
  }

  /** @param {File[]} files @returns {Chip | undefined} the last that was added */
  add(files) {
    find(this.#composer, "[type=file]", HTMLInputElement).value = "";
    let last;
    for (const file of files) {
      const why = whyNotBeside(this.#chips, file);
      if (why) this.#composer.say(why);
      else this.#put((last = this.#made(file)));
    }
    this.#composer.focus();
    return last;
  }

  /** Shows the files that wait on the server, except those of the queued message. */
  async restore() {
    const before = this.#chips.filter((chip) => chip.taken && !this.#sent.includes(chip));
    const all = await waiting(this.#composer.choice).catch(() => null);
    if (!all) return;
    this.#empty(before.filter((chip) => all.every(({ id }) => id !== chip.taken?.id)));
    const held = this.#held;
    const isLeftOut = (/** @type {string} */ id) => held.has(id) || isEdited(id) || this.#removed.has(id);
    for (const taken of all) {
      const stale = this.#chips.find((chip) => chip.taken?.id === taken.id && chip.taken.encoding !== taken.encoding);
      if (stale && !stale.isBusy) stale.renew(taken); // chosen in another tab
      const isHere = this.#chips.some((chip) => chip.isBusy || chip.taken?.id === taken.id);
      if (!isHere && !isLeftOut(taken.id) && this.#chips.length < MAX_FILES) this.take(taken);
    }
    this.#queued = this.#queued.filter((chip) => !this.#chips.includes(chip));
  }

  /** The ids of the queued message's files, whichever tab queued it. */
  get #held() {
    return queuedFiles(this.#composer.dataset.person ?? "");
  }

  /** The message is queued until the answer is finished, together with its files. @param {AttachedFile[]} files */
  #queue(files) {
    const queued = this.#chips.filter(({ taken }) => files.some(({ id }) => id === taken?.id));
    this.#queued.push(...queued);
    this.#empty(queued);
  }

  /** A file that was sent before, to be sent again. @param {UploadedFile} taken */
  again(taken) {
    const isHere = this.#chips.some((chip) => chip.taken?.id === taken.id);
    const isAbove = this.#held.has(taken.id) || isEdited(taken.id);
    if (isAbove) this.#composer.say(t("%(name)s is sent with the message above.", { name: taken.name }));
    else if (this.#chips.length >= MAX_FILES) this.#composer.say(TOO_MANY);
    else if (!isHere) this.take(taken);
    this.#composer.focus();
  }

  /** A file that the server has. @param {UploadedFile} taken */
  take(taken) {
    this.#removed.delete(taken.id); // one that was sent before may be attached again
    const before = this.#queued.find((chip) => chip.taken?.id === taken.id); // with what was chosen of it
    this.#put(before ?? this.#made(taken));
    hint(this.#composer, this.#chips);
  }

  /** Another model has a different limit. */
  async #renew() {
    if (!this.#chips.some((chip) => chip.taken)) return;
    const all = await waiting(this.#composer.choice).catch(() => []);
    for (const taken of all) this.#chips.find((chip) => chip.taken?.id === taken.id)?.renew(taken);
    hint(this.#composer, this.#chips);
  }

  /** @param {File | UploadedFile} file */
  #made(file) {
    return new Chip(file, () => this.#composer.choice, (chip, sentence) => this.#changed(chip, sentence));
  }

  /** @param {Chip} chip */
  #put(chip) {
    this.#chips.push(chip);
    this.#list.append(chip.element);
    this.#list.hidden = false;
    this.#list.scrollTop = this.#list.scrollHeight;
  }

  /** Several files may end at once, and each is to be heard. @param {string} sentence */
  #announce(sentence) {
    if (!this.#sentences.length) {
      setTimeout(() => (this.#live.textContent = this.#sentences.splice(0).join(" ")), TOGETHER_MS);
    }
    this.#sentences.push(sentence);
  }

  /** @param {Chip} chip @param {string} sentence */
  #changed(chip, sentence) {
    if (sentence) this.#announce(sentence);
    if (this.#chips.includes(chip) && !chip.element.isConnected) {
      if (chip.taken) this.#removed.add(chip.taken.id);
      this.#chips = this.#chips.filter((each) => each !== chip);
      this.#list.hidden = this.#chips.length === 0;
      this.#composer.focus();
    }
    hint(this.#composer, this.#chips);
  }

  /** @param {Event} event */
  #check = (event) => {
    if (!this.#chips.length || !this.#composer.text.trim()) return;
    const problem = whyNot(this.#chips);
    if (!problem) return;
    event.preventDefault();
    event.stopPropagation();
    this.#composer.say(problem, "hint", withoutRefused(this.#chips, this.#form));
    this.#announce(problem);
  };

  /** @returns {AttachedFile[] | null} */
  #take() {
    // While an answer is written, the queue may refuse the message; "chat:queued" reports that it was accepted.
    this.#sent = this.#composer.isRunning ? [] : this.#chips;
    for (const chip of this.#sent) chip.element.inert = true; // it is on its way
    return this.#chips.length ? this.#chips.flatMap((chip) => chip.use ?? []) : null;
  }

  /** @param {boolean} isRefused */
  #settled(isRefused) {
    const sent = this.#sent;
    this.#sent = []; // what is accepted after a refusal is another message
    for (const chip of sent) chip.element.inert = false;
    if (isRefused) void this.restore(); // one of them may be gone
    else this.#empty(sent);
  }

  /** @param {Chip[]} gone from the message box */
  #empty(gone) {
    this.#chips = this.#chips.filter((chip) => !gone.includes(chip));
    for (const chip of gone) chip.element.remove();
    this.#list.hidden = this.#chips.length === 0;
  }
}
