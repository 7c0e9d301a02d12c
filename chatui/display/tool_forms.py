"""Prepares the forms that tools ask people to fill in: for the conversation's owner, under the name of the server that asks, or as the
model's own questions.

All words of the asker's are plain text, with nothing invisible in them. What was filled in is stored for the asker, and shown to the owner
again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatui.models.tools import Decision, ToolApproval
from chatui.tools.ask_person import IN_OWN_WORDS
from chatui.tools.forms import Form, FormError, FormField, answers_of
from renderer.characters import escape
from renderer.gate import VisibleText, approval_text

Filled = Callable[[int], Sequence[str]]
"""The texts that were sent for the field with that number."""

BY_WORD = {"send": Decision.ANSWERED, "decline": Decision.DECLINED, "cancel": Decision.CANCELED}
LONG_CHARS = 200
"""A text that may be longer than this has several lines."""
FEW_CHOICES = 8
"""So many of which one may be chosen are all shown at once."""


@dataclass(frozen=True, slots=True)
class ShownChoice:
    value: str = field(repr=False)
    label: VisibleText = field(repr=False)
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class ShownFormField:
    """A field of a form."""

    number: int
    kind: str
    """The type of the page's element."""
    label: VisibleText = field(repr=False)
    about: VisibleText = field(repr=False)
    is_required: bool
    choices: tuple[ShownChoice, ...]
    default: str = field(repr=False)
    least: str = ""
    most: str = ""
    """Like ``least``, as an attribute of the element; empty if there is none."""
    step: str = ""
    mark: str = ""
    """The number by which sentences name it; empty in a form with one field."""


@dataclass(frozen=True, slots=True)
class ShownFormAnswer:
    label: VisibleText = field(repr=False)
    text: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class ShownForm:
    """A form."""

    id: str
    title: VisibleText
    """The server that asks; empty if it is the model."""
    asks: VisibleText = field(repr=False)
    fields: tuple[ShownFormField, ...] = field(repr=False)
    outcome: str
    """What became of it, in words; empty while it waits."""
    answers: tuple[ShownFormAnswer, ...] = field(repr=False)
    """What was sent."""
    hint: str = ""

    @property
    def is_form(self) -> bool:
        """Tells it from other cards, in a template."""
        return True

    @property
    def outcomes(self) -> dict[str, str]:
        """What the card says after each decision, by the word that is sent for it."""
        return {word: _outcome(decision) for word, decision in BY_WORD.items()}


def shown(row: ToolApproval, ended: str, seconds_left: float) -> ShownForm:
    """The form of a row. ``ended``: why it cannot be answered any more, for translation; empty if it can."""
    form = Form.model_validate_json(row.arguments)
    values: dict[str, Any] = json.loads(row.answer or "{}")
    answers = [ShownFormAnswer(_label(each), _plain(_written(values[each.name]))) for each in form.fields if each.name in values]
    return ShownForm(
        id=str(row.pk),
        title=_plain(row.title),
        asks=_plain(form.message),
        fields=tuple(_field(number, each, is_one=len(form.fields) == 1) for number, each in enumerate(form.fields)),
        outcome=_(ended) if ended else _outcome(Decision(row.decision)),
        answers=tuple(answers),
        hint=_hint(seconds_left),
    )


def answer(row: ToolApproval, filled: Filled) -> str:
    """What was filled in, as it is stored. Raises FormError if it does not fit."""
    return json.dumps(answers_of(Form.model_validate_json(row.arguments), filled))


def faults_in_words(error: FormError) -> str:
    """What is wrong with what was filled in, by the places of the fields."""
    missing = [str(number + 1) for number, fault in sorted(error.faults.items()) if fault == "missing"]
    invalid = [str(number + 1) for number, fault in sorted(error.faults.items()) if fault == "invalid"]
    long = [(number + 1, fault) for number, fault in sorted(error.faults.items()) if isinstance(fault, int)]
    too_long = _("What is in field %(number)s is too long: it may have at most %(most)s characters.")
    sentences = [
        _("Please fill in field %(numbers)s.") % {"numbers": ", ".join(missing)} if missing else "",
        _("What is in field %(numbers)s does not fit.") % {"numbers": ", ".join(invalid)} if invalid else "",
        *(too_long % {"number": number, "most": number_format(most, force_grouping=True)} for number, most in long),
    ]
    return " ".join(filter(None, sentences))


def _outcome(decision: Decision) -> str:
    return {
        Decision.ANSWERED: _("You sent your answer."),
        Decision.DECLINED: _("You declined to answer."),
        Decision.CANCELED: _("You closed the form without an answer."),
        Decision.LAPSED: _("Nobody answered in time, so nothing was sent."),
    }.get(decision, "")


def _hint(seconds_left: float) -> str:
    """What happens without an answer, as coarse as for calls."""
    minutes = max(1, round(seconds_left / 60))
    words = ngettext(
        "Without an answer, the form is closed in %(count)d minute.",
        "Without an answer, the form is closed in %(count)d minutes.",
        minutes,
    )
    return words % {"count": minutes}


_KINDS = {"email": "email", "uri": "url", "date": "date", "date-time": "datetime-local"}


def _field(number: int, given: FormField, *, is_one: bool) -> ShownFormField:
    chosen = given.default if isinstance(given.default, list) else [given.default]
    is_number = given.kind in ("number", "integer")
    is_few = given.kind == "choice" and len(given.choices) <= FEW_CHOICES
    is_long = given.kind == "text" and not given.format and (given.most is None or given.most > LONG_CHARS)
    limits = ("", "") if given.kind == "choices" else tuple("" if each is None else f"{each:.15g}" for each in (given.least, given.most))
    return ShownFormField(
        number=number,
        kind="number" if is_number else "long" if is_long else "few" if is_few else _KINDS.get(given.format, given.kind),
        label=_label(given),
        about=_plain(given.about),
        is_required=given.is_required,
        choices=tuple(ShownChoice(value, _plain(label), value in chosen) for value, label in given.choices),
        default="yes" if given.default is True else "" if given.default in (None, False) else escape(str(given.default)),
        least=limits[0],
        most=limits[1],
        step="" if not is_number else "1" if given.kind == "integer" else "any",
        mark="" if is_one else f"{number + 1}. ",
    )


def _label(given: FormField) -> VisibleText:
    if not given.title and given.name == IN_OWN_WORDS:
        return _plain(_("In your own words"))
    return _plain(given.title or given.name.replace("_", " "))


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    return ", ".join(value) if isinstance(value, list) else str(value)


def _plain(text: str) -> VisibleText:
    return approval_text(escape(text, is_prose=True))
