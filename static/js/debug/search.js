// <debug-search>: searches the frames on the page, and filters them by role and channel. Live frames are included as
// they grow.

import { find } from "../page/dom.js";
import { mark, MAX_MATCHES, foundText, nextMatch, reveal } from "../page/matches.js";
import { rangesIn } from "./view.js";

const PAUSE_MS = 150;
const FOUND = "debug-found";
const CURRENT = "debug-current";

class DebugSearch extends HTMLElement {
  #form = find(this, "form", HTMLFormElement);
  #text = find(this, "[name=text]", HTMLInputElement);
  #role = find(this, "[name=role]", HTMLSelectElement);
  #channel = find(this, "[name=channel]", HTMLSelectElement);
  #shown = find(this, "[name=shown]", HTMLSelectElement);
  #count = find(this, ".debug-search-count", HTMLElement);
  #view = find(document, ".frames-view", HTMLElement);
  /** @type {Range[]} */
  #matches = [];
  #current = -1;
  /** @type {number | undefined} */
  #timer;
  #observer = new MutationObserver(() => this.#later());

  connectedCallback() {
    this.hidden = false;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#step(1);
    });
    this.#form.addEventListener("input", () => this.#later());
    find(this, "[data-action=previous]", HTMLButtonElement).addEventListener("click", () => this.#step(-1));
    this.#text.addEventListener("keydown", this.#typed);
    this.#observer.observe(this.#view, { childList: true, characterData: true, subtree: true });
    this.#search();
  }

  disconnectedCallback() {
    this.#observer.disconnect();
    clearTimeout(this.#timer);
  }

  /** @param {KeyboardEvent} event */
  #typed = (event) => {
    if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      this.#step(-1);
    } else if (event.key === "Escape" && this.#text.value) {
      this.#text.value = "";
      this.#search();
    }
  };

  #later() {
    this.#timer ??= setTimeout(() => this.#search(), PAUSE_MS);
  }

  #search() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const frames = [...this.#view.querySelectorAll(".frame")].filter((frame) => frame instanceof HTMLElement);
    offer(this.#role, valuesOf(frames, "role"));
    offer(this.#channel, valuesOf(frames, "channel"));
    const wanted = this.#text.value.trim();
    this.#matches = [];
    let kept = 0;
    for (const frame of frames) {
      const matches = this.#admits(frame) ? rangesIn(frame, wanted) : null;
      frame.hidden = matches === null || (wanted !== "" && matches.length === 0);
      if (frame.hidden) continue;
      kept += 1;
      this.#matches.push(...(matches ?? []).slice(0, MAX_MATCHES - this.#matches.length));
    }
    this.#current = Math.min(this.#current, this.#matches.length - 1);
    this.#tell(kept, frames.length);
  }

  /** @param {HTMLElement} frame */
  #admits(frame) {
    const { value: shown } = this.#shown;
    if (shown && !frame.classList.contains(`frame-${shown}`)) return false;
    return has(frame, "role", this.#role.value) && has(frame, "channel", this.#channel.value);
  }

  /** @param {1 | -1} step */
  #step(step) {
    if (this.#timer !== undefined) this.#search();
    this.#current = nextMatch(this.#current, this.#matches.length, step);
    const frames = this.#view.querySelectorAll(".frame");
    this.#tell([...frames].filter((frame) => frame instanceof HTMLElement && !frame.hidden).length, frames.length);
    const range = this.#matches[this.#current];
    if (range) reveal(range);
  }

  /**
   * @param {number} frames
   * @param {number} all
   */
  #tell(frames, all) {
    const wanted = this.#text.value.trim();
    const text = foundText({ wanted, matches: this.#matches.length, current: this.#current, frames, all });
    if (text !== this.#count.textContent) this.#count.textContent = text;
    mark(FOUND, this.#matches);
    const current = this.#matches[this.#current];
    mark(CURRENT, current ? [current] : []);
  }
}

/**
 * The values that a header field has in these frames.
 * @param {HTMLElement[]} frames
 * @param {string} name
 */
function valuesOf(frames, name) {
  const values = frames.map((frame) => chipOf(frame, name)?.dataset.value ?? "");
  return [...new Set(values)].filter(Boolean).sort();
}

/**
 * @param {HTMLElement} frame
 * @param {string} name
 */
function chipOf(frame, name) {
  const chip = frame.querySelector(`.chip[data-name="${name}"]`);
  return chip instanceof HTMLElement ? chip : null;
}

/**
 * @param {HTMLElement} frame
 * @param {string} name
 * @param {string} value empty for any
 */
function has(frame, name, value) {
  return !value || chipOf(frame, name)?.dataset.value === value;
}

/**
 * Adds new values to the choices.
 * @param {HTMLSelectElement} select
 * @param {string[]} values
 */
function offer(select, values) {
  const known = new Set([...select.options].map((option) => option.value));
  for (const value of values) if (!known.has(value)) select.add(new Option(value, value));
}

customElements.define("debug-search", DebugSearch);
