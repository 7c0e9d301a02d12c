// The files of a question that is being edited: its original files without removed ones, and new ones. New files wait
// on the server, as at the message box. The old question does not change.

import { t } from "../language/words.js";
import { atEnd, find, lifeOf } from "../page/dom.js";
import { brought } from "../composer/drafts.js";
import {
  attachLong, showDropHint, hideDropHint, takeIn, MAX_FILES, TOO_MANY, whyNot, whyNotBeside, queuedFiles,
  withoutRefused,
} from "./attaching.js";
import { attaching, Chip, filesOf, waiting } from "./chip.js";

/** @import { Act } from "../page/dom.js" */
/** @import { ChatComposer } from "../composer/composer.js" */
/** @import { AttachedFile, UploadedFile } from "./chip.js" */

/** @typedef {(sentence: string) => void} Say */

const UNKNOWN = t("The files of this question cannot be shown at the moment. They will not be changed.");

export class EditedFiles {
  #composer = /** @type {ChatComposer} */ (find(document, "chat-composer", HTMLElement));
  #form;
  #area;
  #say;
  #question;
  #list = document.createElement("ul");
  #live = document.createElement("p");
  #tools = document.createElement("div");
  /** @type {Chip[]} */
  #chips = [];
  /** The question's original files; null until they are known. @type {string | null} */
  #before = null;
  #ending = new AbortController();

  /**
   * @param {HTMLFormElement} form the editor
   * @param {HTMLElement} section the question
   * @param {string} question its id
   * @param {Say} say in the editor
   */
  constructor(form, section, question, say) {
    this.#form = form;
    this.#say = say;
    this.#question = question;
    this.#area = find(form, "textarea", HTMLTextAreaElement);
    Object.assign(this.#list, { className: "chips", hidden: true });
    this.#list.setAttribute("aria-label", t("Files of this question"));
    this.#live.className = "visually-hidden";
    this.#live.setAttribute("role", "status");
    this.#tools.className = "question-editor-files";
    this.#area.after(this.#list, this.#live);
    find(form, ".question-editor-row", HTMLElement).prepend(this.#tools);
    const { signal } = this.#ending;
    atEnd(lifeOf(form), () => this.#ending.abort());
    const caught = { capture: true, signal };
    for (const name of ["dragover", "drop", "paste"]) addEventListener(name, this.#dropped, caught);
    const picker = { capture: true, signal };
    this.#composer.addEventListener("change", ({ target }) => {
      if (target instanceof HTMLSelectElement && target.name === "choice") void this.#renew();
    }, picker);
    if (section.querySelector(".files")) void this.#load();
    else this.#ready();
  }

  /** The files to send with the question; null if it keeps its original ones. @returns {AttachedFile[] | null} */
  get uses() {
    const uses = this.#chips.flatMap((chip) => chip.use ?? []);
    return this.#before === null || JSON.stringify(uses) === this.#before ? null : uses;
  }

  /** Why they cannot be sent; empty if they can. */
  get problem() {
    return this.uses || this.#chips.some((chip) => !chip.taken) ? whyNot(this.#chips) : "";
  }

  /** What puts an end to that problem, if one click does. */
  get act() {
    return withoutRefused(this.#chips, this.#form);
  }

  /** Attaches a text that is too long; undefined as long as no file can be added. @returns {Act | undefined} */
  get attaching() {
    const run = () => attachLong(this.#area, (files) => this.#add(files));
    return this.#before === null ? undefined : { label: t("Attach it as a file"), run };
  }

  /** @param {boolean} locked whether the question is being sent */
  lock(locked) {
    this.#list.inert = this.#tools.inert = locked;
  }

  /** The editor closes. @param {boolean} isSent whether the server may have the files by now */
  end(isSent) {
    this.#ending.abort();
    hideDropHint();
    if (!isSent) for (const chip of [...this.#chips]) chip.remove();
    this.#chips = [];
  }

  async #load() {
    try {
      for (const taken of await filesOf(this.#composer.choice, this.#question)) this.#put(this.#made(taken));
    } catch {
      return this.#say(UNKNOWN);
    }
    if (!this.#ending.signal.aborted) this.#ready();
  }

  /** The question's files are known: others can be added now. */
  #ready() {
    this.#before = JSON.stringify(this.#chips.flatMap((chip) => chip.use ?? []));
    const picker = Object.assign(document.createElement("input"), { type: "file", multiple: true, hidden: true });
    picker.addEventListener("change", (event) => {
      event.stopPropagation(); // otherwise the message box would take them
      this.#add([...(picker.files ?? [])]);
      picker.value = "";
    });
    this.#tools.append(picker);
    this.#button(t("Attach files"), () => picker.click()).title = attaching().title;
    this.#button(t("Earlier files"), () => {
      void import("./earlier-files.js").then(({ showEarlier }) => {
        return showEarlier(this.#composer, (taken) => this.#again(taken));
      });
    });
    this.#say(""); // a complaint about a long text has its button now
  }

  /** @param {string} label @param {() => void} pressed */
  #button(label, pressed) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "quiet" });
    button.textContent = label;
    button.addEventListener("click", pressed);
    this.#tools.append(button);
    return button;
  }

  /** Dragged or pasted, anywhere but at the message box. @param {Event} event */
  #dropped = (event) => {
    const isElsewhere = event.target instanceof Node && this.#composer.contains(event.target);
    const what = isElsewhere || this.#before === null || this.#tools.inert ? null : brought(event);
    if (!what || (what.isNative && event.target !== this.#area)) return;
    event.stopPropagation();
    if (!what.isNative) event.preventDefault();
    if (event.type === "dragover") return showDropHint();
    takeIn(this.#area, what, (files) => this.#add(files));
  };

  /** @param {File[]} files @returns {Chip | undefined} the last that was added */
  #add(files) {
    let last;
    for (const file of files) {
      const why = whyNotBeside(this.#chips, file);
      if (why) this.#say(why);
      else this.#put((last = this.#made(file)));
    }
    this.#area.focus();
    return last;
  }

  /** A file that was sent before, to be sent again. @param {UploadedFile} taken */
  #again(taken) {
    const { id, name } = taken;
    const isHere = this.#chips.some((chip) => chip.taken?.id === id);
    const isTaken = this.#composer.querySelector(`[data-file="${CSS.escape(id)}"]`);
    if (isTaken || queuedFiles(this.#composer.dataset.person ?? "").has(id)) {
      this.#say(t("%(name)s is sent with your next message.", { name }));
    } else if (this.#chips.length >= MAX_FILES) this.#say(TOO_MANY);
    else if (!isHere) this.#put(this.#made(taken));
    this.#area.focus();
  }

  /** Another model has a different limit. */
  async #renew() {
    const choice = this.#composer.choice;
    const all = await Promise.all([filesOf(choice, this.#question), waiting(choice)]).catch(() => []);
    for (const taken of all.flat()) this.#chips.find((chip) => chip.taken?.id === taken.id)?.renew(taken);
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

  /** @param {Chip} chip @param {string} sentence */
  #changed(chip, sentence) {
    if (sentence) this.#live.textContent = sentence;
    if (this.#before !== null) this.#say("");
    if (!this.#chips.includes(chip) || chip.element.isConnected) return;
    this.#chips = this.#chips.filter((each) => each !== chip);
    this.#list.hidden = this.#chips.length === 0;
    if (this.#form.isConnected) this.#area.focus();
  }
}
