"""Attacks on summary lines in whole turns: a summarizer writes them, and no page ever gets one."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from chatui.models.user import User
from renderer.frame_kinds import SUMMARY_NAME
from tests.chatui.turns.test_summarizing import WatchedTurn, stored_messages, watch
from tests.renderer.summary.test_hostile import PARAPHRASE, Scene, scenes
from tests.support.cases import mostly_slow
from tests.support.scripted import ScriptedBackend
from tests.support.summarizer import THOUGHT, Summarizer, install, thinks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

SCENES = {scene.name: scene for scene in [*scenes("english"), *scenes("others")]}
MAX = 3
"""Attacks per scene, each of a different kind."""


def attack_lines(scene: Scene) -> list[str]:
    """Lines that are attacks in themselves, one of each kind."""
    rows = (row.split(" | ", 1) for row in scene.rows if " || " not in row)
    by_kind = itertools.groupby(sorted(rows), key=lambda row: row[0])
    return [next(lines)[1] for kind, lines in by_kind if kind != PARAPHRASE][-MAX:]


async def watched_while(scene: Scene, line: str, person: User, backend: ScriptedBackend, patch: pytest.MonkeyPatch) -> WatchedTurn:
    """Watch a turn that thinks as the scene says, while a summarizer writes ``line``."""
    gate, summarizer = asyncio.Event(), Summarizer(line)
    install(patch, backend, summarizer)
    backend.script = thinks(gate, thought=f"{THOUGHT} {scene.texts['reasoning']} ")
    watched = await watch(person, gate, lambda: summarizer.judged > 0, scene.texts["seen"])
    assert summarizer.judged > 0, "the premise: the line was judged"
    return watched


@pytest.mark.parametrize(("name", "line"), mostly_slow([(name, line) for name, scene in SCENES.items() for line in attack_lines(scene)]))
async def test_no_page_gets_the_line_of_a_hostile_summarizer(
    name: str, line: str, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    scene = SCENES[name]
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"instructions": scene.texts.get("orders", "")})
    watched = await watched_while(scene, line, ada, backend, monkeypatch)
    assert watched.steps == [] and line not in watched.raw
    blocked = [message.text for message in await stored_messages(watched.turn) if SUMMARY_NAME in message.text]
    assert blocked and all("intent=debug" in text for text in blocked), "only staff see it"


async def test_a_harmless_line_on_the_same_subject_is_shown(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "Compared the forms of the new bank"
    assert (await watched_while(SCENES["bank"], line, ada, backend, monkeypatch)).steps[:1] == [line]
