// One file at the message box: its name, upload progress, size in tokens, and which part the model gets.

import { isPicture } from "../composer/drafts.js";
import { number, t } from "../language/words.js";
import { find, seek } from "../page/dom.js";
import { postJson, read } from "../page/server.js";

/** @import { FileUse } from "../wire/wire.js" */

/** @typedef {FileUse & { name: string }} AttachedFile the part of a file to send, and the name to show */

/** @param {string} name @param {string} className @param {string} [text] */
function made(name, className, text = "") {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
}

export class Chip {
  element = made("li", "chip");
  #file;
  #choice;
  #changed;
  #state = made("span", "chip-state");
  #progress = /** @type {HTMLProgressElement} */ (made("progress", "chip-progress"));
  #tools = made("span", "chip-tools");
  #sending = /** @type {ReturnType<typeof send> | null} */ (null);
  /** The file on the server. @type {UploadedFile | null} */
  taken = null;
  #use = /** @type {HTMLSelectElement | null} */ (null);
  #places = /** @type {HTMLInputElement | null} */ (null);
  #encoding = /** @type {HTMLSelectElement | null} */ (null);
  /** Of a chosen encoding in which it is about to be read; 0: of none. */
  #rereading = 0;

  /**
   * @param {File | UploadedFile} file to upload, or already on the server
   * @param {() => string} choice
   * @param {(chip: Chip, sentence: string) => void} changed
   */
  constructor(file, choice, changed) {
    this.#file = file;
    this.#choice = choice;
    this.#changed = changed;
    const name = made("bdi", "chip-name", file.name);
    this.element.append(name, this.#state, this.#progress, this.#tools);
    this.#button(t("Remove %(name)s", { name: file.name }), "×", () => this.remove());
    if (file instanceof File) void this.begin(file);
    else this.#took(file);
    if ("use" in file && file.use) this.#choose({ use: file.use, places: file.chosen ?? "" });
  }

  get isBusy() {
    return this.#sending !== null || this.#rereading !== 0;
  }

  /** Whether it is this file, as far as names, sizes and times tell. @param {File} file */
  holds(file) {
    const { name, size } = this.#file;
    const isOther = this.#file instanceof File && this.#file.lastModified !== file.lastModified;
    return name === file.name && size === file.size && !isOther && (this.isBusy || this.taken !== null);
  }

  /** About how many tokens of it are sent. */
  get tokens() {
    if (!this.taken) return 0;
    const use = this.#use?.value ?? "whole";
    if (use === "first" || use === "search") return 0; // it takes what is left, or next to nothing
    if (use !== "places") return this.taken.tokens;
    const wanted = numbers(this.#places?.value ?? "");
    return this.taken.places.reduce((sum, [number, , tokens]) => sum + (wanted.has(number) ? tokens : 0), 0);
  }

  /** The problem with the choice of pages; empty if there is none. */
  get problem() {
    if (this.#use?.value !== "places" || !this.taken) return "";
    const wanted = numbers(this.#places?.value ?? "");
    const known = new Set(this.taken.places.map(([number]) => number));
    const isRight = wanted.size > 0 && [...wanted].every((number) => known.has(number));
    return isRight ? "" : t("Enter the pages of %(name)s to use, such as 1-12, 15.", { name: this.taken.name });
  }

  /** @returns {AttachedFile | null} */
  get use() {
    if (!this.taken) return null;
    const { id, name } = this.taken;
    return { id, name, use: this.#use?.value ?? "whole", places: this.#places?.value ?? "" };
  }

  /** @param {File} file */
  async begin(file) {
    const before = refused(file);
    if (before) return this.#failed(before, file);
    this.element.dataset.state = "busy";
    this.#say(t("uploading"), `${this.#file.name}: ${t("uploading")}`);
    this.#progress.hidden = false;
    this.#sending = send(file, this.#choice(), (share) => {
      this.#progress.value = share;
      if (share >= 1) {
        this.#progress.removeAttribute("value");
        this.#state.textContent = t("reading");
      }
    });
    try {
      this.#took(await this.#sending.taken);
    } catch (error) {
      this.#failed(error instanceof RejectedFile ? error : new RejectedFile(AWAY, true), file);
    }
  }

  remove() {
    this.#sending?.end();
    clearTimeout(this.#rereading);
    this.element.remove();
    // It is deleted automatically after a day. A file sent with a question stays with that question.
    if (this.taken?.delete) void postJson(this.taken.delete).catch(() => undefined);
    this.#changed(this, t("%(name)s was removed.", { name: this.#file.name }));
  }

  /** The same file for another model. @param {UploadedFile} taken */
  renew(taken) {
    const before = this.use;
    for (const each of [this.#use, this.#places, this.#encoding]) each?.remove();
    this.#use = this.#places = this.#encoding = null;
    this.#took(taken);
    if (before) this.#choose(before);
  }

  /** Restores the previous choice, if it is still possible. @param {Pick<FileUse, "use" | "places">} before */
  #choose(before) {
    const use = seek(this.element, "select", HTMLSelectElement);
    if (!use || ![...use.options].some(({ value }) => value === before.use)) return;
    use.value = before.use;
    find(this.element, "input", HTMLInputElement).value = before.places;
    use.dispatchEvent(new Event("change"));
  }

  /** @param {UploadedFile} taken */
  #took(taken) {
    this.#sending = null;
    this.taken = taken;
    this.#progress.hidden = true;
    this.element.dataset.state = taken.tokens > taken.room ? "large" : "ready";
    this.element.dataset.file = taken.id;
    const name = /** @type {HTMLAnchorElement} */ (made("a", "chip-name", taken.name));
    const title = t("Text that the model can read");
    Object.assign(name, { href: taken.text, target: "_blank", rel: "noopener", dir: "auto", title });
    this.element.querySelector(".chip-name")?.replaceWith(name);
    const description = [taken.description, taken.note].filter(Boolean).join(". ");
    if (taken.tokens > taken.room || taken.places.length > 1) this.#offer(taken);
    if (taken.encodings.length) this.#offerEncodings(taken);
    this.#say(description, `${taken.name}: ${description}`);
  }

  /** @param {RejectedFile} error @param {File} file */
  #failed(error, file) {
    this.#sending = null;
    this.#progress.hidden = true;
    this.element.dataset.state = "failed";
    if (error.canRetry) {
      const retry = this.#button(t("Try %(name)s again", { name: this.#file.name }), t("Try again"), () => {
        retry.remove();
        void this.begin(file);
      });
    }
    this.#say(error.message, error.message && `${this.#file.name}: ${error.message}`);
    if (error.message && !error.canRetry) this.#state.append(" ", toLimits());
  }

  /** Asks which part the model gets. @param {UploadedFile} taken */
  #offer(taken) {
    const use = (this.#use = document.createElement("select"));
    use.className = "chip-use";
    use.setAttribute("aria-label", t("What the model reads of %(name)s", { name: taken.name }));
    if (taken.tokens <= taken.room) use.add(new Option(t("The whole file"), "whole"));
    else use.add(new Option(t("The beginning, up to the limit"), "first"));
    if (taken.places.length > 1) use.add(new Option(t("Chosen pages or sheets"), "places"));
    if (taken.tokens > taken.room && taken.search) {
      use.add(new Option(t("Search only: the model looks things up"), "search"));
    }
    const places = (this.#places = document.createElement("input"));
    Object.assign(places, { className: "chip-places", placeholder: "1-12, 15", hidden: true, maxLength: 200 });
    places.setAttribute("aria-label", t("Pages or sheets, such as 1-12, 15"));
    use.addEventListener("change", () => {
      places.hidden = use.value !== "places";
      if (!places.hidden && document.activeElement === use) places.focus();
      this.#changed(this, "");
    });
    places.addEventListener("input", () => this.#changed(this, ""));
    this.#tools.before(use, places);
  }

  /** Lets the person say in which encoding a text is. @param {UploadedFile} taken */
  #offerEncodings(taken) {
    const encoding = (this.#encoding = document.createElement("select"));
    encoding.className = "chip-use";
    encoding.setAttribute("aria-label", t("Encoding of %(name)s", { name: taken.name }));
    for (const [name, label] of taken.encodings) encoding.add(new Option(label, name, false, name === taken.encoding));
    encoding.addEventListener("change", () => {
      // Each key changes it: an arrow passes others, and a name is typed letter by letter.
      clearTimeout(this.#rereading);
      this.#rereading = setTimeout(() => void this.#recode(taken, encoding), CHOOSING_MS);
      this.#say(t("reading"), "");
    });
    this.#tools.before(encoding);
  }

  /** @param {UploadedFile} taken @param {HTMLSelectElement} encoding */
  async #recode(taken, encoding) {
    const mine = this.#rereading;
    const path = `${taken.recode}?choice=${encodeURIComponent(this.#choice())}`;
    const failed = (/** @type {Error} */ { message }) => ({ message });
    const reply = await postJson(path, { encoding: encoding.value }).catch(failed);
    if (mine !== this.#rereading) return; // another was chosen meanwhile
    this.#rereading = 0;
    const isFocused = document.activeElement === encoding;
    if ("id" in reply) this.renew(/** @type {UploadedFile} */ (/** @type {unknown} */ (reply)));
    else {
      encoding.value = taken.encoding;
      this.#say(reply.message ?? "", `${taken.name}: ${reply.message ?? ""}`);
    }
    if (isFocused) this.#encoding?.focus();
  }

  /** @param {string} text @param {string} sentence for the live region */
  #say(text, sentence) {
    this.#state.textContent = text;
    this.#changed(this, sentence);
  }

  /** @param {string} label @param {string} text @param {() => void} pressed */
  #button(label, text, pressed) {
    const button = made("button", "quiet", text);
    button.setAttribute("type", "button");
    button.setAttribute("aria-label", label);
    button.addEventListener("click", pressed);
    this.#tools.append(button);
    return button;
  }
}

/** A link to the page with the limits of files. */
export function toLimits() {
  const link = /** @type {HTMLAnchorElement} */ (made("a", "chip-limits", t("Files and their limits")));
  return Object.assign(link, { href: "/files/limits/", target: "_blank", rel: "noopener" });
}

// Parses page ranges of a document.

/** The numbers in "1-12, 15"; empty if it cannot be parsed. @param {string} text */
function numbers(text) {
  const found = /** @type {Set<number>} */ (new Set());
  for (const part of text.split(",")) {
    const match = /^\s*(\d{1,6})\s*(?:[-–]\s*(\d{1,6})\s*)?$/.exec(part);
    if (!match) return new Set();
    const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
    if (last < first || last - first > 100_000) return new Set();
    for (let number = first; number <= last; number += 1) found.add(number);
  }
  return found;
}

// Uploads a file with progress, cancellably, and lists the files on the server.

/**
 * The server's description of an uploaded file.
 * @typedef {object} UploadedFile
 * @property {string} id
 * @property {string} name
 * @property {number} size
 * @property {number} tokens
 * @property {number} room how many tokens the files of one message may have
 * @property {boolean} search whether the model can search in it
 * @property {string} description
 * @property {string} note
 * @property {[number, string, number][]} places number, label and tokens of each page
 * @property {string} text the address of its extracted text
 * @property {string} encoding of a text
 * @property {[string, string][]} encodings those in which it can be read again: name, and name for people
 * @property {string} recode the address that reads it again
 * @property {string} delete the address at which it is deleted; empty for one of a question that was sent
 * @property {string} [use] how the model used a file of a question
 * @property {string} [chosen] the pages chosen then
 */

/** The file was rejected; `message` says why. `canRetry`: another attempt may succeed. */
class RejectedFile extends Error {
  /** @param {string} message @param {boolean} canRetry */
  constructor(message, canRetry) {
    super(message);
    this.canRetry = canRetry;
  }
}

const AWAY = t("The server could not be reached. Please try again.");
const MIB = 1024 * 1024;
const CHOOSING_MS = 600;

/** The button that attaches files: its title says which, its data how large they may be. */
export function attaching() {
  return find(document, "chat-composer [type=file]", HTMLInputElement);
}

/** Why it is not even sent; null if it is. @param {File} file */
function refused(file) {
  const { title, dataset } = attaching();
  const isTooLarge = file.size > Number(dataset.mb) * MIB;
  const why = isPicture(file) ? t("The model reads text only, and cannot see pictures.")
    : isTooLarge ? t("This file is too large: it has %(size)s MB.", { size: size(file) }) : "";
  return why ? new RejectedFile(`${why} ${title}`, false) : null;
}

/** In megabytes, never rounded down to a limit. @param {File} file */
function size(file) {
  return number(Math.ceil(file.size / MIB * 10) / 10);
}

/** What a reply means, of the product or of a proxy before it. @param {XMLHttpRequest} request @param {File} file */
function rejected({ status, responseURL, responseText }, file) {
  const isPassing = status < 400 || status === 408 || status === 429 || status >= 500;
  const { ok, message } = answer(responseText);
  if (status === 401 || new URL(responseURL).pathname.startsWith("/sign-in/")) {
    return new RejectedFile(t("You have been signed out."), false);
  }
  if (ok === false && message) return new RejectedFile(message, status !== 200 && isPassing);
  if (status === 413) {
    const sentence = t("The server, or a proxy before it, takes no file of %(size)s MB.", { size: size(file) });
    return new RejectedFile(sentence, false);
  }
  const sentence = isPassing ? t("The server could not do that. Please try again.")
    : t("The server, or a proxy before it, refused the file.");
  return new RejectedFile(`${sentence} (HTTP ${status})`, isPassing);
}

/** Why nothing was replied. @param {File} file */
async function unsent(file) {
  try {
    await file.slice(0, 1).arrayBuffer();
    return new RejectedFile(AWAY, true);
  } catch {
    return new RejectedFile(t("This is a folder, or the file was moved."), false);
  }
}

/**
 * @param {File} file
 * @param {string} choice the model that is to read it
 * @param {(share: number) => void} progressed 0 to 1; then the server reads the file
 * @returns {{ taken: Promise<UploadedFile>, end: () => void }}
 */
function send(file, choice, progressed) {
  const request = new XMLHttpRequest(); // fetch reports no progress
  const taken = new Promise((/** @type {(taken: UploadedFile) => void} */ resolve, reject) => {
    request.open("POST", address(choice));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name.slice(0, 300).replace(/\p{Cs}/gu, "_")));
    const token = document.querySelector("meta[name=csrf-token]");
    request.setRequestHeader("X-CSRFToken", token?.getAttribute("content") ?? "");
    request.upload.addEventListener("progress", ({ loaded, total }) => progressed(total ? loaded / total : 1));
    request.addEventListener("error", () => void unsent(file).then(reject));
    request.addEventListener("abort", () => reject(new RejectedFile("", false)));
    request.addEventListener("load", () => {
      const reply = answer(request.responseText);
      if (reply.id) return resolve(/** @type {UploadedFile} */ (reply));
      reject(rejected(request, file));
    });
    request.send(file);
  });
  return { taken, end: () => request.abort() };
}

/**
 * The files that were attached here and not sent yet.
 * @param {string} choice the model that is to read them
 * @returns {Promise<UploadedFile[]>}
 */
export async function waiting(choice) {
  return told(address(choice));
}

/**
 * The files of a question, which is being edited.
 * @param {string} choice
 * @param {string} question
 */
export function filesOf(choice, question) {
  return told(`${address(choice)}&${new URLSearchParams({ question })}`);
}

/** @param {string} from @returns {Promise<UploadedFile[]>} */
async function told(from) {
  return /** @type {{ files?: UploadedFile[] }} */ (JSON.parse(await read(from))).files ?? [];
}

/** The conversation whose message box this is; null for a new one. */
export function conversationHere() {
  return /^\/c\/([0-9a-f-]{36})\//.exec(location.pathname)?.[1] ?? null;
}

/**
 * With the message box of this page.
 * @param {string} choice
 * @param {string} [path]
 */
export function address(choice, path = "/files/") {
  return `${path}?${new URLSearchParams({ choice, conversation: conversationHere() ?? "" })}`;
}

/** @param {string} text @returns {{ ok?: boolean, id?: string, message?: string }} */
function answer(text) {
  try {
    return /** @type {{ ok?: boolean, id?: string, message?: string }} */ (JSON.parse(text) ?? {});
  } catch {
    return {};
  }
}
