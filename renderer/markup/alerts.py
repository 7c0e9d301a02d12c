"""Alerts: quotations that begin with ``[!NOTE]``, as GitHub shows them. Its title is English here; pages show it in their language."""

from __future__ import annotations

import re
from collections.abc import Callable

from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

TITLES = {"note": "Note", "tip": "Tip", "important": "Important", "warning": "Warning", "caution": "Caution"}
_MARK = re.compile(r"\[!(note|tip|important|warning|caution)\][ \t]*(?:\n[ \t]*|\Z|(?=\S))", re.IGNORECASE)


def alert(rule: Callable[[StateBlock, int, int, bool], bool]) -> Callable[[StateBlock, int, int, bool], bool]:
    """The rule of quotations, for which the mark of an alert is its title. Words on the mark's line are the first ones of its text."""

    def read(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        # Asked at each block, so the usual answer is given at once.
        if not state.src.startswith(">", state.bMarks[start] + state.tShift[start]):
            return False
        first = len(state.tokens)
        if not rule(state, start, end, silent):
            return False
        opened = state.tokens[first : first + 3]
        if len(opened) == 3 and opened[1].type == "paragraph_open" and (mark := _MARK.match(opened[2].content)) is not None:
            _make_alert(state, first, mark)
        return True

    return read


def _make_alert(state: StateBlock, first: int, mark: re.Match[str]) -> None:
    opening, paragraph, sentence = state.tokens[first : first + 3]
    kind = mark[1].lower()
    opening.attrs["class"] = f"alert alert-{kind}"
    title = Token("alert_title", "", 0, content=TITLES[kind], map=paragraph.map, block=True, level=opening.level + 1)
    sentence.content = sentence.content[mark.end() :]
    rest = [paragraph, sentence] if sentence.content else []
    after = first + 3 if rest else first + 4
    state.tokens[first + 1 : after] = [title, *rest]


def title(token: Token) -> str:
    """The HTML of an alert's title."""
    return f'<p class="alert-title">{token.content}</p>\n'
