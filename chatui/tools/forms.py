"""Forms that a tool asks a person to fill in: texts, numbers, yes or no, and choices, in one flat list.

A form is read from a flat JSON Schema, as MCP's elicitation has it (specification of 2025-11-25). A form that asks for a secret is refused:
whoever knows the rule can get round it, so the page warns as well, and no field of it is one that hides what is typed.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, TypeGuard

from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field

from chatui.json_schemas import UnusableError, listed_in, mapping
from chatui.tools.replies import in_middle
from renderer.characters import one_line

MAX_FIELDS = 20
MAX_CHOICES = 50
MESSAGE_CHARS = 2000
NAME_CHARS = 100
ABOUT_CHARS = 300
ANSWER_CHARS = 4000

Value = str | int | float | bool | list[str]


class FormField(BaseModel):
    """One thing that is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """The asker's."""
    kind: Literal["text", "number", "integer", "boolean", "choice", "choices"]
    title: str = ""
    about: str = ""
    is_required: bool = False
    format: Literal["", "email", "uri", "date", "date-time"] = ""
    choices: tuple[tuple[str, str], ...] = ()
    """Value and label of each."""
    least: float | None = None
    most: float | None = None
    """As ``least``: of a number, of the length of a text, or of how many may be chosen."""
    default: Any = None


class Form(BaseModel):
    """What a person is asked. ``message``: the asker's words. Without fields it is a question that is answered by sending it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    message: str = Field(repr=False)
    fields: tuple[FormField, ...] = Field((), repr=False)


class FormError(Exception):
    """What was filled in does not fit. ``faults``: what is wrong, by the number of the field; of a text that is too long, how many
    characters it may have."""

    def __init__(self, faults: Mapping[int, Literal["missing", "invalid"] | int]) -> None:
        super().__init__("the form is not filled in as asked")
        self.faults = faults


class TextTooLongError(ValueError):
    """A text has more than ``most`` characters."""

    def __init__(self, most: int) -> None:
        super().__init__("too long")
        self.most = most


def form_of(message: object, schema: object) -> Form:
    """The form that a flat schema describes.

    Raises:
        UnusableError: it is none, is too large, or asks for a secret.
    """
    properties = mapping(schema, "properties") if isinstance(schema, Mapping) else None
    if not isinstance(message, str) or properties is None:
        raise UnusableError("the form has no message or no schema")
    if len(properties) > MAX_FIELDS:
        raise UnusableError(f"the form has more than {MAX_FIELDS} fields")
    required = listed_in(schema, "required") if isinstance(schema, Mapping) else []
    fields = tuple(_field(name, each, is_required=name in required) for name, each in properties.items())
    form = Form(message=in_middle(message, MESSAGE_CHARS), fields=fields)
    check_no_secret(form)
    return form


def check_no_secret(form: Form) -> None:
    """Raises UnusableError if it asks for a secret."""
    if (asked := secret_in(form)) is not None:
        raise UnusableError(f"the form asks for a secret ({asked}), and people are never asked for secrets")


def _field(name: object, schema: object, *, is_required: bool) -> FormField:
    if not isinstance(name, str) or not isinstance(schema, Mapping) or len(name) > NAME_CHARS:
        raise UnusableError("a field of the form is no schema, or its name is too long")
    if schema.get("format") == "password" or schema.get("writeOnly") is True:
        raise UnusableError("the form asks for a secret, and people are never asked for secrets")
    about: dict[str, Any] = {"name": name, "is_required": is_required, "default": _plain(schema.get("default"))}
    for ours, theirs, most in (("title", "title", NAME_CHARS), ("about", "description", ABOUT_CHARS)):
        if isinstance(schema.get(theirs), str):
            about[ours] = one_line(schema[theirs][: 4 * most])[:most]
    return FormField(**_kind(schema), **about)


def _kind(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What kind of field it is, with the limits of that."""
    match schema.get("type"):
        case "array":
            return {"kind": "choices", "choices": _choices(mapping(schema, "items")), **_limits(schema, "minItems", "maxItems")}
        case None | "string" if "enum" in schema or "oneOf" in schema:
            return {"kind": "choice", "choices": _choices(schema)}
        case "string":
            known = schema.get("format") if schema.get("format") in ("email", "uri", "date", "date-time") else ""
            return {"kind": "text", "format": known, **_limits(schema, "minLength", "maxLength")}
        case "number" | "integer" as kind:
            return {"kind": kind, **_limits(schema, "minimum", "maximum")}
        case "boolean":
            return {"kind": "boolean"}
    raise UnusableError("a field of the form is neither a text, a number, yes or no, nor a choice")


def _choices(schema: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    named = listed_in(schema, "oneOf") or listed_in(schema, "anyOf")
    if named:
        found = [(each.get("const"), each.get("title")) for each in named if isinstance(each, Mapping)]
    else:
        titles = listed_in(schema, "enumNames")
        found = [(value, titles[at] if at < len(titles) else value) for at, value in enumerate(listed_in(schema, "enum"))]
    texts = [(value, label) for value, label in found if isinstance(value, str)]
    if not 0 < len(texts) <= MAX_CHOICES or len(texts) != len(found) or any(len(value) > ABOUT_CHARS for value, _ in texts):
        raise UnusableError(f"a choice of the form has no texts to choose from, or more than {MAX_CHOICES}")
    return tuple((value, one_line(label[: 4 * NAME_CHARS])[:NAME_CHARS] if isinstance(label, str) else value) for value, label in texts)


def _limits(schema: Mapping[str, Any], least: str, most: str) -> dict[str, Any]:
    found = {"least": schema.get(least), "most": schema.get(most)}
    return {name: value for name, value in found.items() if is_number(value)}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value[:ANSWER_CHARS]
    if isinstance(value, list):
        # A longer text is no choice, see ``_choices``.
        return [each for each in value[:MAX_CHOICES] if isinstance(each, str) and len(each) <= ABOUT_CHARS]
    return value if isinstance(value, bool) or is_number(value) else None


MAX_NUMBER = 1e300
"""JSON has integers that no float can hold. Comparing does not convert them, and so never fails."""


def is_number(value: object) -> TypeGuard[float]:
    """Whether a server's value is a finite number that can be calculated with."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -MAX_NUMBER <= value <= MAX_NUMBER


_SECRETS = re.compile(
    r"\b(?:passw(?:or)?ds?|passphrases?|passcodes?|secrets?|(?:access |auth |bearer |session |refresh |id |api )?tokens?|api ?keys?"
    r"|(?:private|secret|access|ssh|pgp|gpg|encryption|license) keys?|credentials?|pins?|otp|totp|mfa|2fa|(?:one time|recovery|security|"
    r"verification|backup|sms) codes?|cvv2?|cvc2?|csc|(?:credit|debit|bank)? ?card numbers?|card (?:no|nr)|iban|account numbers?|ssn|"
    r"social security|seed phrases?|mnemonics?|pass?wort|kennw[oö]rt(?:er)?|passw[oö]rt(?:er)?|zugangsdaten|geheimzahl|kartennummer)\b"
    r"|密码|口令|密钥|验证码|令牌|卡号|银行卡|비밀번호|암호|인증번호|인증 ?코드|카드 ?번호|토큰|시크릿|계좌 ?번호"
)
_NUMBERED = re.compile(
    r"\b(?:pins?|otp|totp|cvv2?|cvc2?|csc|ssn|codes?|card|iban|account numbers?|geheimzahl|kartennummer)\b|码|卡号|번호|코드"
)
"""What of them is a number: a number of tokens is none."""
_UNWRITTEN = ("boolean", "choice", "choices")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def secret_in(form: Form) -> str | None:
    """The words by which a form asks for a secret; None if it does not seem to.

    All words are read: those of a field for a number, only for secrets that are numbers. A form of nothing but yes or no and choices can
    hold none; beside a field that can, their words may ask for what is to be written there.
    """
    numbers = [_words(field) for field in form.fields if field.kind in ("number", "integer")]
    texts = [form.message, *(_words(field) for field in form.fields if field.kind not in ("number", "integer"))]
    if not numbers and all(field.kind in _UNWRITTEN for field in form.fields):
        return None
    for words, pattern in (*((words, _SECRETS) for words in texts), *((words, _NUMBERED) for words in numbers)):
        # As people read it: letters that only look different, marks on them, and invisible characters between them, hide no word.
        seen = _without_marks(one_line(unicodedata.normalize("NFKC", words)))
        if mixed := _mixed_word(seen):
            return mixed
        for value in (seen, *_looks_like(seen)):
            plain = re.sub(r"[\W_]+", " ", _HUMP.sub(" ", value)).lower()
            if found := pattern.search(plain):
                return found[0].strip()
    return None


def _words(field: FormField) -> str:
    return " ".join((field.name, field.title, field.about, *(text for choice in field.choices for text in choice)))


_ALPHABETS = frozenset({"LATIN", "CYRILLIC", "GREEK", "COPTIC", "ARMENIAN", "CHEROKEE", "LISU", "GEORGIAN"})
"""Scripts with letters that look like those of another. No honest word mixes them."""


def _without_marks(text: str) -> str:
    bare = "".join(each for each in unicodedata.normalize("NFD", text) if unicodedata.category(each) not in ("Mn", "Me"))
    return unicodedata.normalize("NFC", bare)


def _mixed_word(text: str) -> str:
    """The first word of letters of several alphabets, which can only be there to look like another word; empty if there is none."""
    for word in re.findall(r"[^\W\d_]+", text) if not text.isascii() else ():
        if len({unicodedata.name(each, "").partition(" ")[0] for each in word} & _ALPHABETS) > 1:
            return str(word)
    return ""


def _looks_like(text: str) -> tuple[str, ...]:
    """The text in the letters that its letters look like: a whole word of another alphabet may look like one of ours."""
    if text.isascii():
        return ()
    from chatui.skeletons import skeleton  # takes 7 MB

    # What looks like an m is written as its two halves there, and a capital I as a small l.
    small, written = (skeleton(each).replace("rn", "m") for each in (text.lower(), text))
    return small, written, written.replace("l", "i")


def answers_of(form: Form, given: Callable[[int], Sequence[str]]) -> dict[str, Value]:
    """What was filled in, by the asker's names. ``given``: the texts that were sent for the field with that number.

    Raises:
        FormError: it does not fit the form.
    """
    answers: dict[str, Value] = {}
    faults: dict[int, Literal["missing", "invalid"] | int] = {}
    for number, each in enumerate(form.fields):
        try:
            # Browsers send a line break as two characters, and people count it as one.
            answers.update((each.name, value) for value in _values(each, [text.strip().replace("\r\n", "\n") for text in given(number)]))
        except TextTooLongError as error:
            faults[number] = error.most
            continue
        except ValueError:
            faults[number] = "invalid"
            continue
        if each.is_required and each.name not in answers:
            faults[number] = "missing"
    if faults:
        raise FormError(faults)
    return answers


def written(value: Value) -> str:
    """A value as text, for the model or a record. A page has its own words for yes and no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)


def _values(field: FormField, texts: Sequence[str]) -> Iterator[Value]:
    """The value of a field; none if it was left empty. Raises ValueError if it does not fit."""
    text = texts[0] if texts else ""
    if field.kind == "boolean":
        yield text == "yes"
    elif field.kind == "choices":
        chosen = [each for each in texts if each]
        if any(each not in dict(field.choices) for each in chosen):
            raise ValueError("no such choice")
        if chosen:
            _check(len(chosen), field)
            yield chosen
    elif text:
        yield _value(field, text)


def _value(field: FormField, text: str) -> Value:
    if field.kind == "choice":
        if text not in dict(field.choices):
            raise ValueError("no such choice")
        return text
    if field.kind == "integer":
        return int(_check(int(text[:30]), field))
    if field.kind == "number":
        return _check(float(text[:50]), field)
    most = ANSWER_CHARS if field.most is None else int(min(ANSWER_CHARS, field.most))
    if len(text) > most:
        raise TextTooLongError(most)
    _check(len(text), field)
    return _FORMATS.get(field.format, str)(text)


def _check(size: float, field: FormField) -> float:
    if (
        not math.isfinite(size)
        or size < (size if field.least is None else field.least)
        or size > (size if field.most is None else field.most)
    ):
        raise ValueError("out of range")
    return size


def _email(text: str) -> str:
    if not re.fullmatch(r"[^@\s]+@[^@\s]+", text):
        raise ValueError("no address")
    return text


def _uri(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:\S+", text):
        raise ValueError("no address")
    return text


def _moment(text: str) -> str:
    found = datetime.fromisoformat(text)
    # A page's field has no time zone: it is the person's.
    return (found if found.tzinfo else found.replace(tzinfo=timezone.get_current_timezone())).isoformat()


_FORMATS: Mapping[str, Callable[[str], str]] = {
    "email": _email,
    "uri": _uri,
    "date": lambda text: date.fromisoformat(text).isoformat(),
    "date-time": _moment,
}
