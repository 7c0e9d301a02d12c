// The choice of model and reasoning effort beside the message box.

import { find, seek } from "../page/dom.js";
import { recall, remember } from "../page/storage.js";

const EFFORT_KEY = "chatui:effort";
const CHOICE_KEY = "chatui:choice";

export class ModelChoice {
  #composer;
  #effort;
  #isNew;

  /**
   * @param {HTMLElement} composer
   * @param {() => boolean} isNew whether no conversation has begun yet
   */
  constructor(composer, isNew) {
    this.#composer = composer;
    this.#isNew = isNew;
    this.#effort = find(composer, "select[name=effort]", HTMLSelectElement);
  }

  /** Null if there is only one model, and it is the default. */
  get #choice() {
    return seek(this.#composer, "select[name=choice]", HTMLSelectElement);
  }

  listen() {
    this.#effort.addEventListener("change", () => remember(EFFORT_KEY, this.#effort.value));
    this.#composer.addEventListener("change", this.#chose);
    if (this.#isNew()) this.#begin();
    if (!this.#effort.value) this.#effort.value = "medium";
  }

  get effort() {
    return this.#effort.value;
  }

  /** The model that the page names, as the server names it; empty only if none is offered. */
  get choice() {
    return this.#choice?.value ?? this.#composer.dataset.choice ?? "";
  }

  forget() {
    remember(CHOICE_KEY, null);
  }

  /**
   * A new conversation begins with the model of the last one, and with the effort that was chosen last, or else the
   * model's default.
   */
  #begin() {
    const last = recall(CHOICE_KEY);
    const isOffered = [...(this.#choice?.options ?? [])].some((option) => option.value === last);
    if (this.#choice && last && isOffered && last !== this.choice) {
      this.#choice.value = last;
      this.#isChosen();
    }
    const usual = this.#choice?.selectedOptions[0]?.dataset.effort;
    this.#effort.value = recall(EFFORT_KEY) ?? usual ?? this.#effort.value;
  }

  /** @param {Event} event */
  #chose = ({ target }) => {
    if (target !== this.#choice) return;
    remember(CHOICE_KEY, this.choice);
    this.#isChosen();
    if (this.#isNew()) this.#begin();
  };

  /** The person says which model is next: what stands there about another one is over. */
  #isChosen() {
    this.#composer.querySelector(".composer-gone")?.remove();
  }
}
