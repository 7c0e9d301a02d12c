// Highlights the code of closed blocks. Loaded when the first such block appears.

import { languageOf } from "./code.js";

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
  loading ??= import("../../vendor/highlight/highlight.min.js").then(
    (module) => /** @type {Highlighter} */ (module.default),
  ).catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

// Syntax highlighting: turns the highlighter's tree into pieces of text with class names, without making any HTML.

/**
 * @typedef {{ scope?: string, children: (string | TokenNode)[] }} TokenNode
 * @typedef {{ text: string, classes: string }} Token text, and the class names around it, innermost last ("" for none)
 */

/** Longer code is not highlighted, because that would block the page. */
const MAX_CHARACTERS = 50_000;

/**
 * The class names for a scope of highlight.js: "title.function" is "hljs-title function_".
 * @param {string} scope
 */
export function classesFor(scope) {
  const [first = "", ...rest] = scope.split(".");
  return [`hljs-${first}`, ...rest.map((name, index) => name + "_".repeat(index + 1))].join(" ");
}

/**
 * The tree as a flat list. Nested scopes add up, so that one span per piece of text is enough.
 * @param {TokenNode} root
 * @returns {Token[]}
 */
export function flatten(root) {
  /** @type {Token[]} */
  const tokens = [];
  walk(root, "", tokens);
  return tokens;
}

/**
 * @param {TokenNode} node
 * @param {string} around
 * @param {Token[]} tokens
 */
function walk(node, around, tokens) {
  // "language:css" marks code inside other code; its own scopes say enough.
  const own = node.scope && !node.scope.startsWith("language:") ? classesFor(node.scope) : "";
  const classes = [around, own].filter(Boolean).join(" ");
  for (const child of node.children) {
    if (typeof child === "string") tokens.push({ text: child, classes });
    else walk(child, classes, tokens);
  }
}
