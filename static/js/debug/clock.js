// <debug-clock>: shows how long the debug view stays open. At the end it clears the screen, whether or not the server
// can be reached.

import { t } from "../language/words.js";
import { find } from "../page/dom.js";
import { remainingText } from "../timing/remaining.js";

const TICK_MS = 1_000;

class DebugClock extends HTMLElement {
  /**
   * Counted from when the page was loaded, so that a wrong clock on this machine does not matter. Time in which the
   * machine sleeps counts.
   */
  #ends = Date.now() + Number(this.dataset.seconds) * 1000;
  /** @type {number | undefined} */
  #timer;

  connectedCallback() {
    this.setAttribute("role", "timer");
    this.#timer = setInterval(this.#tick, TICK_MS);
    document.addEventListener("visibilitychange", this.#tick);
    addEventListener("pageshow", this.#tick);
    this.#tick();
  }

  disconnectedCallback() {
    clearInterval(this.#timer);
    document.removeEventListener("visibilitychange", this.#tick);
    removeEventListener("pageshow", this.#tick);
  }

  #tick = () => {
    const left = this.#ends - Date.now();
    const text = remainingText(left);
    if (text !== this.textContent) this.textContent = text;
    if (left > 0) return;
    clearInterval(this.#timer);
    find(document, "main", HTMLElement).replaceChildren(t("The debug view has closed: its time is up."));
    location.replace(this.dataset.then ?? "/");
  };
}

customElements.define("debug-clock", DebugClock);
