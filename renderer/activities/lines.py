"""Decides which lines of a turn's reasoning summary appear, and when. Every limit on which the bound in ``docs/summaries.md`` rests is
enforced here, behind every source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from renderer.activities import cues, gates, spans
from renderer.activities.activity import Activity
from renderer.activities.kinds import KINDS
from renderer.activities.reading import PassageReading, PersonText, ReasoningPassage, plain, possible_kinds
from renderer.activities.requests import Request, request_of

TICKS = (3.0, 6.0, 9.0, 13.5, 20.0, 30.0, 45.0, 68.0)
"""The seconds of a turn at which a line may appear, all its rounds together."""

MOST_LINES = 8
MOST_NAMING = 2
"""So many lines may name what the reasoning chose. The two things of a comparison and the place of a trip come from the question alone."""

_LONG_QUESTION = 1_500  # characters of a question that is itself a document
_SHORT_QUESTION = 160  # characters of a question whose phrases matter at their first use


@dataclass(frozen=True, slots=True)
class PersonInput:
    """What the person wrote and may see."""

    question: str = field(repr=False)
    """The question of this turn."""
    earlier: Sequence[str] = field(default=(), repr=False)
    """Their questions before it, the oldest first."""
    files: Sequence[str] = field(default=(), repr=False)
    """Names of their files."""
    has_tools: bool = False
    """Whether the turn offers tools."""
    has_image: bool = False
    """Whether an image is attached."""
    has_new_file: bool = False
    """Whether a file came with the question."""
    before: Sequence[Activity] = ()
    """The lines of the cut answer that the turn continues, with which its own are shown as one list."""


class ActivityLines:
    """The lines of one turn. ``feed`` takes reasoning as it streams, ``propose`` a kind from another source; ``judge`` is called at each
    tick."""

    def __init__(self, written: PersonInput, *, reads: bool = True) -> None:
        """``reads``: whether reasoning is read here where no other source has proposed a kind (built-in)."""
        self.shown: list[Activity] = []
        self._before = tuple(written.before)
        self._reads = reads
        self._ticks = list(TICKS)
        self._proposals: list[str | None] = []
        self._question = written.question[: gates.READ]
        self._written = written

    # Worked out when somebody wants to know: most turns end before that.

    @cached_property
    def _pair(self) -> tuple[str, ...]:
        return spans.pair(self._question) or ()

    @cached_property
    def _asked(self) -> PersonText:
        return _asked(self._written, has_pair=bool(self._pair))

    @cached_property
    def _passage(self) -> ReasoningPassage:
        return ReasoningPassage(self._asked)

    @cached_property
    def request(self) -> Request:
        """What the person asks for, told from their words alone."""
        return request_of(self._written.question, has_file=self._written.has_new_file, has_image=self._written.has_image)

    @property
    def next_tick(self) -> float | None:
        """When ``judge`` is to be called next, in seconds of the turn; None: no line can appear any more."""
        return self._ticks[0] if self._ticks and len(self._all()) < MOST_LINES else None

    def feed(self, text: str) -> None:
        """More reasoning."""
        if self.next_tick is not None:
            self._passage.feed(text)

    def propose(self, doing: str | None) -> None:
        """The kind that another source names for the time since the last tick; None: it names none. The newest counts. One that is not
        possible counts as none."""
        self._proposals = [doing]

    def judge(self, seconds: float) -> Activity | None:
        """The line that appears now, if any. Once for each tick; between ticks nothing appears."""
        tick = self.next_tick
        if tick is None or not seconds >= tick:
            return None
        self._ticks = [later for later in self._ticks if later > seconds]
        proposals, self._proposals = self._proposals, []
        reading = self._passage.read()
        if reading.is_hidden:
            return None
        doing = proposals[0] if proposals else reading.kind(self._names_shown(), self.request.confirms) if self._reads else None
        if doing is None or doing not in self.possible():
            return None
        line = Activity(doing, self._about(doing, reading))
        self.shown.append(line)
        self._passage.clear()
        return line

    def possible(self) -> list[str]:
        """The kinds that may still appear, in the order of the table: from these a summarizer chooses."""
        shown = self._names_shown()
        return [name for name in possible_kinds(self._asked.subjects, shown) if name not in shown]

    def _all(self) -> list[Activity]:
        """The lines of the whole answer, to which all limits apply."""
        return [*self._before, *self.shown]

    def _names_shown(self) -> set[str]:
        return {line.doing for line in self._all()}

    def _about(self, doing: str, reading: PassageReading) -> tuple[str, ...]:
        """What a line of this kind names: spans of the question, or a name of a file in it. Empty if nothing fits, or enough lines
        name something already."""
        about = KINDS[doing].about
        if about == "pair":
            return self._pair
        if about == "place":
            place = spans.place(self._question)
            return (place,) if place else ()
        if not about or sum(bool(line.about) and KINDS[line.doing].about in ("span", "file") for line in self._all()) >= MOST_NAMING:
            return ()
        if about == "file":
            name = spans.only_file_in(reading.text, spans.file_names(self._written.files))
        else:
            name = spans.most_used(spans.phrases(self._question), reading.text, in_short_question=len(self._question) < _SHORT_QUESTION)
        return (name,) if name else ()


def _asked(written: PersonInput, *, has_pair: bool) -> PersonText:
    subjects = gates.subjects_of(written.question, written.earlier)
    subjects.update(name for name, shown in _circumstances(written) if shown)
    text = "\n".join([written.question[: gates.READ], *(question[: gates.READ] for question in written.earlier[-gates.EARLIER :])])
    words = frozenset(word for _, word, _ in cues.hits(cues.words_of(text)))
    return PersonText(plain(text), words, frozenset(subjects), gates.names_touchy_subject(text), has_pair)


def _circumstances(written: PersonInput) -> Iterator[tuple[str, bool]]:
    yield "tools", written.has_tools
    yield "image", written.has_image
    yield "turns", bool(written.earlier)
    yield "doc", bool(written.files) or len(written.question) > _LONG_QUESTION
