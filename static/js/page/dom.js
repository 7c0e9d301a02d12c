// The one place where HTML is inserted into the page, with typed helpers that find elements.

const WORKER = "/sw.js";

/**
 * The page's only Trusted Types policy. The Content-Security-Policy allows no other, so that an HTML sink anywhere else
 * throws. The HTML itself was sanitized on the server: this policy does not sanitize, it marks the only entry point. It
 * allows one script address, a constant.
 * @typedef {{ createHTML: (html: string) => string, createScriptURL: (address: string) => string }} HtmlPolicy
 */
const policy = makePolicy();

/**
 * Parses HTML that the server rendered: a block of an answer from the socket, or a fragment of a page.
 * @param {unknown} html
 * @returns {DocumentFragment}
 */
export function parse(html) {
  // The sink would convert a value that is not a string: to "[object Object]", or to what its toString returns.
  if (typeof html !== "string") throw new TypeError("only text can be parsed as HTML");
  const template = document.createElement("template");
  template.innerHTML = policy.createHTML(html);
  return template.content;
}

/**
 * Parses a whole page that the server rendered. Nothing in it runs or is loaded.
 * @param {string} html
 */
export function parseDocument(html) {
  return new DOMParser().parseFromString(policy.createHTML(html), "text/html");
}

/** The address of the service worker, as a trusted type. */
export function workerAddress() {
  return policy.createScriptURL(WORKER);
}

/**
 * Replaces an element's content by HTML that the server rendered.
 * @param {Element} element
 * @param {unknown} html
 */
export function fill(element, html) {
  element.replaceChildren(parse(html));
}

/** An element's content as HTML, which `fill` takes. @param {Element} element */
export function htmlOf(element) {
  return element.innerHTML;
}

/**
 * Makes these the children of an element, in this order. What is in its place already is not moved: moving takes away
 * the reader's selection and focus, and loads frames again.
 * @param {Element} parent
 * @param {Element[]} children
 */
export function arrange(parent, children) {
  const wanted = new Set(/** @type {Node[]} */ (children));
  for (const child of [...parent.childNodes]) if (!wanted.has(child)) child.remove();
  let place = parent.firstChild;
  for (const child of children) {
    if (child === place) place = child.nextSibling;
    else parent.insertBefore(child, place);
  }
}

/**
 * Makes an element what the server renders now. A child that shows the same stays where it is. From one that is
 * replaced, the next takes over what the reader has opened and focused.
 * @param {Element} mine
 * @param {Element} fresh
 * @param {(child: Element, fresh: Element) => boolean} [isSame]
 */
export function takeOver(mine, fresh, isSame = isEqual) {
  for (const { name, value } of fresh.attributes) mine.setAttribute(name, value);
  const shown = [...mine.children];
  arrange(mine, [...fresh.children].map((child, index) => {
    const old = shown[index];
    if (old && isSame(old, child)) return old;
    if (old) keepOpen(old, child);
    return child;
  }));
}

/**
 * As text, because two <template> are equal nodes whatever they contain.
 * @param {Element} child
 * @param {Element} fresh
 */
function isEqual(child, fresh) {
  return child.outerHTML === fresh.outerHTML;
}

const CONTROLS = "a, button, summary, input, [tabindex]";

/**
 * @param {Element} old
 * @param {Element} fresh what replaces it; in the page only afterwards
 */
function keepOpen(old, fresh) {
  const at = (/** @type {Element} */ root, /** @type {string} */ selector) => [root, ...root.querySelectorAll("*")]
    .filter((each) => each.matches(selector));
  const details = at(fresh, "details");
  for (const [index, each] of at(old, "details").entries()) {
    if (each.hasAttribute("open")) details[index]?.setAttribute("open", "");
  }
  const focused = at(old, CONTROLS).findIndex((each) => each === document.activeElement);
  const next = focused < 0 ? null : at(fresh, CONTROLS)[focused];
  if (next instanceof HTMLElement) queueMicrotask(() => next.focus({ preventScroll: true }));
}

/**
 * A copy of the element in the `<template>` of that name.
 * @template {Element} E
 * @param {string} name
 * @param {new () => E} kind
 * @returns {E}
 */
export function fromTemplate(name, kind) {
  const template = find(document, `#piece-${name}`, HTMLTemplateElement);
  const copy = document.importNode(template.content, true).firstElementChild;
  if (copy instanceof kind) return copy;
  throw new Error(`the template ${name} is no ${kind.name}`);
}

/** The placeholder in a template for an id. */
const BLANK_ID = "00000000-0000-0000-0000-000000000000";

/**
 * A copy of the element in the `<template>` of that name, with these ids in its addresses, in this order.
 * @template {Element} E
 * @param {string} name
 * @param {new () => E} kind
 * @param {string[]} ids
 * @returns {E}
 */
export function templateWith(name, kind, ...ids) {
  const copy = fromTemplate(name, kind);
  for (const element of [copy, ...copy.querySelectorAll("*")]) {
    for (const attribute of element.attributes) {
      for (const id of ids) attribute.value = attribute.value.replace(BLANK_ID, encodeURIComponent(id));
    }
  }
  return copy;
}

/**
 * The first element that matches. It must exist and have that type.
 * @template {Element} E
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => E} kind
 * @returns {E}
 */
export function find(root, selector, kind) {
  const element = root.querySelector(selector);
  if (element instanceof kind) return element;
  throw new Error(`the page has no ${selector}`);
}

/**
 * The first element that matches, or null.
 * @template {Element} E
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => E} kind
 * @returns {E | null}
 */
export function seek(root, selector, kind) {
  const element = root.querySelector(selector);
  return element instanceof kind ? element : null;
}

/**
 * The nearest HTML element around an event's target that matches, or null.
 * @param {Event} event
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export function closestTo(event, selector) {
  const element = event.target instanceof Element ? event.target.closest(selector) : null;
  return element instanceof HTMLElement ? element : null;
}

// The life of a page for chatting: another one may take its place without a load, so whatever listens to the window or
// the document, or repeats, ends with the page that began it.

/** @type {WeakMap<Element, AbortController>} */
const lives = new WeakMap();

/** The page around an element, even if it is not shown any more. @param {Element} element @returns {Element} */
export function pageOf(element) {
  return element.closest("chat-page") ?? document.documentElement;
}

/** Ends with the page around an element: for listeners of anything that outlives it. @param {Element} element */
export function lifeOf(element) {
  return ofPage(pageOf(element)).signal;
}

/** @param {Element} page that is not shown any more */
export function endLife(page) {
  ofPage(page).abort();
}

/** @param {Element} page */
function ofPage(page) {
  const life = lives.get(page) ?? new AbortController();
  lives.set(page, life);
  return life;
}

/** @param {AbortSignal} life @param {() => void} run when it ends */
export function atEnd(life, run) {
  if (life.aborted) run();
  else life.addEventListener("abort", run);
}

/** @returns {HtmlPolicy} */
function makePolicy() {
  const rules = {
    createHTML: /** @param {string} html */ (html) => html,
    createScriptURL: /** @param {string} address */ (address) => {
      if (address === WORKER) return address;
      throw new TypeError("there is one worker");
    },
  };
  const factory = /** @type {{ trustedTypes?: { createPolicy: (name: string, rules: HtmlPolicy) => HtmlPolicy } }} */ (
    /** @type {unknown} */ (globalThis)
  ).trustedTypes;
  return factory ? factory.createPolicy("chatui", rules) : rules;
}

/**
 * @template Detail
 * @param {HTMLElement} element
 * @param {string} name of a custom event
 * @param {(detail: Detail) => void} run
 */
export function listen(element, name, run) {
  element.addEventListener(name, (event) => run(/** @type {CustomEvent<Detail>} */ (event).detail));
}

// Makes a textarea grow with its text, up to the limit in the style sheet.

/** @param {HTMLTextAreaElement} area */
export function grow(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}

/** @typedef {{ label: string, run: () => void }} Act a button beside a sentence */

/**
 * @param {HTMLElement} element where a form says what is wrong
 * @param {string} sentence empty for none
 * @param {Act} [act] what puts an end to it
 */
export function complain(element, sentence, act) {
  element.textContent = sentence;
  if (!act) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = act.label;
  button.addEventListener("click", act.run);
  element.append(" ", button);
}

// The address that the page shows, without its fragment: if the browser's history has another one, it leads elsewhere.

let shown = "";

/** @param {string} [address] that the page has from now on; by default the browser's */
export function showsAs(address) {
  if (address) history.replaceState(null, "", address);
  shown = location.pathname + location.search;
}

export function shownAddress() {
  return shown;
}
