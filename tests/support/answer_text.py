"""The text of an answer as the product judges it: what of it a person sees, while it comes and when it is whole.

For tests of thousands of texts, which a server in between would make slow. Whoever changes the parts of the judgement changes it here, and
in no test.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from chatui.backends.leaks.guard import TextSpan, judge
from chatui.backends.leaks.guard import judged as judged_whole
from chatui.backends.leaks.labels import Asked, answer_after
from chatui.backends.leaks.labels import visible_of as visible_of
from chatui.backends.leaks.scanner import LeakGuard
from chatui.backends.separation import Separation
from renderer.harmony.prompt import FunctionTool


class AnswerText:
    """A text that comes in pieces. What ``feed`` and ``finish`` return is shown.

    ``thought``: the reasoning before it. ``tools``: those that were offered. ``is_json``: JSON was asked for. ``earlier_thoughts``: the
    reasoning of earlier rounds.
    """

    def __init__(
        self,
        separation: Separation = Separation.STRUCTURED,
        *,
        thought: str = "",
        tools: Sequence[FunctionTool] = (),
        is_json: bool = False,
        earlier_thoughts: Sequence[str] = (),
    ) -> None:
        asked = Asked(is_json=is_json, tools=tuple(tools), thoughts=tuple(earlier_thoughts))
        self._guard = LeakGuard(separation, thought=thought, asked=asked)
        self.hidden = self.withheld = ""
        """What was not shown; of that, what is hidden so that the page says that something is missing."""

    def feed(self, *pieces: str) -> str:
        return "".join(self._seen(self._guard.feed(piece)) for piece in pieces)

    def finish(self, *, complete: bool = True) -> str:
        """The text has ended. ``complete``: by itself."""
        return self._seen(self._guard.finish(complete=complete))

    def whole(self, pieces: Iterable[str], *, complete: bool = True) -> str:
        """All that is shown of these pieces."""
        return self.feed(*pieces) + self.finish(complete=complete)

    def reasoning_comes(self, *pieces: str, is_apart: bool = False) -> None:
        """Reasoning comes only now. ``is_apart``: as a thought of its own."""
        for piece in pieces:
            (self._guard.reasoned_apart if is_apart else self._guard.reasoned)(piece)

    @property
    def is_taken_back(self) -> bool:
        """Whether what was shown before the end was no answer."""
        return self._guard.hides_before

    @property
    def has_sign(self) -> bool:
        """Whether something in it is raw output."""
        return self._guard.has_sign

    @property
    def is_repeated(self) -> bool:
        """Whether its beginning came as reasoning as well."""
        return self._guard.is_repeated

    def _seen(self, spans: Iterable[TextSpan]) -> str:
        spans = list(spans)
        self.hidden += "".join(span.text for span in spans if not span.visible)
        self.withheld += "".join(span.text for span in spans if span.is_withheld)
        return "".join(span.text for span in spans if span.visible)


def guarded(text: str) -> str:
    """What is visible of a text that is judged as a whole."""
    return "".join(span.text for span in judged_whole(text).spans if span.visible)


def judged(text: str, *, follows: bool = False) -> str:
    """What becomes of a whole text: ``{hidden}``, ``{!hidden, and the page says so}``, ``^`` before a message, and ``#`` in front if the
    texts before it in the same completion are hidden, too. ``follows``: there are some. Neighbours of the same kind are joined.
    """
    judgement = judged_whole(text, follows=follows)
    assert all(span.text or span.is_withheld for span in judgement.spans), "no span is without effect"
    signs: list[tuple[str, str]] = []
    for span in judgement.spans:
        signs += [("", "^")] if span.begins else []
        signs += [("" if span.visible else "{!" if span.is_withheld else "{", span.text)] if span.text else []
    spans = (f"{kind}{''.join(text for _, text in same)}{'}' * bool(kind)}" for kind, same in groupby(signs, lambda sign: sign[0]))
    return "#" * judgement.hides_before + "".join(spans)


def answers_in(raw: str) -> list[str]:
    """The messages that are shown of a model's raw output. If there are none, all of it is hidden, and the page says so."""
    spans = judge(raw)
    assert all(span.begins for span in spans if span.visible), "each is a message"
    assert "".join(span.text for span in spans) in raw, "no text is counted twice"
    shown = [span.text for span in spans if span.visible]
    assert shown or spans == [TextSpan(False, raw, is_withheld=True)]
    return shown


def behind_label(text: str) -> str | None:
    """The answer after the label at the beginning of a text; None if there is none."""
    at = answer_after(text)
    return None if at is None else text[at:]
