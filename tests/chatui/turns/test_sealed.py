"""Sealed tokens: each opens only for the person and purpose it was sealed for, and only for a day."""

import time
from uuid import UUID, uuid4

import pytest
import pytest_django

from chatui.turns import sealed as turns_sealed
from chatui.turns.sealed import Purpose
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from renderer.frames import Terminator
from tests.support.scripted import ANALYSIS, CALL, FINAL, PREAMBLE
from tests.support.sealed import reasoning_of, unsealed

ADA, BELA = uuid4(), uuid4()
THOUGHTS = ["the hidden marmalade", "… and a second one 🍊"]


def sealed(texts: list[str] = THOUGHTS, person: UUID = ADA) -> str:
    token = turns_sealed.seal(person, Purpose.REASONING, texts)
    assert token is not None
    return token


def test_a_token_opens_only_for_its_person_and_purpose() -> None:
    token = sealed()
    assert unsealed(ADA, Purpose.REASONING, token) == tuple(THOUGHTS) and sealed() != token
    assert unsealed(BELA, Purpose.REASONING, token) == unsealed(ADA, Purpose.COMPACTION, token) == ()


def test_a_tampered_token_opens_to_nothing() -> None:
    token = sealed()
    for place in (0, 5, 6, 40, 60, len(token) // 2, len(token) - 2):
        other = "A" if token[place] != "A" else "B"
        assert unsealed(ADA, Purpose.REASONING, token[:place] + other + token[place + 1 :]) == (), place
    for wrong in ("", "cus1.", "cus1.AAAA", "x" * 100, token[:-30], "cus1.€", "cus1." + "A" * 10_000_000, token.replace("cus1.", "cus2.")):
        assert unsealed(ADA, Purpose.REASONING, wrong) == ()


def test_a_token_expires_after_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    token, now = sealed(), time.time()
    lasts = turns_sealed.LASTS_SECONDS[Purpose.REASONING]
    for age, is_good in ((lasts - 60, True), (lasts + 60, False), (-30, True), (-3600, False)):
        monkeypatch.setattr(time, "time", lambda age=age: now + age)
        assert bool(unsealed(ADA, Purpose.REASONING, token)) is is_good, age


def test_the_length_of_a_token_reveals_only_its_bucket() -> None:
    lengths = {len(sealed(["x" * count])) for count in range(0, 2000, 37)}
    assert len(lengths) == 1
    assert len({len(sealed(["ö" * count])) for count in range(0, 100_000, 997)}) <= 8
    assert turns_sealed.seal(ADA, Purpose.REASONING, ["x" * turns_sealed.LARGEST]) is None


def test_after_key_rotation_old_tokens_still_open(settings: pytest_django.Settings) -> None:
    def use(**keys: object) -> None:
        settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update=keys)

    use(sealing_key="the first")
    token = sealed()
    use(sealing_key="the second", sealing_keys_before=["the first"])
    assert unsealed(ADA, Purpose.REASONING, token) == tuple(THOUGHTS)
    newer = sealed()
    use(sealing_key="the second", sealing_keys_before=[])
    assert unsealed(ADA, Purpose.REASONING, token) == () and unsealed(ADA, Purpose.REASONING, newer) == tuple(THOUGHTS)


def test_reasoning_since_the_last_visible_frame_is_sealed_together() -> None:
    collected = reasoning_of(ADA)

    def feed(*events: object) -> list[tuple[str, ...]]:
        found = [collected.feed(event) for event in events]  # type: ignore[arg-type]
        return [unsealed(ADA, Purpose.REASONING, token) for token in found if token]

    def thought(text: str) -> list[object]:
        return [FrameOpened(ANALYSIS), FrameText(text), FrameClosed(Terminator.END)]

    assert feed(*thought("one"), *thought("two")) == [("one",), ("one", "two")]
    assert feed(FrameOpened(PREAMBLE), FrameText("visible"), FrameClosed(Terminator.END), *thought("three")) == [("three",)]
    assert feed(FrameOpened(CALL), FrameText("{}"), FrameClosed(Terminator.CALL), *thought("four")) == [("four",)]
    assert feed(FrameOpened(FINAL), FrameText("no"), FrameWithdrawn(), FrameText("no"), FrameClosed(Terminator.END)) == []
    assert feed(FrameOpened(ANALYSIS), FrameText("broken"), FrameWithdrawn(), FrameClosed(Terminator.END)) == []
