"""Compares how this product and openai-harmony read and write a transcript, for ``transcript check``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from chatui.env import environment
from chatui.model_servers import vocabulary
from chatui.second_reader.differences import Difference, Kind
from chatui.second_reader.process import SecondReader, SecondReaderError
from chatui.second_reader.transcript import Comparison, compare
from renderer.command import MAX_BUFFERED_BYTES
from renderer.errors import OpenChatMLError
from renderer.frames import Frame
from renderer.harmony.vocabulary import VocabularyError

_MAX_NUMBERS = 5


@dataclass(frozen=True, slots=True)
class Opinion:
    """The result of the comparison. ``why``: the reason if nothing was compared."""

    comparison: Comparison | None = None
    why: str = ""

    @property
    def is_bad(self) -> bool:
        """Whether there is an unexpected difference."""
        return self.comparison is not None and not self.comparison.is_as_intended

    def as_json(self) -> dict[str, object]:
        """The result as a JSON object."""
        compared = self.comparison
        if compared is None:
            return {"compared": False, "why": self.why}
        return {
            "compared": True,
            "equal": not compared.differences,
            "as_meant": compared.is_as_intended,
            "tokens": compared.tokens,
            "differences": [_as_json(difference) for difference in compared.differences],
        }

    def lines(self) -> Iterator[str]:
        """The same as text: a summary line, then one line for each kind of difference."""
        compared = self.comparison
        if compared is None:
            yield f"not compared with openai-harmony: {self.why}"
            return
        if not compared.differences:
            yield f"as openai-harmony writes and reads it: equal, {compared.tokens} tokens"
            return
        grouped = _grouped(compared.differences)
        ways = f"{len(grouped)} way{'' if len(grouped) == 1 else 's'}"
        yield f"openai-harmony differs in {ways}, {'all on purpose' if compared.is_as_intended else 'NOT all on purpose'}"
        for (kind, detail), numbers in grouped.items():
            text = f"{kind.sentence.removesuffix('.')} ({detail})." if detail else kind.sentence
            yield f"  {'on purpose' if kind.is_on_purpose else 'DIFFERS'}: {kind.value}{_where(numbers)}: {text}"


def second_opinion(frames: Callable[[], tuple[Frame, ...]] | None, second: SecondReader | None = None) -> Opinion:
    """Compare ``frames``, a function that is called when everything else is ready; None if there are too many to keep in memory. Blocks
    until the second reader finishes or times out.
    """
    if frames is None:
        return Opinion(why=f"it is larger than {MAX_BUFFERED_BYTES >> 20} MB")
    data_dir = environment().data_dir
    second = second or SecondReader(lambda: vocabulary.find(data_dir))
    try:
        return Opinion(compare(frames(), vocabulary.load(data_dir), second))
    except OpenChatMLError as error:
        return Opinion(why=f"it cannot be written as Harmony: {error.hint}.")
    except (SecondReaderError, VocabularyError) as error:
        return Opinion(why=str(error))


def _as_json(difference: Difference) -> dict[str, object]:
    kind = difference.kind
    return {"kind": kind.value, "on_purpose": kind.is_on_purpose, "message": difference.message, "detail": difference.detail}


def _grouped(differences: tuple[Difference, ...]) -> dict[tuple[Kind, str], list[int]]:
    grouped: dict[tuple[Kind, str], list[int]] = {}
    for one in sorted(differences, key=lambda one: one.kind.is_on_purpose):
        grouped.setdefault((one.kind, one.detail), []).append(one.message)
    return grouped


def _where(numbers: list[int]) -> str:
    if numbers == [0]:
        return ""
    more = len(numbers) - _MAX_NUMBERS
    named = ", ".join(map(str, numbers[:_MAX_NUMBERS]))
    return f", message{'' if len(numbers) == 1 else 's'} {named}{f' and {more} more' if more > 0 else ''}"
