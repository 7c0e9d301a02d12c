"""Forms that a tool asks a person to fill in: what a flat schema becomes, which are refused, and what fits them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chatui.models.tools import CardKind, ToolApproval
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.tools.forms import MAX_CHOICES, MAX_FIELDS, FormError, answers_of
from tests.chatui.conftest import signed_in
from tests.chatui.store.long_conversations import long_conversation
from tests.support.cost import relative_cost
from tests.support.mcp_forms import NotAskedError, asked

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "As on the\nbadge", "minLength": 2, "maxLength": 10},
        "mail": {"type": "string", "format": "email"},
        "day": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "page": {"type": "string", "format": "uri"},
        "count": {"type": "integer", "minimum": 1, "maximum": 5, "default": 2},
        "share": {"type": "number"},
        "is_sure": {"type": "boolean"},
        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
        "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1},
    },
    "required": ["name", "count"],
}


def filled(*fields: str | Sequence[str]) -> dict[str, Any]:
    """What is sent for the fields in their order; what is not named is left empty."""
    given = [[each] if isinstance(each, str) else list(each) for each in fields]
    return dict(answers_of(asked("Order", SCHEMA), lambda number: given[number] if number < len(given) else []))


def test_a_form_has_texts_numbers_yes_or_no_and_choices() -> None:
    form = asked("Order", SCHEMA)
    assert [each.kind for each in form.fields] == [*["text"] * 5, "integer", "number", "boolean", "choice", "choice", "choices"]
    assert (form.fields[0].title, form.fields[0].about, form.fields[0].is_required) == ("Your name", "As on the badge", True)
    assert form.fields[8].choices == (("s", "Small"), ("l", "Large")) and form.fields[9].choices == (("r", "Red"), ("b", "Blue"))
    found = filled("Ann", "a@b.de", "2026-11-29", "2026-11-29T10:00+01:00", "https://x.de", "3", "0.5", "yes", "s", "b", ["a"])
    assert found == {
        "name": "Ann", "mail": "a@b.de", "day": "2026-11-29", "at": "2026-11-29T10:00:00+01:00", "page": "https://x.de", "count": 3,
        "share": 0.5, "is_sure": True, "size": "s", "colour": "b", "tags": ["a"],
    }  # fmt: skip
    assert filled("ab\r\nab\r\nabcd", "", "", "", "", "3")["name"] == "ab\nab\nabcd", "a line break is one character"
    assert filled("Ann", "", "", "", "", "3") == {"name": "Ann", "count": 3, "is_sure": False}, "what is empty is not sent"


@pytest.mark.parametrize(
    ("fields", "faults"),
    [
        ([], {0: "missing", 5: "missing"}),
        (["A", "no", "29.11.", "soon", "x", "6", "inf", "yes", "xl", "x", ["c"]], dict.fromkeys(sorted({*range(11)} - {7}), "invalid")),
        (["Ann", "", "", "", "", "1.5"], {5: "invalid"}),
        (["Ann", "", "", "", "", "1", "", "", "", "", ["a", "b"]], {10: "invalid"}),
        (["x" * 5000, "", "", "", "", "1"], {0: 10}),
        (["ab\r\nab\r\nabcde", "", "", "", "", "1"], {0: 10}),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_for_each_field(fields: list[Any], faults: dict[int, str]) -> None:
    with pytest.raises(FormError) as error:
        filled(*fields)
    assert error.value.faults == faults


def one(name: str, **schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string", **schema}}}


def beside_a_note(field: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"first": field, "note": {"type": "string"}}}


@pytest.mark.parametrize(
    ("message", "schema"),
    [
        ("Sign in", one("password")),
        ("Sign in", one("userPassword")),
        ("Sign in", one("x", title="API-Key")),
        ("Sign in", one("x", description="Paste your access token here")),
        ("Sign in", one("x", format="password")),
        ("Sign in", one("x", writeOnly=True)),
        ("Please type your password into the field", one("note")),
        ("Pay", one("card_number")),
        ("Pay", one("x", title="Card number", type="integer")),
        ("Pay", one("pin", type="integer")),
        ("Anmelden", one("x", title="Passwort")),
        ("登录", one("x", title="密码")),
        ("로그인", one("x", title="비밀번호")),
        ("Sign in", one("x", title="Ｐａｓｓｗｏｒｄ")),
        ("Your 𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝, please", one("note")),
        ("Your pass\u00adword, please", one("note")),
        ("Your pass\u200bword, please", one("note")),
        ("Sign in", beside_a_note({"type": "boolean", "title": "Write your password below"})),
        ("Sign in", beside_a_note({"enum": ["My password is below", "No"]})),
        ("x", {"type": "object", "properties": {"a": {"type": "object"}}}),
        ("x", {"type": "object", "properties": {"a": {"type": "string", "enum": list(map(str, range(MAX_CHOICES + 1)))}}}),
        ("x", {"type": "object", "properties": {str(number): {"type": "string"} for number in range(MAX_FIELDS + 1)}}),
        ("x", {"type": "object", "properties": {"a" * 1000: {"type": "string"}}}),
        (None, one("a")),
        ("x", None),
        ("x", one("a", title="Your p\u0430ssword")),
        ("x", one("a", title="Your pa\u0300ssw\u00f6rd")),
        ("x", one("a", title="\u0440\u0430\u0455\u0455 \u0420\u0406N")),
        ("x", one("a", description="\u03a1\u0399\u039d")),
        ("Your m\u043deuteronym", one("a")),
    ],
)
def test_secrets_and_what_is_no_flat_form_are_refused(message: Any, schema: Any) -> None:
    with pytest.raises(NotAskedError):
        asked(message, schema)


@pytest.mark.parametrize(
    "schema",
    [
        one("max_tokens", type="integer"),
        one("has_password", type="boolean"),
        one("kind", enum=["password", "key"]),
        one("keyboard"),
        beside_a_note({"enum": ["the keyboard", "the tokenizer"]}),
        one("secretary"),
        one("postcode"),
        one("a", title="\u0413\u043e\u0440\u043e\u0434 \u0438 \u0434\u0430\u0442\u0430"),
        one("a", title="\u03a0\u03cc\u03bb\u03b7"),
        one("a", title="Stra\u00dfe, Gr\u00f6\u00dfe"),
        one("a", title="\u540d\u524d Name \u540dA"),
        {"type": "object", "properties": {}},
    ],
)
def test_what_only_looks_like_a_secret_is_asked(schema: Any) -> None:
    assert asked("Which?", schema).message == "Which?"


def test_what_a_schema_says_is_bounded() -> None:
    """An integer of JSON that no float can hold is no limit, and a default that can be no choice is not kept."""
    huge = 10**400
    properties = {
        "count": {"type": "integer", "minimum": -huge, "maximum": huge, "default": huge},
        "tags": {"type": "array", "items": {"enum": ["a"]}, "default": ["x" * 10_000] * 100 + ["a"]},
        "text": {"type": "string", "minLength": huge, "default": ["x" * 10_000] * 100},
    }
    form = asked("Order", {"type": "object", "properties": properties})
    assert [(each.least, each.most) for each in form.fields] == [(None, None)] * 3
    assert len(form.model_dump_json()) < 2000


@pytest.mark.django_db
def test_the_page_has_the_limits_to_the_digit(ada: User) -> None:
    schema = {"type": "object", "properties": {"count": {"type": "integer", "minimum": 1234567, "maximum": 123456789012}}}
    row = long_conversation(ada, 2)
    turn = Turn.objects.filter(conversation=row).latest("pk")
    Turn.objects.filter(pk=turn.pk).update(state="running", lease_until=timezone.now() + timedelta(hours=1))
    about = {"kind": CardKind.FORM, "arguments": asked("Order", schema).model_dump_json()}
    ToolApproval.objects.create(turn=turn, call_id="c1", title="tickets", lapses_at=timezone.now() + timedelta(hours=1), **about)
    shown = signed_in(ada).get(f"/c/{row.pk}/turns/{turn.pk}/calls/").content.decode()
    assert 'min="1234567"' in shown and 'max="123456789012"' in shown


def test_only_the_beginning_of_a_servers_words_is_read_and_only_of_choices_that_fit(caplog: pytest.LogCaptureFixture) -> None:
    long = "é" * 5_000

    def form(count: int, **named: str) -> dict[str, Any]:
        return {"properties": {"a": {**named, "oneOf": [{"const": str(number), **named} for number in range(count)]}}}

    shown = asked("Which?", form(MAX_CHOICES, title=long, description=long)).fields[0]
    assert len(shown.choices) == MAX_CHOICES and max(map(len, [shown.title, shown.about, *(name for _, name in shown.choices)])) < 500
    cut, short = form(MAX_CHOICES, title=long), form(MAX_CHOICES, title=long[:400], other=long[400:])
    assert relative_cost(lambda: asked("Which?", cut), lambda: asked("Which?", short), pairs=5) < 1.5
    with pytest.raises(NotAskedError):
        asked("Which?", form(MAX_CHOICES + 1, title=long))
    assert "more than 50" in caplog.text
