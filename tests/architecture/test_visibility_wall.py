"""The wall between hidden text and people, read off the source: who may make what, and where HTML may enter a page."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.sources import Source, all_sources, python_sources

# What may be made or read only in certain places. A new place is a decision: it is added here, where a reviewer sees it.
MAKERS = {
    # Markdown; the operator's pages; parts of the page itself, from its own templates, for the group of end users
    "SafeHtml": ("renderer/markup/html.py", "renderer/markup/operator_pages.py", "chatui/display/fragments.py"),
    "VisibleText": ("renderer/gate.py", "renderer/markup/growing.py", "renderer/markup/words.py"),
}
_ALWAYS = ("chatui/permissions/access.py", "chatui/store/transcripts.py", "chatui/models/", "chatui/migrations/", "chatui/management/")
READERS = {
    # the frame that a stored frame follows; what a dead process has stored; many stored at once; what is erased
    "Message": (
        *(*_ALWAYS, "chatui/turns/ledger.py", "chatui/turns/opening.py", "chatui/turns/sweep.py"),
        *("chatui/store/bulk_append.py", "chatui/store/erasure.py", "chatui/lifecycle/erasure.py"),
        # what was temporary, and is to be found from now on; what an upgrade indexes again
        *("chatui/store/temporary.py", "chatui/store/reindexing.py"),
        # what is hidden, and has been stored for long enough; what turned out to be reasoning
        "chatui/store/hidden_text.py",
    ),
    # make new ones; the model that answered last; erase them; the title that a model gave
    "Conversation": (
        *(*_ALWAYS, "chatui/store/bulk_append.py", "chatui/turns/start.py", "chatui/turns/ledger.py"),
        *("chatui/store/erasure.py", "chatui/lifecycle/erasure.py", "chatui/turns/titles.py", "chatui/turns/program_start.py"),
        # begun, filled and put into the bin by programs
        "chatui/turns/program_conversations.py",
        # where every list begins; how long the temporary ones last, and their end
        *("chatui/permissions/access.py", "chatui/store/temporary.py", "chatui/turns/temporary.py"),
        # whose person has left, and somebody else's from now on
        "chatui/store/ownership_transfer.py",
        # whose title is indexed again
        "chatui/store/reindexing.py",
    ),
    # collected and read; written once a second, when a process ends, and when a turn ends; erased
    "TurnPiece": (
        *("chatui/models/", "chatui/migrations/", "chatui/store/erasure.py"),
        *("chatui/turns/leases.py", "chatui/turns/ledger.py", "chatui/store/hidden_text.py"),
    ),
}
READERS |= {
    # asked and lapsed; told to its owner; looked for by its owner; shown to its owner, and decided; erased
    "ToolApproval": (
        *("chatui/models/", "chatui/migrations/", "chatui/turns/calls/approvals.py", "chatui/permissions/tools.py"),
        "chatui/turns/calls/person.py",
        *("chatui/display/tool_cards.py", "chatui/store/erasure.py"),
        "chatui/store/hidden_text.py",
    ),
}
LIBRARIES_OF_HARMONY = {
    "openai_harmony": {"renderer/harmony/prompt.py", "chatui/operations/second_reader.py"},
    "tiktoken": {"renderer/harmony/vocabulary.py"},
}

IF_MOVED = "if a file that is listed here was only renamed or merged, write its new name in this file; anything else is a decision"
MANAGERS = {"objects", "_default_manager", "_base_manager"}
WAYS_ROUND = re.compile(r"mark_safe|\bSafeString\b|\|\s*safe(?:seq)?\b|autoescape\s+off|unsafe-(?:inline|eval|hashes)")
SINKS = re.compile(
    r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|parseHTMLUnsafe|createContextualFragment|srcdoc|DOMParser)\b"
    r"|document\.write|\beval\s*\(|new\s+Function\b"
)
DOM = "static/js/page/dom.js"


@pytest.mark.parametrize("name", MAKERS)
def test_only_its_maker_makes_what_passes_the_gate(name: str) -> None:
    made = {source for source in python_sources() if list(calls_of(source, name))}
    assert {source.path for source in made if not source.is_in(*MAKERS[name])} == set(), f"MAKERS: {IF_MOVED}"
    assert any(source.is_in(*MAKERS[name]) for source in made), "the premise: it would be noticed"
    [told] = [source for source in all_sources() if source.path == "ARCHITECTURE.md"]
    assert [path for path in MAKERS[name] if f"`{path}`" not in told.text] == [], "ARCHITECTURE.md lists them, where it speaks of the wall"


@pytest.mark.parametrize("name", READERS)
def test_rows_that_hold_hidden_text_are_read_only_where_that_is_the_task(name: str) -> None:
    readers = {source for source in python_sources() if list(read(source, name))}
    assert {source.path for source in readers if not source.is_in(*READERS[name])} == set(), f"READERS: {IF_MOVED}"
    assert any(source.is_in(*READERS[name]) for source in readers), "the premise: it would be noticed"


@pytest.mark.parametrize("library", LIBRARIES_OF_HARMONY)
def test_the_libraries_of_harmony_are_used_where_that_is_the_task_and_nowhere_else(library: str) -> None:
    importers = {source.path for source in python_sources() if library in set(imported(source))}
    assert importers == LIBRARIES_OF_HARMONY[library], f"LIBRARIES_OF_HARMONY: {IF_MOVED}"


def test_no_template_and_no_code_marks_text_as_safe() -> None:
    sources = [source for source in all_sources() if source.is_in("chatui/", "renderer/", "templates/", "static/js/", "static/css/")]
    assert list(found(WAYS_ROUND, sources)) == []


@pytest.mark.parametrize("text", ["mark_safe(x)", "{{ x|safe }}", "{{ x | safe }}", "{% autoescape off %}", "'unsafe-inline'"])
def test_a_way_round_escaping_would_be_noticed(text: str) -> None:
    assert list(found(WAYS_ROUND, [Source("templates/chat/chat.html", text)])) == ["templates/chat/chat.html:1"]


def test_html_enters_the_page_at_one_place_only() -> None:
    scripts = [source for source in all_sources() if source.is_in("static/js/")]
    assert list(found(SINKS, [source for source in scripts if source.path != DOM])) == []
    assert not scripts or list(found(SINKS, [source for source in scripts if source.path == DOM])), f"{DOM} is not that place any more"


def calls_of(source: Source, name: str) -> Iterator[str]:
    """Where ``source`` calls ``name``, casts to it or derives from it: all the ways to come by such a value."""
    for node in source.nodes():
        if isinstance(node, ast.Call):
            casts = _named(node.func, "cast") and bool(node.args) and _named(node.args[0], name)
            if casts or _named(node.func, name):
                yield f"{source.path}:{node.lineno}"
        elif isinstance(node, ast.ClassDef) and any(_named(base, name) for base in node.bases):
            yield f"{source.path}:{node.lineno}"


def read(source: Source, name: str) -> Iterator[str]:
    """Where ``source`` asks the table of ``name`` for rows."""
    for node in source.nodes():
        if isinstance(node, ast.Attribute) and node.attr in MANAGERS and _named(node.value, name):
            yield f"{source.path}:{node.lineno}"


def imported(source: Source) -> Iterator[str]:
    """The top-level packages that ``source`` imports, at whatever depth of the file."""
    for node in source.nodes():
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def found(pattern: re.Pattern[str], sources: list[Source]) -> Iterator[str]:
    """Each line of ``sources`` that matches the pattern, as ``path:line``."""
    for source in sources:
        yield from (f"{source.path}:{number}" for number, line in enumerate(source.lines, 1) if pattern.search(line))


def _named(node: ast.expr, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)
