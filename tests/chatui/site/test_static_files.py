"""Collecting changes nothing of a script but its comments, and a page names every module that its script imports."""

import json
import re
import subprocess
from typing import Any

import pytest

from chatui.site import static_files
from tests.support.places import ROOT
from tests.tools import node

SCRIPTS = {
    path.relative_to(ROOT / "static").as_posix(): path.read_text(encoding="utf-8") for path in sorted((ROOT / "static/js").rglob("*.js"))
}

SAME = """
import ts from "typescript";
let text = "";
for await (const piece of process.stdin) text += piece;
const plain = (code) => {
  const file = ts.createSourceFile("a.js", code, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  if (file.parseDiagnostics.length) return [file.parseDiagnostics[0].messageText];
  const inner = (node) => node.getChildren(file).filter((child) => !ts.isJSDoc(child));
  const flat = (node) => (node.getChildCount(file) ? inner(node).flatMap(flat) : [node.getText(file)]);
  return flat(file);
};
const differ = Object.entries(JSON.parse(text)).filter(([, [one, other]]) => String(plain(one)) !== String(plain(other)));
console.log(JSON.stringify(differ.map(([name]) => name)));
"""


def different(pairs: dict[str, list[str]]) -> Any:
    """The names of pairs whose texts do not consist of the same tokens, as TypeScript reads them."""
    node.typescript()
    command = [node.program("node") or "node", "--input-type=module", "--eval", SAME]
    done = subprocess.run(command, cwd=node.CHECKS, input=json.dumps(pairs), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.extended
@pytest.mark.skipif(node.why_not() is not None, reason=node.why_not() or "")
def test_collecting_keeps_every_token_of_our_scripts() -> None:
    assert len(SCRIPTS) > 80
    assert different({name: [text, static_files.compacted(text)] for name, text in SCRIPTS.items()}) == []
    for lost in ("const text = `one\n// two\n`;\n", "const text = `one\n  two\n`;\n"):
        assert different({"lost": [lost, static_files.compacted(lost)]}) == ["lost"], "the premise: this would be seen"


def test_comments_with_lines_of_their_own_and_indentation_are_left_out() -> None:
    text = '// One.\n/**\n * Two * three.\n */\n\nfour(); // five\n  /* six */\n  seven("/* eight */");\n'
    assert static_files.compacted(text) == 'four(); // five\nseven("/* eight */");\n'


def test_every_module_that_a_script_needs_is_named_once() -> None:
    named = static_files.imported("js/chat/page.js")
    assert len(named) > 25 and len(set(named)) == len(named)
    for name in ("js/chat/page.js", *named):
        lines = [line for line in SCRIPTS[name].splitlines() if re.match(r'import ".|import \{.* from "|\} from "', line)]
        direct = {line.rpartition("/")[2].removesuffix('";') for line in lines}
        assert direct <= {each.rpartition("/")[2] for each in named}, name
    assert "js/exchange/more.js" not in named, "it is loaded when it is needed"


def test_only_one_module_makes_the_policy_for_html() -> None:
    assert [name for name, text in SCRIPTS.items() if re.search(r"createPolicy\(", text)] == ["js/page/dom.js"], "a second would be refused"


def test_no_style_is_measured_by_a_container() -> None:
    """A browser computes what depends on a container's size again after it has laid the container out: a conversation of 600 messages
    took three times as long to style."""
    sheets = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "static/css").glob("*.css")}
    by_container = re.compile(r"container-type|@container|\dcq(?:w|h|i|b|min|max)\b")
    assert [name for name, text in sheets.items() if by_container.search(text)] == []
    assert by_container.search("100cqi") and "--free: max(0px, (100vw" in sheets["layout.css"]
