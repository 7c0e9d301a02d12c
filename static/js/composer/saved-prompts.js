// The saved prompts, and those of tool servers: a list above the message box while its text is a slash and the
// beginning of words, and a form for the blanks of the one that is taken. Nothing is sent: the text stands in the box.

import { t, tn } from "../language/words.js";
import { messageOf, read } from "../page/server.js";
import { find, grow } from "../page/dom.js";
import { made } from "../page/made.js";
import { askForBlanks, blanksOf } from "./prompt-blanks.js";
import { ServerPrompts, askServer, notesOf } from "./server-prompts.js";

/** @import { ChatComposer } from "./composer.js" */
/** @import { Reply } from "./prompt-blanks.js" */
/** @import { ServerPrompt } from "./server-prompts.js" */
/** @typedef {{ id: string, name: string, begins: string, from: string }} SavedPrompt `from`: whose, if not one's own */
/** @typedef {SavedPrompt | ServerPrompt} Prompt */
/** @typedef {{ prompts: SavedPrompt[], servers: string[] }} Offered */

/** A second slash makes it a path. */
const SOUGHT = /^\/([^\n/]{0,60})$/;
const MOST = 50;
const [MOST_PX, GAP_PX] = [400, 16];

/** @type {WeakMap<ChatComposer, PromptList>} */
const lists = new WeakMap();

/** The box begins with a slash. @param {ChatComposer} composer */
export async function offer(composer) {
  const list = lists.get(composer) ?? new PromptList(composer);
  lists.set(composer, list);
  await list.show();
}

/**
 * Those whose names have a word for each word that was typed, which begins with it. Words of scripts without spaces are
 * found inside others, too.
 * @template {{ name: string }} Named
 * @param {readonly Named[]} prompts
 * @param {string} typed
 * @returns {Named[]}
 */
export function matching(prompts, typed) {
  const words = wordsOf(typed);
  return prompts.filter(({ name }) => {
    const whole = name.normalize("NFC").toLowerCase();
    const own = wordsOf(name);
    const isInside = (/** @type {string} */ word) => /[^\x00-\x7f]/.test(word) && whole.includes(word);
    return words.every((word) => own.some((each) => each.startsWith(word)) || isInside(word));
  });
}

/** @param {string} text */
function wordsOf(text) {
  return text.normalize("NFC").toLowerCase().split(/[^\p{L}\p{N}\p{M}]+/u).filter(Boolean);
}

class PromptList {
  #composer;
  #area;
  #panel = made("div", "prompt-panel");
  #list = made("ul", "prompt-list");
  #state = made("p", "visually-hidden");
  #notes = made("div", "prompt-notes");
  #link = made("a", "prompt-link", t("Saved prompts"));
  /** @type {Promise<SavedPrompt[]> | null} of this time that the box begins with a slash */
  #loading = null;
  /** @type {SavedPrompt[]} */
  #own = [];
  #servers = new ServerPrompts(() => this.#typed === null || this.#isDismissed || !this.#isFocused || this.#draw());
  /** @type {Prompt[]} */
  #shown = [];
  #active = 0;
  #isDismissed = false;

  /** @param {ChatComposer} composer */
  constructor(composer) {
    this.#composer = composer;
    this.#area = find(composer, "textarea", HTMLTextAreaElement);
    this.#list.id = "prompt-list";
    this.#list.setAttribute("role", "listbox");
    this.#list.setAttribute("aria-label", t("Saved prompts"));
    this.#state.setAttribute("role", "status");
    this.#link.href = "/prompts/";
    this.#panel.hidden = true;
    this.#panel.append(this.#list, this.#notes, this.#link);
    const box = find(composer, ".composer-box", HTMLElement);
    box.classList.add("composer-box-with-prompts");
    box.append(this.#panel, this.#state);
    this.#area.addEventListener("input", () => void this.show());
    this.#area.addEventListener("blur", () => this.#isFocused || this.#hide());
    // Before the box's own keys: Enter would send the text, and Escape stop an answer.
    composer.addEventListener("keydown", this.#key, true);
    this.#list.addEventListener("pointerdown", (event) => event.preventDefault()); // the box keeps the focus
    this.#panel.addEventListener("mousedown", (event) => event.preventDefault());
    this.#list.addEventListener("click", ({ target }) => {
      const index = [...this.#list.children].findIndex((each) => target instanceof Node && each.contains(target));
      void this.#take(this.#shown[index]);
    });
  }

  async show() {
    const typed = this.#typed;
    if (typed === null) {
      if (!this.#composer.text.startsWith("/")) [this.#loading, this.#isDismissed] = [null, false];
      return this.#hide();
    }
    if (this.#isDismissed) return;
    this.#loading ??= this.#load();
    try {
      this.#own = await this.#loading;
    } catch (error) {
      this.#loading = null;
      if (this.#typed === "") this.#composer.say(messageOf(error), "hint");
      return;
    }
    if (this.#typed !== typed || this.#isDismissed) return;
    this.#shown = [];
    this.#draw();
  }

  /** One's own prompts. The servers are asked meanwhile. */
  async #load() {
    const { prompts, servers } = /** @type {Offered} */ (JSON.parse(await read("/prompts/offered/")));
    this.#servers.ask(servers);
    return prompts;
  }

  /** Shows what is there by now. The chosen one stays chosen while servers answer. */
  #draw() {
    const typed = this.#typed ?? "";
    const chosen = this.#shown[this.#active];
    const all = [...this.#own, ...this.#servers.found];
    this.#shown = matching(all, typed).slice(0, MOST);
    this.#list.replaceChildren(...this.#shown.map(row));
    this.#list.hidden = !this.#shown.length;
    const notes = notesOf(this.#servers);
    this.#notes.replaceChildren(...notes);
    this.#notes.hidden = !notes.length;
    this.#link.hidden = typed !== "";
    this.#link.textContent = this.#own.length ? t("Saved prompts") : t("You have no saved prompt yet. Make one.");
    if (!this.#shown.length && typed) return this.#hide();
    this.#panel.hidden = false;
    this.#place();
    const count = this.#shown.length;
    const found = count ? tn("%(n)s saved prompt", "%(n)s saved prompts", count) : this.#link.textContent;
    this.#state.textContent = [found, ...notes.map((each) => each.textContent)].join(" ");
    if (count) this.#choose(chosen ? Math.max(this.#shown.indexOf(chosen), 0) : 0);
  }

  /** What stands after the slash; null if the box does not ask for prompts. */
  get #typed() {
    return SOUGHT.exec(this.#composer.text)?.[1] ?? null;
  }

  get #isFocused() {
    return document.activeElement === this.#area || this.#panel.contains(document.activeElement);
  }

  /** On the side of the box that has more room. */
  #place() {
    const { top, bottom } = find(this.#composer, ".composer-box", HTMLElement).getBoundingClientRect();
    const rooms = { above: top, below: (visualViewport?.height ?? innerHeight) - bottom };
    const side = rooms.above < rooms.below ? "below" : "above";
    this.#panel.dataset.side = side;
    this.#panel.style.maxBlockSize = `${Math.min(MOST_PX, rooms[side] - GAP_PX)}px`;
  }

  #hide() {
    this.#panel.hidden = true;
    this.#shown = [];
    this.#state.textContent = "";
    for (const name of ["aria-controls", "aria-activedescendant"]) this.#area.removeAttribute(name);
  }

  /** @param {number} index */
  #choose(index) {
    this.#active = (index + this.#shown.length) % this.#shown.length;
    const rows = [...this.#list.children];
    for (const [at, each] of rows.entries()) each.setAttribute("aria-selected", String(at === this.#active));
    const chosen = rows[this.#active];
    chosen?.scrollIntoView({ block: "nearest" });
    this.#area.setAttribute("aria-controls", this.#list.id);
    this.#area.setAttribute("aria-activedescendant", chosen?.id ?? "");
  }

  /** @param {KeyboardEvent} event */
  #key = (event) => {
    const isPlain = !event.isComposing && !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey;
    if (this.#panel.hidden || event.target !== this.#area || !isPlain) return;
    const moves = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      this.#isDismissed = true;
      this.#hide();
    } else if (!this.#shown.length) return;
    else if (moves) this.#choose(this.#active + moves);
    else if (event.key === "Enter" || event.key === "Tab") void this.#take(this.#shown[this.#active]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  /** @param {Prompt | undefined} prompt */
  async #take(prompt) {
    if (!prompt) return;
    const typed = this.#composer.text;
    this.#isDismissed = true;
    this.#hide();
    try {
      const filled = await ("server" in prompt ? askServer(prompt) : this.#filled(prompt));
      if (filled?.text !== undefined) this.#insert(filled.text, typed);
      if (filled?.note) this.#composer.say(filled.note, "hint");
    } catch (error) {
      this.#composer.say(messageOf(error), "hint");
    }
    this.#area.focus();
    this.#isDismissed = this.#composer.text.startsWith("/");
  }

  /** @param {SavedPrompt} prompt @returns {Promise<Reply | null>} */
  async #filled({ id, name }) {
    const { text } = /** @type {{ text: string }} */ (JSON.parse(await read(`/prompts/${id}/text/`)));
    return blanksOf(text).length ? askForBlanks(name, text) : { text };
  }

  /** @param {string} text @param {string} typed what it replaces; anything else that was typed since stays above it */
  #insert(text, typed) {
    if (this.#composer.text === typed) this.#composer.text = "";
    this.#composer.append(text);
    grow(this.#area);
    this.#area.setSelectionRange(this.#area.value.length, this.#area.value.length);
  }
}

/** @param {Prompt} prompt @param {number} index */
function row({ name, begins, from }, index) {
  const item = made("li", "prompt-item");
  item.id = `prompt-${index}`;
  item.setAttribute("role", "option");
  item.append(made("bdi", "prompt-name", name));
  if (from) item.append(made("bdi", "prompt-from", from));
  const about = made("span", "prompt-begins", begins);
  about.dir = "auto";
  item.append(about);
  return item;
}
