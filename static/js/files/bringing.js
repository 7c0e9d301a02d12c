// The files that are to go with the next message. They are sent to the server at once, one by one, and wait there.

import { t } from "../language/words.js";
import { find } from "../page/dom.js";
import { Chip } from "./chip.js";
import { offerText } from "./pasted.js";
import { waiting } from "./sending.js";

/** @import { ChatComposer } from "../chat/composer.js" */
/** @import { FileUse } from "../wire/wire.js" */
/** @import { Taken } from "./sending.js" */

const MOST = 10;
const DROP_MS = 300;
const RUNNING = t("Files can be sent as soon as the answer is finished.");
const EDITING = t("Files go with your next message. The question that you are changing keeps its own.");
const READING = t("A file is still being read. The message can be sent as soon as that is done.");

/** @type {Bringing | null} */
let bringing = null;

/**
 * @param {ChatComposer} composer
 * @param {string} what happened; empty where the page has been loaded
 * @param {File[]} files
 * @param {string} text that was pasted
 */
export function bring(composer, what, files, text) {
  bringing ??= new Bringing(composer);
  if (!what) return void bringing.restore();
  if (what === "dragover") return bringing.aim();
  const made = bringing;
  if (text && !files.length) return offerText(composer, text, (file) => made.add([file]));
  made.add(files);
}

class Bringing {
  #composer;
  #form;
  #list = document.createElement("ul");
  #live = document.createElement("p");
  /** @type {Chip[]} */
  #chips = [];
  /** Those of the message that is being sent. @type {Chip[]} */
  #sent = [];
  #aimed = 0;

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
    // Before the composer's own: it must not send what is not ready.
    this.#form.parentElement?.addEventListener("submit", this.#check, { capture: true });
    // What the server has is there again; what is on its way to it would be lost.
    addEventListener("beforeunload", (event) => {
      if (this.#chips.some((chip) => chip.isBusy)) event.preventDefault();
    });
    composer.addEventListener("change", ({ target }) => {
      if (target instanceof HTMLSelectElement && target.name === "choice") void this.#renew();
    });
    composer.addEventListener("chat:settled", (event) => this.#settled(event instanceof CustomEvent && event.detail));
  }

  /** Something is being dragged over the page: it says where that would go, and leaves the text alone. */
  aim() {
    document.documentElement.dataset.aimed = t("Drop the files to attach them");
    clearTimeout(this.#aimed);
    this.#aimed = setTimeout(() => delete document.documentElement.dataset.aimed, DROP_MS);
  }

  /** @param {File[]} files @returns {Chip | undefined} the last of all */
  add(files) {
    find(this.#composer, "[type=file]", HTMLInputElement).value = "";
    delete document.documentElement.dataset.aimed;
    for (const file of files) {
      if (file.type.startsWith("image/") && file.type !== "image/svg+xml") {
        this.#composer.say(t("%(name)s: the model reads text only, and cannot see pictures.", { name: file.name }));
      } else if (this.#chips.length >= MOST) {
        this.#composer.say(t("A message takes %(count)s files at most.", { count: String(MOST) }));
        break;
      } else {
        this.#put(new Chip(file, () => this.#composer.choice, (chip, sentence) => this.#changed(chip, sentence)));
      }
    }
    this.#composer.focus();
    return this.#chips.at(-1);
  }

  /** What was brought here before and not sent is here again. */
  async restore() {
    for (const taken of await this.#waiting()) {
      const isHere = this.#chips.some((chip) => chip.isBusy || chip.taken?.id === taken.id);
      if (!isHere && this.#chips.length < MOST) this.take(taken);
    }
  }

  /** A file that the server has. @param {Taken} taken */
  take(taken) {
    this.#put(new Chip(taken, () => this.#composer.choice, (chip, sentence) => this.#changed(chip, sentence)));
    this.#composer.say(this.#hint(), "hint");
  }

  /** Another model reads more or less at once. */
  async #renew() {
    if (!this.#chips.some((chip) => chip.taken)) return;
    for (const taken of await this.#waiting()) this.#chips.find((chip) => chip.taken?.id === taken.id)?.renew(taken);
    this.#composer.say(this.#hint(), "hint");
  }

  /** @returns {Promise<Taken[]>} */
  #waiting() {
    return waiting(this.#composer.choice).catch(() => []);
  }

  /** @param {Chip} chip */
  #put(chip) {
    this.#chips.push(chip);
    this.#list.append(chip.element);
    this.#list.hidden = false;
  }

  /** @param {Chip} chip @param {string} sentence */
  #changed(chip, sentence) {
    if (sentence) this.#live.textContent = sentence;
    if (this.#chips.includes(chip) && !chip.element.isConnected) {
      this.#chips = this.#chips.filter((each) => each !== chip);
      this.#list.hidden = this.#chips.length === 0;
      this.#composer.focus();
    }
    this.#composer.say(this.#hint(), "hint");
  }

  /** Why the message cannot be sent as it is; empty where it can. */
  #problem() {
    const room = Math.min(...this.#chips.map((chip) => chip.taken?.room ?? Infinity));
    const tokens = this.#chips.reduce((sum, chip) => sum + chip.tokens, 0);
    const wrong = this.#chips.map((chip) => chip.problem).find(Boolean);
    if (wrong) return wrong;
    if (tokens <= room) return "";
    return t("Together the files are longer than the model can read. Take some away, or choose a part.");
  }

  /** What whoever brings files should know before they send anything. */
  #hint() {
    const problem = this.#problem();
    if (problem || !this.#chips.length) return problem;
    if (document.querySelector(".question-editor")) return EDITING;
    return this.#composer.isRunning ? RUNNING : "";
  }

  /** @param {Event} event */
  #check = (event) => {
    if (!this.#chips.length || !this.#composer.text.trim()) return;
    const problem = this.#whyNot();
    if (!problem) return;
    event.preventDefault();
    event.stopPropagation();
    this.#composer.say(problem, "hint");
    this.#live.textContent = problem;
  };

  #whyNot() {
    if (this.#chips.some((chip) => chip.isBusy)) return READING;
    if (this.#chips.some((chip) => !chip.taken)) return t("A file could not be read. Take it away, or try it again.");
    if (this.#composer.isRunning) return RUNNING;
    return this.#problem();
  }

  /** @returns {FileUse[] | null} */
  #take() {
    this.#sent = this.#chips;
    for (const chip of this.#sent) chip.element.inert = true; // it is on its way
    return this.#sent.length ? this.#sent.flatMap((chip) => chip.use ?? []) : null;
  }

  /** @param {boolean} isRefused */
  #settled(isRefused) {
    const sent = this.#sent;
    this.#sent = []; // what is accepted after a refusal is another message
    for (const chip of sent) chip.element.inert = false;
    if (isRefused || !sent.length) return;
    this.#chips = this.#chips.filter((chip) => !sent.includes(chip));
    for (const chip of sent) chip.element.remove();
    this.#list.hidden = this.#chips.length === 0;
  }
}
