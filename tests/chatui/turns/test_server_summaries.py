"""Summaries written by the model server: shown as lines if they are real summaries, hidden if they read like reasoning."""

from __future__ import annotations

import asyncio

import pytest

from chatui.models.message import Message
from chatui.models.user import User
from chatui.turns import summarizing
from chatui.turns.summarizing import Notes
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frame_kinds import ANALYSIS, BROKEN
from renderer.frames import Frame, Header, Role, Terminator
from renderer.summary import frame
from tests.chatui.turns.test_summarizing import STEP, TRUSTED, server_summary, stored_messages, watch
from tests.support.cases import for_each
from tests.support.cost import costs_at_most
from tests.support.scripted import ScriptedBackend, answer
from tests.support.summarizer import Summarizer, install, thinks

QUESTION = "How do I get to work fastest when it rains?"


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("**Comparing ways**\n\nLong words.\n\n**Weighing rain**\n\nMore.", ["Comparing ways", "Weighing rain"]),
        ("## Comparing ways\nLong words.", ["Comparing ways"]),
        ("Comparing ways.\nLong words.\n\nWeighing rain.", ["Comparing ways.", "Weighing rain."]),
        (" \n\n ", []),
        ("**" * 50, ["**" * 50]),
        ("\n\n".join("abc" for _ in range(100)), ["abc"] * 12),
    ],
)
def test_the_steps_in_a_servers_own_summary(text: str, steps: list[str]) -> None:
    assert summarizing.steps_in(text) == steps


def test_many_empty_lines_are_parsed_quickly() -> None:
    text = " \n" * 200_000 + "**Comparing ways**"
    assert summarizing.steps_in(text) == ["Comparing ways"]
    assert costs_at_most(1000, lambda: summarizing.steps_in(text))


@pytest.mark.parametrize(
    "text",
    [
        "**Comparing ways to travel**",
        "**Comparing ways to travel**\n\nI need to compare the ways. Maybe the user wants a train.",
        "Compared ways to travel\nWeighed the weather",
        "## Comparing ways",
        "Wege verglichen",
        "比较了几种方式",
        "방법을 비교했음",
        "Compared ways\n" * 12,
        "Compared ways\n\n" * 12,
        "**Compared ways**\n" * 12,
    ],
)
def test_headings_and_short_lines_are_a_summary(text: str) -> None:
    found = summarizing.read(text)
    assert not found.is_reasoning and found.steps


@pytest.mark.parametrize(
    "text",
    [
        "We need to compare ways.",
        "The user asks about trains",
        "Okay, trains.",
        "Compare trains\n\nHmm, but rain",
        "**The user wants a discount**\n\nMore.",
        "Compared ways. Then looked at the rain.",
        "Compared ways\n" * 13,
        "**Compared ways**\n" * 13,
        "Compared ways " * 20,
        "Der Nutzer fragt nach Zügen",
        "Wir vergleichen Wege",
        "用户想要火车",
        "사용자는 기차를 원한다",
    ],
)
def test_thinking_aloud_reads_like_reasoning(text: str) -> None:
    assert summarizing.read(text).is_reasoning


@for_each(
    [
        "Need to compare",
        "Compared what they should do",
        "A policy about trains",
        "Trains = fast",
        "Trains → fast",
        "Trains -> fast",
        "Trains?",
        "Then trains",
        "Le train, je crois",
        "Peut-être un train",
        "Usuario en tren",
        "Debería ir en tren",
        "Tengo un tren",
        "Forse un treno",
        "Dovrei prendere un treno",
        "Acho que um trem",
        "O usuário no trem",
        "De gebruiker in de trein",
        "Misschien een trein",
        "Användaren på tåget",
        "Brugeren i toget",
        "Użytkownika w pociągu",
        "Kullanıcının treni",
        "Pengguna naik kereta",
        "Talán egy vonat",
        "Vielleicht ein Zug",
        "Nutzende im Zug",
        "Мне поезд",
        "Пользователю поезд",
        "المستخدم في القطار",
        "ربما القطار",
        "המשתמש ברכבת",
        "उपयोगकर्ता ट्रेन में",
        "可能坐火车",
        "我坐火车",
        "등 우리가 기차",
        "ユーザーは電車",
        "たぶん電車",
    ]
)
def test_thinking_aloud_is_recognized_in_many_languages(line: str) -> None:
    assert summarizing.read(line).is_reasoning and summarizing.read(f"**{line}**").is_reasoning


@for_each(
    [
        ("x" * 140, False),
        ("x" * 141, True),
        ("Compared ways. ", False),
        ("Compared “ways.” Rain", True),
        ("比较了方式。 ", False),
        ("比较了方式。雨天", True),
        ("Compared 1.5 ways", False),
    ]
)
def test_a_line_of_a_summary_is_one_short_sentence(line: str, is_reasoning: bool) -> None:
    assert summarizing.read(line).is_reasoning is is_reasoning


@for_each(
    [
        ("#### Comparing ways", ["Comparing ways"], "\n"),
        ("  **Comparing ways** \nMore", ["Comparing ways"], "\n\nMore"),
        ("##### Comparing ways", ["##### Comparing ways"], ""),
        ("#Comparing ways", ["#Comparing ways"], ""),
        ("See **Comparing ways**", ["See **Comparing ways**"], ""),
        ("**a**", ["**a**"], ""),
        ("**ab**", ["ab"], "\n"),
        (f"**{'x' * 200}**", ["x" * 200], "\n"),
        (f"**{'x' * 201}**", [f"**{'x' * 201}**"], ""),
    ]
)
def test_what_counts_as_a_heading(text: str, steps: list[str], other_text: str) -> None:
    found = summarizing.read(text)
    assert (found.steps, found.other_text) == (steps, other_text)


def read(notes: Notes, *texts: str) -> list[str]:
    notes.open([Frame(Header(Role.USER), QUESTION)])
    return [step for text in texts for step in notes.server_steps(text)]


def test_reasoning_labelled_as_summary_is_hidden_before_any_line_is_judged() -> None:
    notes, line = Notes(is_trusted=True), "compare the ways to travel"
    assert read(notes, "**Comparing ways**") == ["Comparing ways"], "the premise: the server is believed"
    assert notes.judge("Looked at how to compare the ways to travel").reason is None, "the premise: the line passes"
    assert notes.server_steps(f"We {line}, so that she may choose.") == []
    assert notes.judge(f"Looked at how to {line}").reason is not None
    assert notes.server_steps("**Weighing the rain**") == [], "it is not believed again"


def test_the_text_under_a_heading_is_hidden() -> None:
    notes = Notes(is_trusted=True)
    assert read(notes, "**Comparing ways**\n\nlook at each of the ways there are in turn") == ["Comparing ways"]
    assert notes.judge("Comparing ways").reason is None
    assert notes.judge("Each of the ways there").reason is not None


@pytest.mark.parametrize("is_trusted", [True, False])
def test_an_untrusted_summary_is_hidden(is_trusted: bool) -> None:
    notes = Notes(is_trusted=is_trusted)
    notes.open([Frame(Header(Role.USER), QUESTION)])
    for event in (FrameOpened(frame.ASIDE), FrameText("look at each of the ways there are in turn"), FrameClosed(Terminator.END)):
        notes.feed(event)
    assert (notes.judge("Looked at each of the ways there are").reason is None) is is_trusted


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
async def test_a_trusted_server_that_sends_reasoning_shows_none_of_it(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, backend, None, **TRUSTED)
    gate = asyncio.Event()
    raw = "We need to weigh the travel time.\n\nCompared ways to work when it rains\n\nWeighed the travel time"
    backend.script = [*server_summary(raw), gate, *answer(thought="more")]
    watched = await watch(ada, gate, lambda: backend.waiting.is_set())
    assert watched.steps == []
    assert not await Message.objects.filter(name="reasoning_summary", is_visible=True).aexists()
    hidden = [message for message in await stored_messages(watched.turn) if message.name == "reasoning_summary"]
    assert "We need to weigh" in hidden[0].text, "the premise: it arrived, and staff can see it"


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
async def test_an_untrusted_servers_summary_is_replaced_by_a_summarizer(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, summarizer = asyncio.Event(), Summarizer(STEP, "none")
    install(monkeypatch, backend, summarizer)
    backend.script = [*server_summary("**Weighing the rain**"), *thinks(gate)]
    watched = await watch(ada, gate, lambda: summarizer.judged > 0)
    assert watched.steps == [STEP]


def test_a_summarizer_gets_reasoning_without_calls_or_staff_only_text() -> None:
    notes = Notes()
    for header in (ANALYSIS, BROKEN, Header(Role.ASSISTANT, "analysis", recipient="functions.look"), Header(Role.TOOL, name="look")):
        for event in (FrameOpened(header), FrameText(f"Written as {header.role}, {header.intent}, {header.recipient}."), FrameClosed(None)):
            notes.feed(event)
    request_text = notes.request(None, []).frames[-1].body
    assert request_text.endswith("## New notes\n\nWritten as assistant, None, None.")
