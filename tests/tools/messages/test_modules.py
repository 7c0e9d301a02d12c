"""The translation modules that pages load: safe to show, small, and with the language's plural rule."""

import re
import subprocess

import pytest
from babel.messages.catalog import Catalog
from babel.messages.plurals import get_plural

from chatui import wire
from chatui.codes import ProductCode, code_of
from renderer.errors import Code
from tests.architecture.sources import all_sources
from tests.tools import node
from tests.tools.messages import catalogue, domains, modules
from tests.tools.messages.page import page_sentences

LOCALES = ["ar", "cs", "de", "fr", "ga", "he", "ko", "lt", "lv", "pl", "pt_BR", "ru", "sl", "tr", "zh_Hans"]
RAISED = re.compile(r"\b(?:AskRefusedError|refuse|close_with)\((?:[\w.]+, )?(ProductCode\.\w+)")


def translated(one: str, *forms: str, plural: str = "", context: str | None = None, locale: str = "de") -> Catalog:
    catalog = Catalog(locale=locale)
    catalog.add((one, plural) if plural else one, forms if plural else forms[0], context=context)
    return catalog


@pytest.mark.slow
def test_every_sentence_of_the_page_is_translated_into_every_language() -> None:
    found = {(item.context, item.id) for item in page_sentences()}
    assert len(found) > 120, "the premise: the sentences of the scripts were found"
    for code in domains.TRANSLATED:
        read = catalogue.messages(catalogue.read(domains.path_of(modules.DOMAIN, code)))
        assert set(read) == found, f"run make messages ({code})"
        assert [message.id for message in read.values() if not modules.is_translated(message)] == [], code


def test_the_modules_are_made_from_the_translations() -> None:
    for path, text in {modules.REFUSALS: modules.refusals(), **modules.build()}.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run make messages"
        assert len(text.encode()) < modules.MAX_BYTES


def test_a_translation_that_no_page_may_show_is_refused() -> None:
    for sentence, translation in (("Saved.", "<b>Gespeichert.</b>"), ("Deleted “%(title)s”.", "Gelöscht.")):
        with pytest.raises(modules.UnfitTranslationError):
            modules.module_of(translated(sentence, translation))


def test_a_catalogue_that_is_too_large_to_load_is_refused() -> None:
    with pytest.raises(modules.UnfitTranslationError, match="bytes"):
        modules.module_of(translated("Saved.", "x" * modules.MAX_BYTES))


def test_what_is_not_translated_is_left_out_and_then_said_in_english() -> None:
    assert "Saved." not in modules.module_of(translated("Saved.", ""))
    assert "%(n)s" not in modules.module_of(translated("%(n)s result", "%(n)s Ergebnis", "", plural="%(n)s results"))


def test_a_word_is_kept_with_its_context() -> None:
    assert '"button\\u0004Reload": "Neu laden"' in modules.module_of(translated("Reload", "Neu laden", context="button"))


@pytest.mark.skipif(node.why_not() is not None, reason="needs Node.js")
def test_every_plural_rule_says_the_same_in_javascript_as_in_gettext() -> None:
    numbers = [*range(201), 1000, 1_000_000, 2_000_000]
    rules = {locale: str(get_plural(locale)) for locale in LOCALES}
    script = "\n".join(f"console.log({numbers}.map((n) => {modules.compiled(rule)}).join());" for rule in rules.values())
    output = subprocess.run([node.program("node") or "node", "-e", script], capture_output=True, text=True, check=True).stdout.split()
    for (locale, rule), line in zip(rules.items(), output, strict=True):
        plural = _of_gettext(rule)
        assert [int(form) for form in line.split(",")] == [plural(n) for n in numbers], locale


@pytest.mark.parametrize("expression", ["alert(1)", "n; alert", "n = 1", "globalThis", "n?1:`x`", ""])
def test_nothing_but_a_plural_rule_becomes_code(expression: str) -> None:
    with pytest.raises(ValueError, match="plural rule"):
        modules.compiled(f"nplurals=2; plural={expression};")


def test_every_code_with_which_a_socket_refuses_has_its_sentence_on_the_page() -> None:
    raised = {
        name
        for source in all_sources()
        if source.path.startswith(("chatui/live/", "chatui/turns/"))
        for name in RAISED.findall(source.text)
    }
    assert {"ProductCode.BUSY", "ProductCode.RATE", "ProductCode.TOO_MANY_PAGES"} <= raised, "the premise: they are found"
    codes = {code_of(ProductCode[name.removeprefix("ProductCode.")]) for name in raised}
    assert codes - set(wire.REFUSALS) == set()
    assert Code.PERM_VISIBILITY in wire.REFUSALS


def _of_gettext(rule: str):
    from gettext import c2py

    return c2py(rule.partition("plural=")[2].rstrip(";"))


def test_a_sentence_that_server_and_page_both_say_is_translated_alike() -> None:
    shared = 0
    for code in domains.TRANSLATED:
        server, page = (catalogue.messages(catalogue.read(domains.path_of(domain, code))) for domain in ("django", modules.DOMAIN))
        assert {key: page[key].string for key in page.keys() & server.keys()} == {
            key: server[key].string for key in page.keys() & server.keys()
        }
        shared += len(page.keys() & server.keys())
    assert shared > 60, "the premise: there are such sentences"
