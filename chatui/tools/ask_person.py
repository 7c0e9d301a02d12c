"""The tool ``ask_person``: the model asks the person up to four things at once, in a form below its text, and the answers are the reply.

It is the only tool whose arguments people see: its questions are for them. So nothing of a call is shown but the fields that are read here,
each of bounded length, as plain text, after the guard that an answer passes, too (``turns.calls.person``). The form is that of tool servers
(``tools.forms``), and the rules of such a form hold: nobody is asked for a secret, and nothing has to be filled in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from chatui.json_schemas import UnusableError
from chatui.tools.execution import waiting_for_person
from chatui.tools.forms import Form, FormField, check_no_secret, secret_in
from chatui.tools.person import THE_MODEL, FormAnswer
from chatui.tools.tool import CallingTurn, Tool, ToolError
from renderer.characters import is_seen, one_line

NAME = "ask_person"
MAX_QUESTIONS = 4
MAX_CHOICES = 8
QUESTION_CHARS = 300
CHOICE_CHARS = 100
ANSWER_CHARS = 1000
IN_OWN_WORDS = "in_own_words"
"""The field in which the person may say something that is no choice. The page has words for it."""

_DECLINED = "The person declined to answer. Do not ask the same again. Go on without it, or say what you would need."
_NO_ANSWER = "No answer came. Do not ask the same again. Go on without it, and say what you assume."


def form_of(arguments: Mapping[str, Any]) -> Form:
    """The form for a call, whose arguments fit the tool's schema.

    Raises:
        ToolError: it asks for a secret, or a question or a choice has nothing that can be read.
    """
    asked = arguments["questions"]
    form = Form(message="", fields=tuple(_field(number, each) for number, each in enumerate(asked)))
    if any(each.choices for each in form.fields):
        with_own = Form(message="", fields=(*form.fields, FormField(name=IN_OWN_WORDS, kind="text", most=ANSWER_CHARS)))
        # "Password or key?" may be chosen. Where the words are about a secret, there is no place to write it.
        form = form if secret_in(with_own) is not None else with_own
    try:
        check_no_secret(form)
    except UnusableError as error:
        raise ToolError(f"Nobody was asked: {error}.") from None
    return form


def _field(number: int, asked: Mapping[str, Any]) -> FormField:
    about: dict[str, Any] = {"name": f"question_{number}", "title": _readable(asked["question"])}
    choices = dict.fromkeys(_readable(each) for each in asked.get("choices", ()))
    if not choices:
        return FormField(**about, kind="text", most=ANSWER_CHARS)
    return FormField(**about, kind="choices" if asked.get("several") else "choice", choices=tuple((each, each) for each in choices))


def _readable(text: str) -> str:
    if not is_seen(line := one_line(text)):
        raise ToolError("Nobody was asked: a question or a choice is empty.")
    return line


def _begin(turn: CallingTurn) -> Callable[[Mapping[str, Any]], Any]:
    async def call(arguments: Mapping[str, Any]) -> dict[str, Any]:
        if turn.person is None:
            raise ToolError("Nobody is there to be asked.")
        form = form_of(arguments)
        with waiting_for_person():
            answer = await turn.person.ask(THE_MODEL, form)
        return _for_model(form, answer)

    return call


def _for_model(form: Form, answer: FormAnswer) -> dict[str, Any]:
    """What the model is told of an answer; null where nothing was filled in."""
    if answer.action != "accept":
        return {"answered": False, "note": _DECLINED if answer.action == "decline" else _NO_ANSWER}
    questions = [each for each in form.fields if each.name != IN_OWN_WORDS]
    reply: dict[str, Any] = {
        "answered": True,
        "answers": [{"question": each.title, "answer": answer.values.get(each.name)} for each in questions],
    }
    return {**reply, **({IN_OWN_WORDS: answer.values[IN_OWN_WORDS]} if IN_OWN_WORDS in answer.values else {})}


ASK = Tool(
    name=NAME,
    description=(
        "Asks the person up to four short questions at once, as a form, and waits for the answers. Use it only if the answer would be "
        "useless without them, and ask all of it in one call. The person sees the questions and choices, and may add their own words."
    ),
    parameters={
        "type": "object",
        "properties": {
            "questions": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_QUESTIONS,
                "items": {
                    "type": "object",
                    "properties": {
                        "question": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": QUESTION_CHARS,
                            "description": "One question, in the person's language",
                        },
                        "choices": {
                            "type": "array",
                            "minItems": 2,
                            "maxItems": MAX_CHOICES,
                            "items": {"type": "string", "minLength": 1, "maxLength": CHOICE_CHARS},
                            "description": "What can be chosen; without it, the person writes",
                        },
                        "several": {"type": "boolean", "description": "Whether several choices may be chosen"},
                    },
                    "required": ["question"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["questions"],
        "additionalProperties": False,
    },
    is_async=True,
    source="chatui",
    begin=_begin,
    title="Ask questions",
    reads_private_data=False,
    sends_outside=False,
    needs_person=True,
)
