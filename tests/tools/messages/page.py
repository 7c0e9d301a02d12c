"""Finds the scripts' sentences, by the functions of ``static/js/language/words.js``."""

from collections.abc import Iterator

from babel.messages.extract import extract_from_file

from tests.support.places import ROOT
from tests.tools.messages.found import COMMENT, Found, reasons_of_gate

SCRIPTS = ROOT / "static" / "js"
KEYWORDS: dict[str, tuple[int | tuple[int, str], ...] | None] = {"t": None, "tc": ((1, "c"), 2), "tn": (1, 2)}


def page_sentences() -> Iterator[Found]:
    """Every sentence of the scripts, and those that events bring to the debug view."""
    for path in sorted(SCRIPTS.rglob("*.js")):
        for _, ids, comments, context in extract_from_file("javascript", path, KEYWORDS, (COMMENT,)):
            one, plural = (str(ids[0]), str(ids[1])) if isinstance(ids, tuple) else (str(ids), "")
            yield Found(one, plural, context or "", tuple(comments), path.relative_to(ROOT).as_posix())
    for why in reasons_of_gate():
        yield Found(why, "", "", (), "renderer/gate.py")
