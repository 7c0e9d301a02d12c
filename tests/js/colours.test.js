import assert from "node:assert/strict";
import { test } from "node:test";
import { classesFor, flatten } from "../../static/js/page/colours.js";

const { default: highlighter } = await import("../../static/vendor/highlight/highlight.min.js");
/** @type {(code: string, language: string) => import("../../static/js/page/colours.js").TokenNode} */
const treeOf = (code, language) => highlighter.highlight(code, { language, ignoreIllegals: true })._emitter.rootNode;

const SAMPLES = /** @type {const} */ ([
  ["python", '@cached\ndef area(r: float) -> str:\n    """Doc."""\n    return f"{3.14 * r ** 2:.1f}"  # note\n'],
  ["javascript", "const a = `x ${b ? 1 : /re/g} y`; // <script>alert(1)</script>\n"],
  ["xml", '<a href="x&amp;y"><style>p { color: red }</style><script>let a = "</" + 1;</script></a>\n'],
  ["sql", "SELECT count(*) FROM t WHERE name = 'O''Brien' -- end\n"],
  ["json", '{"a": [1, true, null, "\\u00e9"]}\n'],
  ["bash", 'for f in *.txt; do echo "$f" | sed \'s/a/b/\'; done\n'],
]);

test("the pieces of a tree joined are the code, to the character", () => {
  for (const [language, code] of SAMPLES) {
    const pieces = flatten(treeOf(code, language));
    assert.ok(pieces.some(({ classes }) => classes.includes("hljs-")), `${language} has no colours`);
    assert.equal(pieces.map(({ text }) => text).join(""), code);
  }
});

test("every class name is a plain word: nothing of the code gets into one", () => {
  for (const [language, code] of SAMPLES) {
    for (const { classes } of flatten(treeOf(code, language))) assert.match(classes, /^[a-z_ -]*$/);
  }
});

test("a dotted scope becomes one class of ours and marked ones", () => {
  assert.equal(classesFor("string"), "hljs-string");
  assert.equal(classesFor("title.function"), "hljs-title function_");
  assert.equal(classesFor("title.class.inherited"), "hljs-title class_ inherited__");
});

test("nested scopes add up, a language inside another leaves no mark", () => {
  const tree = { children: ["a", { scope: "string", children: ["b", { scope: "subst", children: ["c"] }] }, { scope: "language:css", children: ["d"] }] };
  assert.deepEqual(flatten(tree), [
    { text: "a", classes: "" },
    { text: "b", classes: "hljs-string" },
    { text: "c", classes: "hljs-string hljs-subst" },
    { text: "d", classes: "" },
  ]);
});
