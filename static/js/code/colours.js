// Highlights the code of closed blocks. Loaded when the first such block appears.

import { languageOf } from "../models/code-language.js";
import { MAX_CHARACTERS, flatten } from "../models/highlighting.js";
import { laterStyles } from "../windows/later-styles.js";

/** @import { TokenNode } from "../models/highlighting.js" */

/** @typedef {{ language: string, ignoreIllegals: boolean }} HighlightOptions */
/**
 * @typedef {object} Highlighter the part of highlight.js that is used
 * @property {(name: string) => unknown} getLanguage
 * @property {(code: string, options: HighlightOptions) => { _emitter: { rootNode: TokenNode } }} highlight
 */

/** @type {Promise<Highlighter> | null} */
let loading = null;

/**
 * Highlights the code of a closed block. Code without a language, or above the size limit, stays plain. Rejects if the
 * highlighter cannot be fetched.
 * @param {Element} block
 */
export async function highlightCode(block) {
  for (const code of block.querySelectorAll("pre > code:not([data-coloured])")) {
    const language = languageOf(code.className);
    const text = code.textContent ?? "";
    if (!language || text.length > MAX_CHARACTERS) continue;
    const highlighter = await load();
    try {
      if (!highlighter.getLanguage(language)) continue;
      const result = highlighter.highlight(text, { language, ignoreIllegals: true });
      code.replaceChildren(coloured(result._emitter.rootNode));
      code.setAttribute("data-coloured", "");
    } catch {
      // Code stays readable without highlighting.
      code.textContent = text;
    }
  }
}

/**
 * The highlighter also offers a string of HTML, which is not used: elements are built here, and filled with plain text.
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
  // A page without that style sheet has the colours in its own.
  const hasLater = document.querySelector("link[data-later]") !== null;
  loading ??= Promise.all([import("../../vendor/highlight/highlight.min.js"), hasLater && laterStyles()]).then(
    ([module]) => /** @type {Highlighter} */ (module.default),
  ).catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}
