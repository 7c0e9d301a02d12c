"""The rules for new passwords, after NIST SP 800-63B-4: long, not easily guessed, any characters.

Not everybody has a second factor, so a password has at least 15 characters. Spaces and all scripts are allowed; the maximum is longer than
anybody would type, and passwords do not expire.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Any

from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatui.env import environment

MIN_CHARS = 15
SERVICE = ("chatui", "gptoss", "chatgpt", "openai")
"""Names that anybody who sees the page knows."""

_MIN_NAME_CHARS = 3
_MIN_REMAINING_CHARS = 8
_CHECKED_CHARS = 512  # searching for repetitions takes quadratic time
_KEYBOARD_ROWS = ("abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm", "azertyuiopqsdfghjklmwxcvbn")
_DIGITS = "1234567890"


class LengthValidator:
    """Requires a minimum length; each character counts as one, in any script."""

    def validate(self, password: str, user: object = None) -> None:
        """Raises ValidationError if the password is too short, with its length and the minimum."""
        chars = len(_normalized(password))
        if chars < MIN_CHARS:
            raise ValidationError(
                ngettext(
                    "This password has %(count)d character; it needs at least %(least)d. A few words with spaces between them are easy "
                    "to remember.",
                    "This password has %(count)d characters; it needs at least %(least)d. A few words with spaces between them are easy "
                    "to remember.",
                    chars,
                )
                % {"count": chars, "least": MIN_CHARS},
                code="password_too_short",
            )

    def get_help_text(self) -> str:
        words = _("At least %(count)d characters. Spaces and letters of any alphabet are allowed; a few words are easy to remember.")
        return words % {"count": MIN_CHARS}


class PredictablePasswordValidator:
    """Rejects what an attacker tries first: common passwords, patterns, and variations of the person's or the service's names."""

    def validate(self, password: str, user: object = None) -> None:
        """Raises ValidationError with the reason."""
        text = _normalized(password).casefold()[:_CHECKED_CHARS]
        letters = "".join(filter(str.isalnum, text))
        if text in _common() or _repeated_word(letters) in _common():
            raise ValidationError(_("This is a common password, which attackers try first."), code="password_too_common")
        is_mostly_marks = len(letters) * 2 < len(text)
        if _is_pattern("".join(text.split()) if is_mostly_marks else letters):
            raise ValidationError(_("This password is a pattern: it repeats itself or follows the keyboard."), code="password_pattern")
        if _is_little_but_names(letters, user):
            words = _("This password consists of your name, your address or the name of this service.")
            raise ValidationError(words, code="password_too_similar")

    def get_help_text(self) -> str:
        return _("Not a common password, not a pattern, and not just your name or the name of this service.")


def _normalized(password: str) -> str:
    return unicodedata.normalize("NFKC", password)


@cache
def _common() -> frozenset[str]:
    return frozenset(CommonPasswordValidator().passwords)


def _repeated(text: str) -> str:
    """The shortest prefix that the whole text repeats (the last repetition may be incomplete), else the text itself."""
    size = next((size for size in range(1, len(text) // 2 + 1) if text[size:] == text[:-size]), len(text))
    return text[:size]


def _repeated_word(letters: str) -> str:
    """The word that they repeat, without digits around it: ``password`` for ``password1password1`` and for ``password2026``."""
    unit = _repeated(letters)
    without_digits = re.sub(r"^\d+|\d+$", "", unit)
    return _repeated(without_digits)


def _is_pattern(letters: str) -> bool:
    """Whether it repeats a short text, or follows the alphabet, the digits or a keyboard row."""
    unit = _repeated(letters)
    return (unit != letters and len(unit) < MIN_CHARS) or not unit or any(unit in line or unit in line[::-1] for line in _sequences())


@cache
def _sequences() -> tuple[str, ...]:
    rows = [_DIGITS * 4, "0" + _DIGITS * 4, *(row * 2 for row in _KEYBOARD_ROWS)]
    return tuple(rows + [f"{_DIGITS}{row}" for row in _KEYBOARD_ROWS] + [f"{row}{_DIGITS}" for row in _KEYBOARD_ROWS])


def _is_little_but_names(letters: str, user: object) -> bool:
    other_letters = letters
    for name in sorted(set(_names(user)), key=len, reverse=True):
        other_letters = other_letters.replace(name, "")
    return other_letters != letters and len(other_letters) < _MIN_REMAINING_CHARS


def _names(user: object) -> Iterator[str]:
    values: list[Any] = [getattr(user, name, "") for name in ("username", "first_name", "last_name", "email")]
    for value in [*values, *SERVICE, *environment().hosts]:
        words = re.split(r"\W+|_", _normalized(str(value)).casefold())
        yield from (word for word in [*words, "".join(words)] if len(word) >= _MIN_NAME_CHARS and not word.isdigit())
