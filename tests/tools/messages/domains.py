"""The catalogues: a domain for each source of sentences, a folder for each language."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from django.utils.translation import to_locale

from chatui.env import LOCALE_DIR
from chatui.site.languages import LANGUAGES, SOURCE
from tests.tools.messages import found, page
from tests.tools.messages.found import Found

DOMAINS: dict[str, Callable[[], Iterable[Found]]] = {
    "django": cache(lambda: tuple(found.server_sentences())),
    "djangojs": cache(lambda: tuple(page.page_sentences())),
}
"""The name of each domain, used for its files, with the function that finds its sentences. They are collected once: it takes seconds."""

TRANSLATED = tuple(code for code in LANGUAGES if code != SOURCE)


def path_of(domain: str, code: str) -> Path:
    """The path of a domain's catalogue in a language."""
    return LOCALE_DIR / to_locale(code) / "LC_MESSAGES" / f"{domain}.po"
