// The cards of tool calls that the person has to decide about. The server renders them; without this script, their
// buttons submit ordinary forms.

import { refusal } from "../language/refusals.js";
import { t } from "../language/words.js";
import { closestTo, find, htmlOf, pageOf, parse, seek } from "../page/dom.js";
import { messageOf, postJson, read } from "../page/server.js";
import { newId } from "../page/storage.js";
import { toast } from "../page/menus.js";
import { sourceOf } from "./question.js";

/** @import { ChatComposer } from "../composer/composer.js" */
/** @import { AttachedFile } from "../files/chip.js" */
/** @import { Exchange } from "./exchange.js" */

/** For this long after the cards of an exchange have changed, a click may be meant for what was there before. */
const SETTLING_MS = 400;
const changedAt = /** @type {WeakMap<Element, number>} */ (new WeakMap());

/** The cards that were announced, so that each is announced once. @type {Set<string>} */
const announced = new Set();

/** Numbers the requests: an older answer must not replace a newer one. */
let asked = 0;
/** The number of the request whose answer each exchange shows. */
const shown = /** @type {WeakMap<HTMLElement, number>} */ (new WeakMap());

/** @param {HTMLElement} exchange */
export async function showCards(exchange) {
  const number = ++asked;
  let cards;
  try {
    cards = parse(await read(`${location.pathname}turns/${exchange.dataset.turn}/calls/`));
  } catch {
    return; // the next event or the end of the answer shows them
  }
  if ((shown.get(exchange) ?? 0) > number) return;
  shown.set(exchange, number);
  const place = find(exchange, ".approvals", HTMLElement);
  // The same cards again: a focused button keeps the focus.
  if (stateOf(cards) !== stateOf(place)) {
    const had = heldBy(place);
    if (place.childElementCount) changedAt.set(exchange, performance.now());
    keepForms(place, cards);
    const opened = [...place.querySelectorAll("[data-decided][open]")].map((card) => card.getAttribute("data-decided"));
    place.replaceChildren(cards);
    for (const card of place.querySelectorAll("[data-decided]")) {
      card.toggleAttribute("open", opened.includes(card.getAttribute("data-decided")));
    }
    if (had) focusOn(place);
    document.dispatchEvent(new CustomEvent("chat:waits"));
  } else showTimes(place, cards);
  announce(exchange, place);
}

/**
 * A form that still waits keeps what was typed into it.
 * @param {HTMLElement} place
 * @param {ParentNode} cards the new ones
 */
function keepForms(place, cards) {
  for (const old of place.querySelectorAll("[data-form]")) {
    cards.querySelector(`[data-waiting="${CSS.escape(old.getAttribute("data-waiting") ?? "")}"]`)?.replaceWith(old);
  }
}

/**
 * What the cards in it say and offer, but for the time left and the tokens of their forms.
 * @param {ParentNode} place
 */
function stateOf(place) {
  const all = place.querySelectorAll("[data-waiting], [data-decided], [data-told]");
  const cards = /** @type {HTMLElement[]} */ ([...all]);
  return cards.map((card) => {
    const copy = /** @type {HTMLElement} */ (card.cloneNode(true));
    for (const left of copy.querySelectorAll(".approval-hint, input[type=hidden]")) left.remove();
    for (const form of copy.querySelectorAll("form")) delete form.dataset.sent;
    return `${card.dataset.waiting ?? ""}/${card.dataset.decided ?? ""}${htmlOf(copy)}`;
  }).join();
}

/**
 * Shows the time left, by the server's clock: while a call waits, the server has its cards fetched every few seconds.
 * @param {HTMLElement} place
 * @param {ParentNode} cards the same ones, as they are now
 */
function showTimes(place, cards) {
  const now = cards.querySelectorAll(".approval-hint");
  for (const [index, hint] of place.querySelectorAll(".approval-hint").entries()) {
    if (hint.closest("[data-waiting]")?.querySelector("[data-sent]")) continue; // it says what was decided
    const text = now[index]?.textContent ?? "";
    if (hint.textContent !== text) hint.textContent = text;
  }
}

/** @param {HTMLElement} place @returns {boolean} whether the focus is in it */
function heldBy(place) {
  return place.contains(document.activeElement);
}

/**
 * The focused element is gone: focuses the next waiting call, or the result of the last one.
 * @param {HTMLElement} place
 */
function focusOn(place) {
  const next = seek(place, "[data-waiting] .approval-title", HTMLElement);
  const done = place.querySelectorAll("summary");
  (next ?? done[done.length - 1])?.focus({ preventScroll: true });
}

/**
 * @param {HTMLElement} exchange
 * @param {HTMLElement} place
 */
function announce(exchange, place) {
  const fresh = [...place.querySelectorAll("[data-waiting]")].map((card) => card.getAttribute("data-waiting") ?? "");
  const isNew = fresh.some((id) => !announced.has(id));
  for (const id of fresh) announced.add(id);
  if (!isNew) return;
  const first = find(place, "[data-waiting]", HTMLElement);
  leadTo(exchange, first);
  // Of a form, who asks: it may be the model.
  const asks = first.matches("[data-form]") ? find(first, ".approval-title", HTMLElement).innerText.trim() : "";
  const detail = asks || t("A tool waits for your decision.");
  exchange.dispatchEvent(new CustomEvent("chat:announce", { detail, bubbles: true }));
}

/**
 * What waits for the person is read from its beginning: leads there once, as soon as the page that follows its newest
 * text would have it above the view, unless they are filling it in.
 * @param {HTMLElement} exchange
 * @param {HTMLElement} card
 */
function leadTo(exchange, card) {
  const view = card.closest(".scroller");
  const observer = new ResizeObserver(() => {
    const isAbove = view && card.getBoundingClientRect().top < view.getBoundingClientRect().top;
    if (!isAbove || card.contains(document.activeElement) || !find(pageOf(card), ".jump", HTMLElement).hidden) return;
    observer.disconnect();
    exchange.dispatchEvent(new CustomEvent("chat:placed", { bubbles: true }));
    card.scrollIntoView();
  });
  observer.observe(card);
}

/** @param {SubmitEvent} event */
async function decided(event) {
  const form = closestTo(event, ".approval-form, .form-card");
  const exchange = closestTo(event, ".exchange");
  const button = event.submitter;
  if (!(form instanceof HTMLFormElement) || !exchange || !(button instanceof HTMLButtonElement)) return;
  event.preventDefault();
  if (form.dataset.sent || performance.now() - (changedAt.get(exchange) ?? -Infinity) < SETTLING_MS) return;
  form.dataset.sent = "yes";
  // From the click on, the card no longer says what happens without a decision.
  const hint = find(form.parentElement ?? exchange, ":scope > .approval-hint", HTMLElement);
  const before = hint.textContent;
  hint.textContent = form.dataset.sending ?? "";
  let problem = "";
  try {
    const fields = [...new FormData(form)].filter(([, value]) => typeof value === "string");
    const sent = new URLSearchParams(/** @type {[string, string][]} */ (fields));
    sent.set("decision", button.value);
    const { ok, message } = await postJson(new URL(form.action).pathname, sent);
    problem = ok ? "" : message ?? "";
    hint.textContent = ok ? button.dataset.outcome ?? "" : before;
    if (ok) form.dataset.taken = "";
  } catch (error) {
    problem = messageOf(error);
    hint.textContent = before;
    delete form.dataset.sent;
  }
  await showCards(exchange);
  delete form.dataset.sent;
  // If it was decided in another tab, or too late, the card says so instead.
  if (form.isConnected && problem) toast(problem);
  else if (!form.isConnected && seek(form, "unsent-answer", UnsentAnswer)?.bringBack() === "") {
    // Its card has the answer of another tab.
    if (button.value === "send") toast(t("The form is no longer open, so your answer was not sent."));
  }
}

document.addEventListener("submit", decided);

// In a form. Whatever takes the form from the page, what was typed into it and not sent goes to the message box:
// another tab may have answered, or the answer has ended.

class UnsentAnswer extends HTMLElement {
  /** @type {ChatComposer | null} */
  #composer = null;
  #isOver = false;

  connectedCallback() {
    this.#composer = /** @type {ChatComposer | null} */ (seek(pageOf(this), "chat-composer", HTMLElement));
  }

  disconnectedCallback() {
    // A form that still waits is only moved. While it is being sent, its reply decides.
    queueMicrotask(() => this.isConnected || this.#form?.dataset.sent || this.bringBack());
  }

  get #form() {
    return this.closest("form");
  }

  /** @returns {string | null} what it put into the box; null if the server has taken the form, or it did so before */
  bringBack() {
    const form = this.#form;
    if (!form || this.#isOver || "taken" in form.dataset) return null;
    this.#isOver = true;
    const id = form.closest("[data-waiting]")?.getAttribute("data-waiting") ?? "";
    // Of a reply that was lost, or of another tab with the same text.
    const sent = document.querySelector(`[data-decided="${CSS.escape(id)}"]`)?.textContent ?? "";
    const text = typedIn(form).filter((each) => !sent.includes(each)).join("\n\n");
    if (text) this.#composer?.keep(text);
    if (text && this.#composer?.isConnected) {
      toast(t("The form is no longer open. What you wrote in it is in the message box."));
    }
    return text;
  }
}

/** @param {HTMLFormElement} form @returns {string[]} the texts in it that the person has changed */
function typedIn(form) {
  const fields = [...form.querySelectorAll("textarea, input:not([type=hidden], [type=checkbox], [type=radio])")];
  const all = /** @type {HTMLInputElement[]} */ (fields);
  const changed = all.filter(({ value, defaultValue }) => value !== defaultValue);
  return changed.map(({ value }) => value.trim()).filter(Boolean);
}

customElements.define("unsent-answer", UnsentAnswer);

// A call that nobody decided about in time: its question can be asked again, as a new one. The old exchange stays.

/**
 * Asks the question of an exchange again, as a new one with copies of its files.
 * @param {Exchange} exchange @param {HTMLElement} button
 */
export async function askAgain({ element, question }, button) {
  const composer = /** @type {ChatComposer} */ (find(document, "chat-composer", HTMLElement));
  const section = find(element, ".question", HTMLElement);
  const { effort, choice, held, isRunning } = composer;
  if (held || isRunning) return composer.say(held || refusal("E-X-BUSY"), "hint");
  button.toggleAttribute("disabled", true);
  try {
    const files = question && section.querySelector(".files") ? await copiesOf(choice, question) : null;
    const detail = { text: sourceOf(section), effort, choice, clientId: newId(), files };
    composer.dispatchEvent(new CustomEvent("chat:send", { detail }));
  } catch (error) {
    toast(messageOf(error));
  }
  button.toggleAttribute("disabled", false);
}

/** @param {string} choice @param {string} question @returns {Promise<AttachedFile[]>} its files, to be sent again */
async function copiesOf(choice, question) {
  const { address, filesOf } = await import("../files/chip.js");
  const files = await filesOf(choice, question);
  return Promise.all(files.map(async ({ id, name, use = "whole", chosen: places = "" }) => {
    const copy = /** @type {{ id: string }} */ (await postJson(address(choice, `/files/${id}/again/`)));
    return { id: copy.id, name, use, places };
  }));
}
