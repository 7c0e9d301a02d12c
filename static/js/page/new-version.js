// The notice that the product has a new version. It never appears while an answer is being written.

import { closestTo, find, lifeOf } from "./dom.js";

/** @import { ChatComposer } from "../composer/composer.js" */

/** Milliseconds between checks for a new version by a page that stays open. */
const LOOK_MS = 3_600_000;
/** Milliseconds in which a worker says which version it is. */
const ANSWER_MS = 2_000;

export class NewVersion {
  #registration;
  #container;
  #composer;
  #line = find(document, ".banner-version", HTMLElement);
  #lookedAt = performance.now();

  /**
   * @param {ServiceWorkerRegistration} registration
   * @param {ServiceWorkerContainer} container
   * @param {ChatComposer} composer
   */
  constructor(registration, container, composer) {
    this.#registration = registration;
    this.#container = container;
    this.#composer = composer;
  }

  watch() {
    const life = { signal: lifeOf(this.#composer) };
    this.#registration.addEventListener("updatefound", () => {
      this.#registration.installing?.addEventListener("statechange", this.#show, life);
    }, life);
    this.#registration.installing?.addEventListener("statechange", this.#show, life);
    this.#composer.addEventListener("chat:running", this.#show);
    this.#line.addEventListener("click", this.#clicked);
    document.addEventListener("visibilitychange", this.#look, life);
    void this.#show();
  }

  #show = async () => {
    // The first worker of a browser replaces none, so it is not a new version.
    const isNew = () => this.#registration.waiting !== null && this.#container.controller !== null;
    const isHere = isNew() && (await this.#isLoaded());
    // Pages of the version before go on with their worker: the files that they load later are in its cache.
    if (isHere) this.#registration.waiting?.postMessage("take-over-if-alone");
    this.#line.hidden = !isNew() || isHere || this.#composer.isRunning;
  };

  /** Whether this page is of the version of the worker that waits, which names it. */
  #isLoaded() {
    const { worker } = find(document, "chat-page", HTMLElement).dataset;
    return new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => resolve(data === worker);
      setTimeout(() => resolve(false), ANSWER_MS);
      this.#registration.waiting?.postMessage("which", [port2]);
    });
  }

  /** @param {Event} event */
  #clicked = (event) => {
    if (!closestTo(event, "[data-action=reload]") || !this.#registration.waiting) return;
    this.#container.addEventListener("controllerchange", () => location.reload(), { once: true });
    this.#registration.waiting.postMessage("take over");
  };

  #look = () => {
    if (document.hidden || performance.now() - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = performance.now();
    this.#registration.update().catch(() => undefined);
  };
}
