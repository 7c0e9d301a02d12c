// Copies text to the clipboard, also on pages served over plain http, where browsers lack the modern clipboard.

import { t, tc } from "../language/words.js";
import { fromTemplate } from "./dom.js";

/**
 * Copies the text that a promise resolves to. The promise itself is given to the clipboard: Safari allows no waiting
 * between click and copy.
 * @param {Promise<string>} text
 * @param {Promise<string>} [html] the same as rich text, for programs that take it
 */
export async function copyLater(text, html) {
  if (navigator.clipboard && "ClipboardItem" in globalThis) {
    try {
      const blob = text.then((plain) => new Blob([plain], { type: "text/plain" }));
      /** @type {Record<string, Blob | Promise<Blob>>} */
      const kinds = { "text/plain": blob };
      if (html) kinds["text/html"] = html.then((rich) => new Blob([rich], { type: "text/html" }));
      await navigator.clipboard.write([new ClipboardItem(kinds)]);
      return;
    } catch {
      // Older browsers accept no promise, and some refuse when the page is not in front: try the simpler ways.
    }
  }
  await copy(await text);
}

/** @param {string} text */
export async function copy(text) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return;
    } catch {
      // Fall through to the old way.
    }
  }
  copyBySelection(text);
}

/** @param {string} text */
function copyBySelection(text) {
  const area = document.createElement("textarea");
  area.className = "visually-hidden";
  area.value = text;
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!done) throw new Error("the browser did not allow copying");
}

// Code blocks: adds a header with the language and a copy button. "./colours.js" highlights the code.

/**
 * Adds the header to each code block that has none yet: its title, or its language. This is cheap, so an open block
 * gets it too, and nothing jumps when it closes.
 * @param {Element} block
 */
export function decorateCode(block) {
  for (const pre of block.querySelectorAll("pre")) {
    if (pre.parentElement?.classList.contains("code-frame") || !pre.querySelector(":scope > code")) continue;
    const frame = document.createElement("div");
    frame.className = "code-frame";
    frame.dir = "ltr";
    const head = fromTemplate("code-head", HTMLElement);
    const label = head.querySelector(".code-language");
    const language = languageOf(pre.querySelector("code")?.className ?? "");
    if (label) label.textContent = pre.title || (language ?? tc("a programming language", "text"));
    pre.replaceWith(frame);
    pre.tabIndex = 0;
    // A focusable element needs a name: otherwise screen readers start to read the code.
    pre.role = "group";
    pre.ariaLabel = t("Code: %(language)s", { language: label?.textContent ?? "" });
    // A browser that translates the page leaves code as it is.
    pre.translate = false;
    frame.append(head, pre);
  }
}

/**
 * The code as the server sent it, for browsers and extensions that translate it all the same.
 * @type {WeakMap<Element, string>}
 */
const sent = new WeakMap();

/**
 * Remembers the code of a block that will not change any more.
 * @param {Element} block
 */
export function keepCode(block) {
  for (const pre of block.querySelectorAll(".code-frame > pre")) {
    if (!sent.has(pre)) sent.set(pre, pre.textContent ?? "");
  }
}

/**
 * The text of the code block that a copy button belongs to.
 * @param {Element} button
 */
export function codeBeside(button) {
  const pre = button.closest(".code-frame")?.querySelector("pre");
  return ((pre && sent.get(pre)) ?? pre?.textContent ?? "").replace(/\n$/, "");
}

/**
 * The table that a copy button belongs to, as text for spreadsheets: a line for each row, with tabs between the cells.
 * @param {Element} button
 */
export function tableBeside(button) {
  const rows = button.parentElement?.querySelector("table")?.rows ?? [];
  const text = (/** @type {Element} */ cell) => (cell.textContent ?? "").replace(/\s+/g, " ").trim();
  return [...rows].map((row) => [...row.cells].map(text).join("\t")).join("\n");
}

// Detects the language of code.

/**
 * The language that a code element's class names, or null.
 * @param {string} className
 */
export function languageOf(className) {
  return /(?:^|\s)language-([^\s]+)/.exec(className)?.[1]?.toLowerCase() ?? null;
}
