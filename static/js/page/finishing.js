// Finishes closed blocks: tables can be copied and scrolled by keyboard at once, and in idle time, newest first, code
// is highlighted, mathematics is typeset and diagrams are drawn. The modules for that are fetched when first needed; a
// block whose module could not be fetched stays as it is, and is tried again after a reconnect. Finishing changes what
// the server has rendered, so this is also where that is remembered.

import { decorateCode, keepCode } from "./code.js";
import { t, tc } from "../language/words.js";
import { fill, fromTemplate, htmlOf, parse } from "./dom.js";
import { recall, remember } from "./storage.js";

/** What is copied of a selection is decided by a script that most visits do not need. */
function selects() {
  if (getSelection()?.isCollapsed !== false) return;
  document.removeEventListener("selectionchange", selects);
  import("./selection.js").catch(() => document.addEventListener("selectionchange", selects));
}

document.addEventListener("selectionchange", selects);

/** @type {Element[]} */
const queue = [];
/** @type {Element[]} */
const failed = [];
let scheduled = false;

/**
 * The server's HTML of the blocks that the socket has brought, or that are changed here.
 * @type {WeakMap<Element, string>}
 */
const rendered = new WeakMap();

/**
 * Shows the server's HTML in a block. The same is not shown again: that keeps the reader's selection.
 * @param {Element} block
 * @param {string} html
 */
export function showBlock(block, html) {
  if (rendered.get(block) === html) return;
  fill(block, html);
  rendered.set(block, html);
  finishOpenBlock(block);
}

/** The page has added text to a block itself. @param {Element} block */
export function hasGrown(block) {
  rendered.delete(block);
}

/**
 * Whether a block shows what the server renders now. Its elements do not tell: code is highlighted, formulas are set.
 * @param {Element} block
 * @param {Element} fresh
 */
export function showsSame(block, fresh) {
  const html = rendered.get(block);
  if (html === undefined) return block.isEqualNode(fresh);
  const [before, now] = [[...parse(html).childNodes], [...fresh.childNodes]];
  return before.length === now.length && before.every((node, index) => node.isEqualNode(now[index] ?? null));
}

/**
 * What an open block gets, too, because it is cheap, so that nothing jumps when it closes.
 * @param {Element} block
 */
function finishOpenBlock(block) {
  decorateCode(block);
  watchCode(block);
  keepShortCells(block);
  for (const title of block.querySelectorAll(".alert-title")) {
    title.textContent = ALERTS[title.textContent ?? ""] ?? title.textContent;
  }
}

/** The titles of alerts, by the word that the server writes. @type {Readonly<Record<string, string>>} */
const ALERTS = Object.freeze({
  Note: tc("alert", "Note"),
  Tip: tc("alert", "Tip"),
  Important: tc("alert", "Important"),
  Warning: tc("alert", "Warning"),
  Caution: tc("alert", "Caution"),
});

/** @param {Element} block closed: it will not change any more */
export function finishBlock(block) {
  if (!rendered.has(block) && block.querySelector("pre,table,.math,.alert")) rendered.set(block, htmlOf(block));
  finishOpenBlock(block);
  keepCode(block);
  finishTables(block);
  for (const formula of block.querySelectorAll(".math-display")) {
    if (formula instanceof HTMLElement) watch(formula, WIDE_FORMULA);
  }
  if (!block.querySelector("pre > code[class], .math")) return;
  queue.push(block);
  schedule();
}

/**
 * Finishes every closed block under this element.
 * @param {ParentNode} root
 */
export function finishAll(root) {
  for (const block of root.querySelectorAll("[data-block]")) finishBlock(block);
}

function schedule() {
  if (scheduled) return;
  scheduled = true;
  if ("requestIdleCallback" in globalThis) requestIdleCallback(work, { timeout: 1000 });
  else setTimeout(work, 16);
}

/** One block per iteration of the event loop, to keep tasks short. */
async function work() {
  const block = queue.pop();
  scheduled = false;
  if (queue.length) schedule();
  if (!block?.isConnected) return;
  try {
    await finish(block);
  } catch {
    if (!failed.length) addEventListener("online", again, { once: true });
    failed.push(block);
  }
}

function again() {
  queue.push(...failed.splice(0));
  schedule();
}

/** @param {Element} block */
async function finish(block) {
  // Only code with a language has a class.
  if (block.querySelector("pre > code[class]")) await (await import("./colours.js")).highlightCode(block);
  if (block.querySelector(".math")) await (await import("./mathematics.js")).setMathematics(block);
  if (block.querySelector("code.language-mermaid")) (await import("./diagrams.js")).drawDiagrams(block);
}

// Tables: short cells keep to one line, each table can be copied, and one that is wider than the page is in a named
// scroll area that can be reached by keyboard.

const SHORT_CHARS = 18;

const WIDE_TABLE = t("Wide table: it can be scrolled sideways");
const WIDE_FORMULA = t("Wide formula: it can be scrolled sideways");

/**
 * A cell of a few words does not break while others have room.
 * @param {Element} block
 */
function keepShortCells(block) {
  // A formula that is set has its source beside it: its cell was measured before.
  for (const cell of block.querySelectorAll("td:not(:has([data-set]))")) {
    cell.classList.toggle("short", (cell.textContent ?? "").length <= SHORT_CHARS);
  }
}

/** @param {Element} block closed */
function finishTables(block) {
  for (const table of block.querySelectorAll("table")) {
    const place = placeOf(table);
    if (!place.querySelector(".table-copy")) place.append(fromTemplate("table-copy", HTMLElement));
    watch(place, WIDE_TABLE);
  }
}

/**
 * The scrolling element: the block of the table, or a new element around a table in a list or a quote.
 * @param {HTMLTableElement} table
 */
function placeOf(table) {
  const around = table.parentElement;
  if (around?.matches(".block, .table-place")) return around;
  const place = document.createElement("div");
  place.className = "table-place";
  table.replaceWith(place);
  place.append(table);
  return place;
}

// Parts that may be wider than the page (code, tables, formulas): shows at which side they go on, names those that can
// be reached by keyboard, and wraps the lines of code for people who want that.

const WRAP_KEY = "chatui:wrap";
const root = document.documentElement;
/** So much may stick out of a formula whose last letter leans, without hiding anything. */
const OVERHANG_PX = 4;

/** The names of the parts that have none while they are not wide. @type {WeakMap<HTMLElement, string>} */
const names = new WeakMap();
const resized = new ResizeObserver((entries) => {
  const places = entries.map(({ target }) => (target instanceof HTMLTableElement ? target.parentElement : target));
  measure([...new Set(places)].filter((place) => place instanceof HTMLElement));
});

/**
 * @param {HTMLElement} place the element that scrolls
 * @param {string} [label] its name, where it has none of its own
 */
function watch(place, label) {
  if (label) names.set(place, label);
  resized.observe(place);
  const table = place.querySelector(":scope > table");
  if (table) resized.observe(table);
}

/**
 * Reads all sizes before anything is written, so that the layout is computed once.
 * @param {HTMLElement[]} places
 */
function measure(places) {
  for (const [place, more] of places.map((each) => /** @type {const} */ ([each, sides(each)]))) show(place, more);
}

/**
 * The sides at which a part goes on; null if it is not wide.
 * @param {HTMLElement} place
 * @returns {string | null}
 */
function sides({ scrollWidth, clientWidth, scrollLeft }) {
  const room = scrollWidth - clientWidth;
  if (room <= OVERHANG_PX) return null;
  const at = Math.abs(scrollLeft); // from right to left it is negative
  return `${at > 1 ? "start " : ""}${at < room - 1 ? "end" : ""}`;
}

/**
 * @param {HTMLElement} place
 * @param {string | null} more
 */
function show(place, more) {
  if (more === null) delete place.dataset.more;
  else if (place.dataset.more !== more) place.dataset.more = more;
  const button = place.parentElement?.querySelector(":scope > .code-head > [data-action=wrap-lines]");
  if (button instanceof HTMLElement) button.hidden = more === null && root.dataset.wrapLines === undefined;
  const name = names.get(place);
  const isNamed = more !== null;
  if (!name || isNamed === (place.role === "region")) return;
  place.role = isNamed ? "region" : null;
  place.ariaLabel = isNamed ? name : null;
  if (isNamed) place.tabIndex = 0;
  else place.removeAttribute("tabindex");
}

document.addEventListener("scroll", ({ target }) => {
  if (target instanceof HTMLElement && target.dataset.more !== undefined) measure([target]);
}, { capture: true, passive: true });

/** @type {WeakSet<Element>} */
const watched = new WeakSet();

/**
 * Watches the code in a block, and makes the buttons above it work. The choice to wrap lines is one for all code, and
 * stays in this browser.
 * @param {Element} block
 */
function watchCode(block) {
  for (const pre of block.querySelectorAll(".code-frame > pre")) {
    if (!(pre instanceof HTMLElement) || watched.has(pre)) continue;
    watched.add(pre);
    watch(pre);
    const button = pre.parentElement?.querySelector("[data-action=wrap-lines]");
    if (!(button instanceof HTMLElement)) continue;
    button.ariaPressed = String(root.dataset.wrapLines !== undefined);
    button.addEventListener("click", () => {
      const wraps = root.dataset.wrapLines === undefined;
      remember(WRAP_KEY, wraps ? "yes" : null);
      wrap(wraps);
    });
  }
}

/** @param {boolean} wraps */
function wrap(wraps) {
  if (wraps) root.dataset.wrapLines = "";
  else delete root.dataset.wrapLines;
  for (const button of document.querySelectorAll("[data-action=wrap-lines]")) button.ariaPressed = String(wraps);
  measure([...document.querySelectorAll(".code-frame > pre")].filter((pre) => pre instanceof HTMLElement));
}

wrap(recall(WRAP_KEY) !== null);
addEventListener("storage", ({ key, newValue }) => {
  if (key === WRAP_KEY) wrap(newValue !== null);
});
