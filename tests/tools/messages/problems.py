"""Finds problems in translations, whose authors may be neither programmers nor trustworthy."""

import re
from collections.abc import Iterator

from babel.messages.catalog import Message

# The named placeholders of % and of str.format.
_GAP = re.compile(r"%\((\w+)\)[sd]|\{(\w+)\}")
_FORBIDDEN = re.compile(r'[<>"]|javascript:|data:text|&\w+;', re.IGNORECASE)
"""Templates do not escape translate tags, and some are in attributes: no text may end an attribute or begin a tag."""


def find(message: Message) -> Iterator[str]:
    """The problems of a translation, as sentences."""
    ids = [message.id] if isinstance(message.id, str) else list(message.id)
    strings = [message.string] if isinstance(message.string, str) else list(message.string or [""])
    if not all(strings):
        yield "is not translated"
        return
    if message.fuzzy:
        yield "is marked as fuzzy"
    for text in (*ids, *strings):
        if sign := _FORBIDDEN.search(str(text)):
            yield f"holds {sign[0]}"
    # The form for one may leave out the number; the last form, which is for many, may not.
    allowed, needed = set().union(*(gaps(str(text)) for text in ids)), gaps(str(ids[-1]))
    if not all(gaps(str(text)) <= allowed for text in strings) or gaps(str(strings[-1])) != needed:
        yield f"has other placeholders than {', '.join(sorted(needed)) or 'none'}"
    is_sentence = any(sign.isalnum() for sign in str(ids[0]))
    if is_sentence and any(_outer(str(ids[0])) != _outer(str(text)) for text in strings):
        yield "begins or ends with other white space"


def gaps(text: str) -> set[str]:
    """The names of the placeholders in a text; a lone %, which would break the sentence, counts as a placeholder that no text has."""
    found = {name for pair in _GAP.findall(text) for name in pair if name}
    is_formatted = "%(" in text
    rest = _GAP.sub("", text).replace("%%", "")
    return found | ({"%"} if is_formatted and "%" in rest else set())


def _outer(text: str) -> tuple[str, str]:
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
