"""Builds the modules that the page loads: ``static/js/language/catalogues`` from the translations, and the sentences of refusals."""

import json
import re
from pathlib import Path

from babel.messages.catalog import Catalog, Message

from chatui import wire
from tests.tools.messages import catalogue, domains, problems
from tests.tools.messages.page import SCRIPTS

LANGUAGE = SCRIPTS / "language"
DOMAIN = "djangojs"
REFUSALS = LANGUAGE / "refusals.js"
RULE = re.compile(r"\s*nplurals\s*=\s*\d+\s*;\s*plural\s*=((?:\s|\d+|n|[=!<>]=|&&|\|\||[-+*%<>?:()!])+?);?\s*")
"""A catalogue's plural rule, a C expression in ``n``. JavaScript spells it alike, and nothing else becomes code."""
MAX_BYTES = 24_000
REFUSALS_HEAD = """\
// The sentences for the codes with which the server refuses a command or closes the socket.
// Made from chatui/codes.py by `make messages`. Do not change it by hand: `make check` compares the two.

import { t } from "./words.js";

/** @type {Readonly<Record<string, string>>} */
const SENTENCES = Object.freeze({
"""
REFUSALS_END = """\
});

/** @param {string} code */
export function refusal(code) {
  const known = Object.hasOwn(SENTENCES, code) ? SENTENCES[code] : undefined;
  return known ?? t("The server refused this (%(code)s). Reload the page.", { code });
}
"""


class UnfitTranslationError(Exception):
    """A translation that must not appear on a page."""


def build() -> dict[Path, str]:
    """The text of every module, by its path."""
    translated = {code: catalogue.read(domains.path_of(DOMAIN, code)) for code in domains.TRANSLATED}
    return {path_of(code): module_of(read) for code, read in translated.items()}


def path_of(code: str) -> Path:
    """The path of a language's module, which is named as Django names the language."""
    return LANGUAGE / "catalogues" / f"{code}.js"


def refusals() -> str:
    """The module with the sentences of refusals, in English like all sentences in the scripts."""
    return REFUSALS_HEAD + "".join(_refusal(code, code.sentence) for code in sorted(wire.REFUSALS)) + REFUSALS_END


def module_of(translated: Catalog) -> str:
    """The module of one language. Sentences without a translation are left out, and shown in English.

    Raises:
        UnfitTranslationError: a translation has markup, lacks a place of its sentence, or has one that the sentence lacks.
        ValueError: the plural rule cannot be read.
    """
    entries = dict(_entry(message) for message in translated if message.id and is_translated(message))
    lines = [f"  {json.dumps(key, ensure_ascii=False)}: {json.dumps(entries[key], ensure_ascii=False)},\n" for key in sorted(entries)]
    head = "// Made from chatui/locale by `make messages`. Do not change it by hand: `make check` compares the two.\n"
    rule = compiled(translated.plural_forms)
    body = f"useCatalogue({{\n  plural: (n) => {rule},\n  entries: {{\n{''.join('  ' + line for line in lines)}  }},\n}});\n"
    module = f'{head}\nimport {{ useCatalogue }} from "../words.js";\n\n{body.replace("(n) => Number(0)", "() => 0")}'
    if len(module.encode()) > MAX_BYTES:
        raise UnfitTranslationError(f"{translated.locale} has more than {MAX_BYTES} bytes, and the page has to load it")
    return module


def _refusal(code: str, sentence: str) -> str:
    line = f'  "{code}": t({json.dumps(sentence, ensure_ascii=False)}),\n'
    return line if len(line) <= 120 else line.replace(": t(", ":\n    t(", 1)


def is_translated(message: Message) -> bool:
    """Whether all forms of a sentence are translated."""
    return not message.fuzzy and all(_texts(message.string))


def _texts(text: object) -> list[str]:
    """One sentence, or the forms of a plural."""
    return [str(form or "") for form in text] if isinstance(text, tuple | list) else [str(text or "")]


def _entry(message: Message) -> tuple[str, str | list[str]]:
    ids, forms = _texts(message.id), _texts(message.string)
    for problem in problems.find(message):
        raise UnfitTranslationError(f"{ids[0]!r} {problem}: {forms!r}")
    key = f"{message.context}\x04{ids[0]}" if message.context else ids[0]
    return key, forms if len(ids) > 1 else forms[0]


def compiled(header: str) -> str:
    """The expression of a ``Plural-Forms`` header as JavaScript, which gives the index of a form.

    Raises:
        ValueError: it is no such expression.
    """
    found = RULE.fullmatch(header)
    if not found or not found[1].strip():
        raise ValueError(f"no plural rule: {header!r}")
    # JavaScript's "==" converts types, and there is nothing to convert. A comparison alone is true or false.
    return f"Number({re.sub('([=!])=', lambda sign: sign[0] + '=', found[1].strip())})"
