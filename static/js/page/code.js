// Code blocks: a head line with the language and a copy button, and colours once the block is closed.

import { piece } from "./dom.js";
import { MOST_CHARACTERS, flatten, languageOf } from "../models/highlighting.js";

/** @import { TokenNode } from "../models/highlighting.js" */

/** @typedef {{ language: string, ignoreIllegals: boolean }} HighlightOptions */
/**
 * @typedef {object} Highlighter what we use of highlight.js
 * @property {(name: string) => unknown} getLanguage
 * @property {(code: string, options: HighlightOptions) => { _emitter: { rootNode: TokenNode } }} highlight
 */

/** @type {Promise<Highlighter> | null} */
let loading = null;

/**
 * Puts a head line over each code block that has none yet. Cheap, so that an open block may have it too and nothing
 * jumps at its end.
 * @param {Element} block
 */
export function decorateCode(block) {
  for (const pre of block.querySelectorAll("pre")) {
    if (pre.parentElement?.classList.contains("code-frame") || !pre.querySelector(":scope > code")) continue;
    const frame = document.createElement("div");
    frame.className = "code-frame";
    frame.dir = "ltr";
    const head = piece("code-head", HTMLElement);
    const label = head.querySelector(".code-language");
    if (label) label.textContent = languageOf(pre.querySelector("code")?.className ?? "") ?? "text";
    pre.replaceWith(frame);
    pre.tabIndex = 0;
    frame.append(head, pre);
  }
}

/**
 * The text of the code block that a copy button stands over.
 * @param {Element} button
 */
export function codeBeside(button) {
  return button.closest(".code-frame")?.querySelector("pre")?.textContent?.replace(/\n$/, "") ?? "";
}

/**
 * Colours the code of a closed block. Without a named language, or above the limit, it stays plain.
 * @param {Element} block
 */
export async function highlightCode(block) {
  for (const code of block.querySelectorAll("pre > code:not([data-coloured])")) {
    const language = languageOf(code.className);
    const text = code.textContent ?? "";
    if (!language || text.length > MOST_CHARACTERS) continue;
    try {
      const highlighter = await load();
      if (!highlighter.getLanguage(language)) continue;
      const result = highlighter.highlight(text, { language, ignoreIllegals: true });
      code.replaceChildren(coloured(result._emitter.rootNode));
      code.setAttribute("data-coloured", "");
    } catch {
      // Plain code is a good answer too.
      code.textContent = text;
    }
  }
}

/**
 * The highlighter also offers a string of HTML; it is not used. Elements are built here, and text enters them as text.
 * @param {TokenNode} root
 */
function coloured(root) {
  const fragment = document.createDocumentFragment();
  for (const { text, classes } of flatten(root)) {
    if (!classes) {
      fragment.append(text);
      continue;
    }
    const span = document.createElement("span");
    span.className = classes;
    span.textContent = text;
    fragment.append(span);
  }
  return fragment;
}

/** @returns {Promise<Highlighter>} */
function load() {
  loading ??= import("../../vendor/highlight/highlight.min.js").then(
    (module) => /** @type {Highlighter} */ (module.default),
  );
  return loading;
}
