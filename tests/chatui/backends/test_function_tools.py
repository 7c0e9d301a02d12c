"""How the history's calls are named and written for servers that know only functions."""

from __future__ import annotations

import pytest

from chatui.backends.answer_format import as_json, function_call
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.harmony.prompt import FunctionTool


def called(recipient: str | None, body: str, constrain: str | None = None) -> tuple[str, str]:
    header = Header(Role.ASSISTANT, Channel.COMMENTARY, recipient=recipient, call_id="c1", constrain=constrain)
    return function_call(Frame(header, body, Terminator.CALL))


@pytest.mark.parametrize(
    ("recipient", "body", "constrain", "sent"),
    [
        ("functions.look", '{"q": 1}', "json", ("look", '{"q": 1}')),
        ("functions.look", "{oops", "json", ("look", "{}")),
        ("functions.functions.look", "{}", None, ("functions.look", "{}")),
        ("browser.search", '{"q": 1}', None, ("browser_search", '{"q": 1}')),
        ("browser.search", "code", None, ("browser_search", "{}")),
        ("a.b.c", "{}", None, ("a_b_c", "{}")),
        ("python", 'print("größe")', None, ("run_python", '{"code": "print(\\"größe\\")"}')),
        ("python", '{"code": "1"}', None, ("run_python", '{"code": "{\\"code\\": \\"1\\"}"}')),
        ("python", '{"code": "1"}', "JSON", ("run_python", '{"code": "1"}')),
        ("python", "1", "json", ("run_python", "{}")),
        ("functions.python", "{}", None, ("python", "{}")),
        (None, "{}", None, ("", "{}")),
    ],
)
def test_a_call_has_the_name_and_the_arguments_of_a_function(
    recipient: str | None, body: str, constrain: str | None, sent: tuple[str, str]
) -> None:
    assert called(recipient, body, constrain) == sent


def test_a_function_is_described_with_its_parameters() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    assert as_json(FunctionTool("look", "Looks.", schema)) == {"name": "look", "description": "Looks.", "parameters": schema}
