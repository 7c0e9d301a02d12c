"""Reads, updates and writes one catalogue: sorted, without line numbers and wrapping, so that a change is a small diff.

New sentences are added untranslated; nothing is guessed from similar sentences, and unused ones are removed.
"""

import io
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po, write_po
from django.utils.translation import to_locale

from tests.tools.messages.found import Found, by_key

Key = tuple[str, str]


def read(path: Path) -> Catalog:
    """The catalogue in the file; an empty one if it does not exist."""
    if not path.exists():
        return Catalog()
    with path.open("rb") as file:
        return read_po(file, abort_invalid=True)


def messages(catalogue: Catalog) -> dict[Key, Message]:
    """Its sentences, by context and English text, without the file header."""
    return {(message.context or "", _one(message)): message for message in catalogue if message.id}


def updated(path: Path, code: str, sentences: list[Found]) -> str:
    """The text that the file should have: the current sentences, with their existing translations."""
    known = messages(read(path))
    catalog = Catalog(locale=to_locale(code))
    for (context, one), places in sorted(by_key(sentences).items(), key=lambda item: (item[0][1], item[0][0])):
        plural = next((place.plural for place in places if place.plural), "")
        catalog.add(
            (one, plural) if plural else one,
            _old_translation(known.get((context, one)), plural, catalog.num_plurals),
            locations=[(file, 0) for file in sorted({place.file for place in places})],
            auto_comments=sorted({comment for place in places for comment in place.comments}),
            context=context or None,
        )
    written = io.BytesIO()
    write_po(written, catalog, width=0, omit_header=True, include_lineno=False)
    return _head(code) + written.getvalue().decode()


def _old_translation(message: Message | None, plural: str, forms: int) -> str | tuple[str, ...]:
    old = message.string if message is not None else ""
    if not plural:
        return old if isinstance(old, str) else ""
    return tuple(old) if isinstance(old, (tuple, list)) and len(old) == forms else ("",) * forms


def _one(message: Message) -> str:
    return str(message.id if isinstance(message.id, str) else message.id[0])


def _head(code: str) -> str:
    """The header of a catalogue; no dates, which would change the file each time."""
    fields = {
        "Language": to_locale(code),
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": str(get_plural(to_locale(code))),
    }
    lines = "".join(f'"{name}: {value}\\n"\n' for name, value in fields.items())
    return f'msgid ""\nmsgstr ""\n{lines}\n'
