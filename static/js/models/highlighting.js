// Syntax highlighting: turns the highlighter's tree into pieces of text with class names, without making any HTML.

/**
 * @typedef {{ scope?: string, children: (string | TokenNode)[] }} TokenNode
 * @typedef {{ text: string, classes: string }} Token text, and the class names around it, innermost last ("" for none)
 */

/** Longer code is not highlighted, because that would block the page. */
export const MAX_CHARACTERS = 50_000;

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
