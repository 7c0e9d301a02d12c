// The choice of model and reasoning effort beside the message box.

import { find, seek } from "../page/dom.js";
import { recall, remember } from "../page/storage.js";

const EFFORT_KEY = "chatui:effort";
const CHOICE_KEY = "chatui:choice";

export class ModelChoice {
  #composer;
  #effort;
  /** Null if there is only one model. @type {HTMLSelectElement | null} */
  #choice;
  #isNew;

  /**
   * @param {HTMLElement} composer
   * @param {() => boolean} isNew whether no conversation has begun yet
   */
  constructor(composer, isNew) {
    this.#composer = composer;
    this.#isNew = isNew;
    this.#effort = find(composer, "select[name=effort]", HTMLSelectElement);
    this.#choice = seek(composer, "select[name=choice]", HTMLSelectElement);
  }

  listen() {
    this.#effort.addEventListener("change", () => remember(EFFORT_KEY, this.#effort.value));
    this.#choice?.addEventListener("change", this.#chose);
    if (this.#isNew()) this.#begin();
    if (!this.#effort.value) this.#effort.value = "medium";
  }

  get effort() {
    return this.#effort.value;
  }

  /** The chosen model, as the server names it; empty for the default if there is no choice. */
  get choice() {
    return this.#choice?.value ?? "";
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
    if (this.#choice && last && isOffered) this.#choice.value = last;
    const usual = this.#choice?.selectedOptions[0]?.dataset.effort;
    this.#effort.value = recall(EFFORT_KEY) ?? usual ?? this.#effort.value;
  }

  #chose = () => {
    remember(CHOICE_KEY, this.choice);
    this.#composer.querySelector(".composer-note")?.remove();
    if (this.#isNew()) this.#begin();
  };
}
