"""Pseudo-languages, generated from the sentences that are marked for translation: text without accents was not marked.

``en-xa`` is English with accents, in brackets, and longer by two fifths; ``ar-xb`` is the same, written from right to left.
"""

import re
from pathlib import Path

import django
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from django.utils.translation import to_locale

from tests.tools.messages import found

LEFT_TO_RIGHT, RIGHT_TO_LEFT = "en-xa", "ar-xb"
_ACCENTED = str.maketrans("aceinouyACEINOUY", "áçéîñöûýÁÇÉÎÑÖÛÝ")
_KEPT = re.compile(r"(%\(\w+\)[sd]|\{\w+\}|%%)")
_OF_DJANGO = ("conf/locale", "contrib/auth/locale", "contrib/admin/locale")


def write(directory: Path) -> None:
    """Compile both, as Django reads them: our own sentences and Django's."""
    messages = {(item.context, item.id): item.plural for item in found.server_sentences()}
    for place in _OF_DJANGO:
        with (Path(django.__file__).parent / place / "de/LC_MESSAGES/django.po").open("rb") as file:
            for message in read_po(file):
                if message.id:
                    ids = [message.id] if isinstance(message.id, str) else list(message.id)
                    messages.setdefault((message.context or "", ids[0]), ids[1] if len(ids) > 1 else "")
    for code in (LEFT_TO_RIGHT, RIGHT_TO_LEFT):
        catalogue = Catalog(locale="en")
        for (context, one), plural in messages.items():
            if plural:
                catalogue.add((one, plural), (accented(one), accented(plural)), context=context or None)
            else:
                catalogue.add(one, accented(one), context=context or None)
        path = directory / to_locale(code) / "LC_MESSAGES"
        path.mkdir(parents=True)
        with (path / "django.mo").open("wb") as file:
            write_mo(file, catalogue)


def accented(text: str) -> str:
    """The sentence in that language; its placeholders stay as they are."""
    parts = [part if number % 2 else part.translate(_ACCENTED) for number, part in enumerate(_KEPT.split(text))]
    return f"[{''.join(parts)}{'~' * (len(text) * 2 // 5)}]"
