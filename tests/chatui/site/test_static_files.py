"""Bundled scripts behave like their modules, and scripts that could not are refused."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from chatui.site import static_files
from tests.support.places import ROOT
from tests.tools import node

pytestmark = pytest.mark.skipif(node.why_not() is not None, reason="it takes a Node.js to run them")

MODULES = {
    "js/first.js": '// The first.\nimport { one, Two as Both } from "./deep/parts.js";\nimport "./side.js";\n'
    'log("first", one, new Both().secret());\nexport async function later() {\n  return (await import("./lazy.js")).told();\n}\n'
    "later().then((told) => log(told));\n",
    "js/second.js": 'import { one } from "./deep/parts.js";\nlog("second", one);\n',
    "js/side.js": "const one = 11;\nlog(`side ${`${one} /*` + '*/ // '}  // kept`);\n",
    "js/deep/parts.js": 'import { shared } from "../shared.js";\n/** One. */\nexport const one = shared("one");\n'
    "export class Two {\n  #secret = /[/*]'\"/.source;\n  secret() {\n    return #secret in this && this.#secret;\n  }\n}\n",
    "js/shared.js": 'let times = 0;\nlog("shared runs");\n'
    "export function shared(/** @type {string} */ name) {\n  return `${name}:${++times}`;\n}\n",
    "js/lazy.js": 'import { shared } from "./shared.js";\nimport { inner } from "./deep/inner.js";\nexport function told() {\n'
    '  return shared("told") + inner();\n}\n',
    "js/deep/inner.js": 'import { one } from "./parts.js";\nexport function inner() {\n  return one;\n}\n',
    "js/plain.js": 'document.title = "no module";\n',
}


def run(files: dict[str, str], entry: str, place: Path) -> str:
    """What the modules log."""
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    (place / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (place / "run.js").write_text(f'globalThis.log = (...all) => console.log(...all);\nawait import("./{entry}");\n', encoding="utf-8")
    done = subprocess.run([node.program("node") or "node", str(place / "run.js")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("entry", ["js/first.js", "js/second.js"])
def test_bundled_modules_run_once_in_order_and_share_state(entry: str, tmp_path: Path) -> None:
    joined = static_files.bundle_scripts(MODULES, ["js/plain.js"])
    expected = run(MODULES, entry, tmp_path / "written")
    assert "shared runs" in expected and "one:1" in expected
    assert run(joined, entry, tmp_path / "joined") == expected


def test_modules_of_one_page_are_in_its_file_unless_they_are_loaded_dynamically() -> None:
    joined = static_files.bundle_scripts(MODULES, [])
    assert set(joined) == {"js/first.js", "js/second.js", "js/lazy.js", "js/plain.js", "js/joined/1.js"}
    assert "kept" in joined["js/first.js"] and "shared runs" in joined["js/joined/1.js"]
    assert '"told"' not in joined["js/first.js"] and '"told"' in joined["js/lazy.js"]
    assert "The first." not in joined["js/first.js"]
    assert joined["js/plain.js"] == 'document.title="no module";', "a script that is no module stays one"


def test_a_script_that_is_both_imported_and_loaded_dynamically_runs_once(tmp_path: Path) -> None:
    modules = {
        "js/a.js": 'import { b } from "./b.js";\nlog(b(), (await_ => await_)(1));\nimport("./b.js").then((m) => log(m.b()));\n',
        "js/b.js": "let n = 0;\nexport function b() {\n  return ++n;\n}\n",
    }
    assert run(static_files.bundle_scripts(modules, []), "js/a.js", tmp_path) == "1 1\n2\n"


@pytest.mark.parametrize(
    "text",
    [
        "export let value = 1;\n",
        "const a = 1;\nexport { a };\n",
        "export default 1;\n",
        'import * as all from "./b.js";\n',
        'const a = 1;\nimport { b } from "./b.js";\n',
        'import { missing } from "./missing.js";\n',
        'import { a } from "./a.js";\n',
        "const where = import.meta.url;\n",
        "const a = await fetch(1);\n",
        "await fetch(1);\n",
        "export const x = 1,\n  y = 2;\n",
        "export const x = [1, 2], y = 2;\n",
        "export const x$ = 1;\n",
        'import { missing } from "./b.js";\n',
        'import { b, missing as other } from "./b.js";\n',
        "export const x = await fetch(1);\n",
        "if (x) await fetch(1);\n",
        "if (x) {\n  await fetch(1);\n}\n",
        "for await (const x of y) log(x);\n",
        "import('./b.js');\n",
        'import(\n  "./b.js",\n);\n',
        "const where = './b.js';\nimport(where);\n",
        'import("./missing.js");\n',
        'const a = 1; import { b } from "./b.js";\n',
        "const text = `one\n  two\n// three\n`;\n",
        'const text = "one\\\n  two";\n',
        'const text = "/** @x */ y";\n',
    ],
)
def test_scripts_whose_meaning_bundling_would_change_are_refused(text: str) -> None:
    with pytest.raises(static_files.BundleError):
        static_files.bundle_scripts({"js/a.js": text, "js/b.js": "export const b = 1;\n"}, [])


SAME = """
import ts from "typescript";
let text = "";
for await (const piece of process.stdin) text += piece;
const plain = (code) => {
  const file = ts.createSourceFile("a.js", code, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  if (file.parseDiagnostics.length) return [file.parseDiagnostics[0].messageText];
  const inner = (node) => node.getChildren(file).filter((child) => !ts.isJSDoc(child));
  const flat = (node) => (node.getChildCount(file) ? inner(node).flatMap(flat) : [spelled(node)]);
  const names = []; // a private name is spelled as its position among those of the file
  const spelled = (node) => {
    if (!ts.isPrivateIdentifier(node)) return node.getText(file);
    const name = node.getText(file);
    return `#${names.includes(name) ? names.indexOf(name) : names.push(name) - 1}`;
  };
  return flat(file);
};
const differ = Object.entries(JSON.parse(text)).filter(([, [one, other]]) => String(plain(one)) !== String(plain(other)));
console.log(JSON.stringify(differ.map(([name]) => name)));
"""


def same(pairs: dict[str, list[str]]) -> Any:
    """The names of pairs whose texts do not consist of the same tokens, as TypeScript reads them."""
    node.typescript()
    command = [node.program("node") or "node", "--input-type=module", "--eval", SAME]
    done = subprocess.run(command, cwd=node.CHECKS, input=json.dumps(pairs), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_minifying_keeps_every_token_of_our_scripts() -> None:
    scripts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in (ROOT / "static/js").rglob("*.js")}
    assert len(scripts) > 80
    assert same({name: [text, static_files.script(text)] for name, text in scripts.items()}) == []
    assert same({"other": ["a = b + /x y/.test(c)", "a = b + /xy/.test(c)"], "same": ["a  = 1 // b", "a=1"]}) == ["other"]
    mixed = {"mixed": ["class A { #a; #b; c() { return this.#a; } }", "class A { #b; #a; c() { return this.#a; } }"]}
    assert same(mixed) == ["mixed"]


def test_only_private_names_are_shortened() -> None:
    text = "class A {\n  #name = 1;\n  static async #other() {}\n"
    text += '  get() {\n    return [this.#name, "#name", "a #part", `#${this.#other}`];\n  }\n}\n'
    short = 'class A {#a=1;static async #b(){}\nget(){return[this.#a,"#name","a #part",`#${this.#b}`];}\n}\n'
    assert static_files.script(text).replace(" ", "") == short.replace(" ", "")


def test_spaces_and_line_breaks_are_removed_except_in_strings_and_after_comments() -> None:
    text = 'a = { "b/c": `d`, };\ne = [ "f/g", "it\'s" ]; // h;\ni = "/" + k; // { not, joined;\nl = "m // n";\nreturn\no();\n'
    assert static_files.script(text) == (
        'a = { "b/c": `d`, };e = [ "f/g", "it\'s" ]; // h;\ni = "/" + k; // { not, joined;\nl="m // n";\nreturn\no();'
    )
    assert static_files.script('p = [ "q/r", "it\'s" ];\n') == 'p=["q/r","it\'s"];'


@pytest.mark.parametrize(
    "text",
    [
        "export const x = Object.freeze([\n  1, 2,\n]);\n",
        'export const x = /** @type {string} */ (t("one, two"));\n',
        "export const add = (one, other) => {\n  let sum = one, more = other;\n  return sum + more;\n};\n",
        "export async function later() {\n  await fetch(1);\n}\n",
        "addEventListener(1, async () => {\n  await fetch(1);\n});\n",
        "// Nobody need await this, nor import it `here.\nconst text = `${1} // kept`;\n",
        'const load = () => import("./b.js");\n',
    ],
)
def test_equivalent_scripts_are_not_refused(text: str) -> None:
    assert static_files.bundle_scripts({"js/a.js": text, "js/b.js": "export const b = 1;\n"}, [])


@pytest.mark.slow
def test_our_scripts_can_be_bundled_and_each_file_can_be_parsed(tmp_path: Path) -> None:
    scripts = (ROOT / "static/js").rglob("*.js")
    sources = {path.relative_to(ROOT / "static").as_posix(): path.read_text(encoding="utf-8") for path in scripts}
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.html"))
    joined = static_files.bundle_scripts(sources, static_files.scripts_in(pages))
    assert {"js/chat.js", "js/site.js", "js/debug.js", "js/share.js", "js/page/diagrams.js"} <= set(joined)
    for name, text in joined.items():
        (tmp_path / "read.mjs").write_text(text, encoding="utf-8")
        command = [node.program("node") or "node", "--check", str(tmp_path / "read.mjs")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}: {done.stderr}"
    policies = [name for name, text in joined.items() if re.search(r"createPolicy\(", text)]
    assert len(policies) == 1, "two would make the browser refuse the second"


def test_a_cycle_of_imports_that_nothing_loads_is_refused() -> None:
    with pytest.raises(static_files.BundleError, match="cycle"):
        static_files.bundle_scripts({"js/a.js": "", "js/b.js": 'import "./c.js";\n', "js/c.js": 'import "./b.js";\n'}, [])
