"""The kind of a frame follows from its header alone, and agrees with the gate for every possible header."""

from dataclasses import replace
from itertools import product

import pytest

from renderer.frame_kinds import (
    ANALYSIS,
    ANSWER,
    BROKEN,
    DOCUMENT,
    NOTES,
    PREAMBLE,
    PRODUCT_NAMES,
    SUMMARY,
    TOOL_LINE,
    addresses_tool,
    is_answer,
    is_document,
    is_json,
    is_preamble,
    is_reasoning,
    is_tool_line,
)
from renderer.frames import Channel, Frame, Header, Intent, Role
from renderer.gate import Audience, may_see
from renderer.history import frames_for_prompt
from renderer.ocml.document import dump_frame

USER = Audience.END_USER

HEADERS = [
    Header(role, channel, recipient, intent=intent)
    for role, channel, recipient, intent in product(
        [*Role, "critic"],
        [None, *Channel, "aside"],
        [None, "user", "all", "assistant", "functions.f", "python", "User", ""],
        [None, *Intent, "whisper"],
    )
]


def test_an_answer_is_visible_text_of_an_assistant_and_not_a_preamble() -> None:
    assert any(map(is_answer, HEADERS)) and not all(map(is_answer, HEADERS)), "the premise"
    for header in HEADERS:
        seen = header.role == Role.ASSISTANT and may_see(header, Audience.END_USER)
        assert is_answer(header) == (seen and not is_preamble(header)), header


def test_a_trusted_program_also_sees_raw_reasoning_and_nothing_else_that_is_hidden() -> None:
    seen = {audience: [header for header in HEADERS if may_see(header, audience)] for audience in Audience}
    assert seen[Audience.PROGRAM] == seen[Audience.END_USER], "none of these is the line of a tool"
    assert set(seen[Audience.PROGRAM]) < set(seen[Audience.TRUSTED_PROGRAM])
    reasoning = [Header(Role.ASSISTANT, Channel.ANALYSIS, recipient) for recipient in (None, "user", "all")]
    assert [header for header in seen[Audience.TRUSTED_PROGRAM] if header not in seen[Audience.PROGRAM]] == reasoning
    assert list(filter(is_reasoning, HEADERS)) == reasoning


def test_an_assistant_addresses_a_tool_by_any_recipient_but_people_and_itself() -> None:
    for header in HEADERS:
        to_tool = header.recipient in ("functions.f", "python", "User", "")
        assert addresses_tool(header) == (header.role == Role.ASSISTANT and to_tool), header


def test_only_a_users_frame_can_be_a_document() -> None:
    assert is_document(DOCUMENT)
    assert not any(is_document(replace(DOCUMENT, role=role)) for role in (*Role, "critic") if role != Role.USER)
    assert not any(map(is_document, HEADERS))


def test_frames_that_the_product_writes_for_people_are_recognized_by_their_name() -> None:
    assert {SUMMARY.name, TOOL_LINE.name} == PRODUCT_NAMES and is_tool_line(TOOL_LINE)
    for header in (SUMMARY, TOOL_LINE):
        assert frames_for_prompt([Frame(Header(Role.USER), "Why?"), Frame(header, "Looking it up")]) == (Frame(Header(Role.USER), "Why?"),)


@pytest.mark.parametrize(
    ("header", "written"),
    [
        (ANSWER, "assistant<|channel|>final"),
        (PREAMBLE, "assistant intent=preamble<|channel|>commentary"),
        (ANALYSIS, "assistant<|channel|>analysis"),
        (BROKEN, "assistant intent=debug<|channel|>analysis"),
        (SUMMARY, "assistant name=reasoning_summary intent=preamble<|channel|>commentary"),
        (TOOL_LINE, "assistant name=tool_activity intent=preamble<|channel|>commentary"),
        (NOTES, "user<|channel|>commentary"),
        (DOCUMENT, "user name=document content_type=text"),
    ],
)
def test_each_well_known_header_stays_as_conversations_have_it_in_the_database(header: Header, written: str) -> None:
    assert dump_frame(Frame(header, "")) == f"<|start|>{written}<|message|><|end|>"


def test_only_a_visible_well_known_header_is_for_people() -> None:
    hidden = [header for header in (ANSWER, PREAMBLE, ANALYSIS, BROKEN, SUMMARY, TOOL_LINE, NOTES, DOCUMENT) if not may_see(header, USER)]
    assert hidden == [ANALYSIS, BROKEN, NOTES, DOCUMENT]
    assert may_see(ANALYSIS, Audience.TRUSTED_PROGRAM) and not may_see(BROKEN, Audience.TRUSTED_PROGRAM)


@pytest.mark.parametrize(
    ("constrain", "expected"), [("json", True), ("JSON", True), ("Json", True), (None, False), ("text", False), ("jsonl", False)]
)
def test_a_body_is_json_if_its_constraint_says_so_in_any_case(constrain: str | None, expected: bool) -> None:
    assert is_json(Header(Role.ASSISTANT, Channel.FINAL, content_type="json", constrain=constrain)) is expected


def test_the_line_about_a_tool_has_the_whole_header_of_one() -> None:
    assert not any(map(is_tool_line, (replace(TOOL_LINE, intent=None), replace(TOOL_LINE, channel=None), replace(TOOL_LINE, role="user"))))
