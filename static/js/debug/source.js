// <debug-source>: a frame as it is stored. It is fetched only when it is opened, because each access is recorded.
// <debug-copy>: copies text from the page.

import { t } from "../language/words.js";
import { copy, copyLater } from "../page/code.js";
import { find } from "../page/dom.js";
import { read } from "../page/server.js";

const COPIED_MS = 2_000;
const FAILED = t("This could not be loaded. The debug view may have closed: please reload the page.");

class DebugSource extends HTMLElement {
  #details = find(this, "details", HTMLDetailsElement);
  #body = find(this, "pre", HTMLElement);
  #button = find(this, "button", HTMLButtonElement);
  /** @type {Promise<string> | null} */
  #text = null;

  connectedCallback() {
    this.#details.addEventListener("toggle", () => void this.#show());
    this.#button.addEventListener("click", () => void withFeedback(this.#button, () => copyLater(this.#read())));
  }

  async #show() {
    if (!this.#details.open) return;
    try {
      this.#body.textContent = await this.#read();
    } catch {
      this.#body.textContent = FAILED;
    }
  }

  #read() {
    this.#text ??= read(this.dataset.source ?? "");
    this.#text.catch(() => (this.#text = null));
    return this.#text;
  }
}

class DebugCopy extends HTMLElement {
  connectedCallback() {
    const button = find(this, "button", HTMLButtonElement);
    const target = document.getElementById(this.dataset.target ?? "");
    button.addEventListener("click", () => void withFeedback(button, () => copy(target?.textContent ?? "")));
  }
}

/**
 * Runs a button's action, and shows the result on the button.
 * @param {HTMLButtonElement} button
 * @param {() => Promise<void>} act
 */
async function withFeedback(button, act) {
  const label = find(button, "span", HTMLElement);
  const before = label.textContent;
  try {
    await act();
    label.textContent = t("Copied");
  } catch {
    label.textContent = t("Could not copy");
  }
  setTimeout(() => (label.textContent = before), COPIED_MS);
}

customElements.define("debug-source", DebugSource);
customElements.define("debug-copy", DebugCopy);
