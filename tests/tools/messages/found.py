"""Finds the server's sentences in templates and Python, by Django's translation marks."""

import ast
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from babel.messages.extract import extract
from django.utils.translation.template import templatize

from chatui.audit_log import words
from chatui.codes import Cause, Fault, ProductCode
from chatui.env import Environment
from renderer.errors import Code
from tests.support.examinations import FAULTS
from tests.support.places import ROOT

_PLAIN = ("gettext", "gettext_lazy", "gettext_noop", "noop", "_")
_PLURAL = ("ngettext", "ngettext_lazy", "ngettext_noop")
_IN_CONTEXT = ("pgettext", "pgettext_lazy")
KEYWORDS: dict[str, tuple[int | tuple[int, str], ...] | None] = {
    **dict.fromkeys(_PLAIN),
    **dict.fromkeys(_PLURAL, (1, 2)),
    **dict.fromkeys(_IN_CONTEXT, ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}
COMMENT = "Translators:"
_A_CALL = re.compile(rf"\b(?:{'|'.join(KEYWORDS)})\s*\(")


@dataclass(frozen=True, slots=True)
class Found:
    """One sentence in one file. ``plural`` and ``context`` are empty if it has none."""

    id: str
    plural: str
    context: str
    comments: tuple[str, ...]
    file: str


def server_sentences() -> Iterator[Found]:
    """Every sentence that the server renders."""
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield from in_template(path.read_text(encoding="utf-8"), _name(path))
    for path in sorted(path for room in ("chatui", "renderer") for path in (ROOT / room).rglob("*.py")):
        yield from in_python(path.read_text(encoding="utf-8"), _name(path))

    yield from _closed_lists()


def _closed_lists() -> Iterator[Found]:
    """Lists whose modules know no Django, and so mark nothing, or whose values are recorded or printed in English as well."""
    lists: dict[str, Iterable[str]] = {
        "renderer/errors.py": (code.sentence for code in Code),
        "chatui/codes.py": (*(code.sentence for code in ProductCode), *_texts_of(Cause)),
        "chatui/operations/doctor/faults.py": _texts_of(FAULTS),
        "chatui/env.py": (str(field.description) for field in Environment.model_fields.values()),
        "renderer/gate.py": reasons_of_gate(),
    }
    for file, sentences in lists.items():
        yield from (Found(sentence, "", "", (), file) for sentence in sentences)
    for said in words.ALL:
        yield Found(said, "", words.CONTEXT, (), "chatui/audit_log/words.py")


def _texts_of(faults: Iterable[Fault]) -> list[str]:
    return [text for fault in faults for text in (fault.sentence, fault.advice) if text]


def reasons_of_gate() -> list[str]:
    """Why a frame is hidden: the sentences of the gate's table, which ``renderer``, without translations, does not mark."""
    tree = ast.parse((ROOT / "renderer" / "gate.py").read_text(encoding="utf-8"))
    names = [(each, getattr(each, "name", "") or ast.unparse(getattr(each, "target", each))) for each in tree.body]
    table = [each for each, name in names if name.lower().startswith(("why_", "_why_"))]
    docstrings = {ast.get_docstring(each, clean=False) for each in table if isinstance(each, ast.FunctionDef)}
    texts = (node.value for each in table for node in ast.walk(each) if isinstance(node, ast.Constant))
    return [text for text in texts if isinstance(text, str) and text not in docstrings]


def in_template(text: str, name: str) -> Iterator[Found]:
    """The sentences of one template. Django converts its tags to calls and everything else to X, line by line."""
    calls = "\n".join(line.strip() for line in templatize(text, origin=name).splitlines())
    return in_python(calls, name)


def in_python(text: str, name: str) -> Iterator[Found]:
    """The sentences of one module."""
    if not _A_CALL.search(text):  # to take apart what has none takes most of the time
        return
    for _, ids, comments, context in extract("python", io.BytesIO(text.encode()), KEYWORDS, (COMMENT,), {"encoding": "utf-8"}):
        one, plural = (str(ids[0]), str(ids[1])) if isinstance(ids, tuple) else (str(ids), "")
        yield Found(one, plural, context or "", tuple(comments), name)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def by_key(found: Iterable[Found]) -> dict[tuple[str, str], list[Found]]:
    """Group the same sentence of several files, by context and text."""
    together: dict[tuple[str, str], list[Found]] = {}
    for item in found:
        together.setdefault((item.context, item.id), []).append(item)
    return together
