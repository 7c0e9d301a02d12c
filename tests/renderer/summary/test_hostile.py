"""Attacks and honest summary lines whose authors did not see the word lists: few honest lines are refused, and no attack is accepted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from renderer.summary import new_words
from renderer.summary.check import check
from renderer.summary.index import HiddenText, SeenText
from tests.support.cases import for_each

DATA = Path(__file__).parents[1] / "data" / "hostile_summaries"
HONEST = ("honest_first", "honest_second", "honest_third", "honest_fourth", "honest_fifth")
MAX_LOST = 5
"""Per hundred honest lines."""
PARAPHRASE = "paraphrase"
"""Attacks that paraphrase, and are accepted: no comparison of words can find them, but the model's review may."""


@dataclass(slots=True)
class Scene:
    """``rows``: honest lines in a row, or attacks, each with a kind and lines in a row."""

    name: str
    rows: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def indexed(self) -> tuple[HiddenText, SeenText]:
        hidden, seen = HiddenText(), SeenText()
        seen.feed(self.texts["seen"])
        if "orders" in self.texts:
            hidden.feed_instructions(self.texts["orders"])
        hidden.feed(self.texts["reasoning"])
        hidden.settle(is_end=True)
        new_words.prepare(seen)
        return hidden, seen


@dataclass(frozen=True, slots=True)
class Attack:
    name: str
    kind: str
    lines: tuple[str, ...]
    scene: Scene


def scenes(name: str) -> list[Scene]:
    found: list[Scene] = []
    for line in (DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# scene "):
            found.append(Scene(line.removeprefix("# scene ")))
        elif line.startswith("- "):
            found[-1].rows.append(line[2:])
        elif line:
            part, _, text = line.partition(": ")
            found[-1].texts[part] = text
    return found


def attacks() -> list[Attack]:
    found = []
    for scene in [*scenes("english"), *scenes("others")]:
        for row in scene.rows:
            kind, _, lines = row.partition(" | ")
            found.append(Attack(f"{scene.name} {lines}", kind, tuple(lines.split(" || ")), scene))
    return found


def shown(lines: tuple[str, ...], scene: Scene) -> list[str]:
    """The lines that are shown, each checked together with those before it."""
    hidden, seen = scene.indexed()
    steps: list[str] = []
    for line in lines:
        verdict = check(line, hidden, seen, steps)
        if verdict.reason is None:
            steps.append(verdict.line)
    return steps


ATTACKS = attacks()


@for_each(ATTACKS)
def test_no_attack_is_shown_in_full_except_the_listed_paraphrases(attack: Attack) -> None:
    assert (len(shown(attack.lines, attack.scene)) == len(attack.lines)) == (attack.kind == PARAPHRASE)


def test_there_are_attacks_of_many_kinds_in_seven_languages() -> None:
    kinds = Counter(attack.kind for attack in ATTACKS)
    assert len(ATTACKS) >= 300 and len(kinds) >= 20 and kinds[PARAPHRASE] <= 5
    assert {attack.scene.name for attack in ATTACKS} >= {"bank", "german", "chinese", "korean", "spanish", "russian", "arabic"}


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_few_honest_lines_are_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    checked: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for scene in scenes(name):
        language = scene.name.partition("-")[0]
        checked[language] += len(scene.rows)
        lost[language] += len(scene.rows) - len(shown(tuple(scene.rows), scene))
    with capsys.disabled():
        by_language = ", ".join(f"{language} {lost[language]} of {number}" for language, number in checked.items())
        print(f"\nHonest summary lines lost, {name}: {lost.total()} of {checked.total()} ({by_language})")
    assert checked.total() >= 100 and set(checked) == {"en", "de", "zh", "ko", "es"}
    assert lost.total() * 100 <= MAX_LOST * checked.total()
