"""Finds names, quotations and ordinary words in a text by how they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable

from renderer.summary import disguises, languages
from renderer.summary.spellings import introduced

SENTENCE_END = re.compile(r"[.!?;:\n\u3002\uff01\uff1f]+")
_NAME = re.compile(r"(?<![\w'-])[^\W\d_a-z][\w'-]{2,}")
_QUOTED = re.compile(r"[\"\u201c\u201e\u00ab'`]([^\"\u201d\u201c\u00bb'`\n]{3,60})[\"\u201d\u201c\u00bb'`]")
_QUOTATION = re.compile(
    r"(?:(?<!\w)|(?<=[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]))(?:[\"\u201c\u201d\u201e\u00ab\u2018\u201a'`]([^\"\u201d\u201c\u201e\u00bb\u00ab\u2018'`\n]{2,60})[\"\u201d\u201c\u00bb\u2019'`](?:(?!\w)|(?=[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3])))"
    r"|[\u300c\u300e\u300a]([^\u300c-\u300f\u300a\u300b\n]{1,40})[\u300d\u300f\u300b]"
)
_MAX_QUOTED_WORDS = 4
_IDENTIFIER = re.compile(
    r"(?<![^\W_])(?=[A-Za-z0-9_.]{4,60}(?![^\W_]))(?:[A-Za-z]+[a-z0-9][A-Z]|[A-Za-z0-9]+[_.][A-Za-z0-9])[A-Za-z0-9_.]*"
)
_HYPHENED = re.compile(r"(?<![\w-])[^\W_]{2,}(?:-[^\W_]{2,}){2,}(?![\w-])")
_TITLED = re.compile(
    r"\b(?:[Mm]s|[Mm]rs?|[Mm]iss|[Dd]r|[Pp]rof|Herrn?|Frau|Mme|Mlle|Se\u00f1ora?|Sig|Sir|Lady)\b\.?\s+(?=([^\W\d_]{2,})(?:\s+([^\W\d_a-z][\w'-]+))?)"
)
_LOWER_CASE_WORD = re.compile(r"(?<![\w'-])[^\W\d_A-Z][\w'-]*")
_CAPITALS = re.compile(r"(?<![\w'-])([^\W\d_a-z][\w'-]+)[ ]+(?=([^\W\d_a-z][\w'-]+))")
_WITH_ARTICLE = re.compile(
    r"\b(an?|the|each|every|no|some|any|more|many|few|several|other|his|her|their|its|such|which|less|most|very|too|enough|un[ae]?|des?|el|"
    r"l[aeo]s?|un[ao]s|sin|m\u00e1s|muy|cada|otr[oa]s?|vari[oa]s|much[oa]s|algun[oa]s|poc[oa]s|sus?|menos|sans|plus|tr\u00e8s|chaque|plusieurs|ses|"
    r"der|die|das|dem|den|eine?|einen|keine?|zu|sehr|mehr)\s+((?-i:[a-z\u00df-\u00ff]{4,30}))\b",
    re.IGNORECASE,
)
_ROMANCE = re.compile(r"\b(?:que|qui|los|las|una|con|del|por|el|di|della|para|uma)\b", re.IGNORECASE)
_KOREAN_DESCRIPTION = re.compile(
    "(?<![가-힣])([가-힣]{2,3})(?:한|하게|하는|했|해서|되는|된|되어|적인|적으로|스러운|스럽게|시키)(?![가-힣])"
)
_GERMAN_NOUN = re.compile(
    r"\b(?:[Ee]ine?[nmrs]?|[Kk]eine?[nmrs]?|[Mm]ehrere|[Vv]iele|[Aa]lle|[Ww]enige|[Mm]ehr|[Ww]eniger|"
    r"[Jj]ede[rsnm]?|[Dd]iese[rsnm]?|[Oo]hne|[Zz]u viel)"
    r"\s+(?:[a-z\u00df-\u00ff]+e[nrsm]?\s+)?([A-Z\u00c4\u00d6\u00dc][a-z\u00df-\u00ff]{3,30})\b"
)
"""A noun after words that never precede a name. German capitalizes nouns and names alike."""


def quoted_words(text: str) -> list[list[str]]:
    """The folded words of each part of ``text`` in quotation marks."""
    return [disguises.words(found[0] or found[1]) for found in _QUOTATION.findall(text)]


def certain_names(text: str) -> set[str]:
    """Folded words that certainly are names: in quotes, after a title, introduced as a name or a secret, or parts of an identifier."""
    found = {word for quotation in quoted_words(text) if len(quotation) <= _MAX_QUOTED_WORDS for word in quotation}
    found.update(word for names in _TITLED.findall(text) for name in names for word in disguises.words(name))
    found |= introduced.names(text)
    found.update("".join(disguises.words(name[0])) for name in _IDENTIFIER.finditer(text))
    hyphened = (disguises.words(name[0]) for name in _HYPHENED.finditer(text))
    found.update("".join(parts) for parts in hyphened if languages.STOP_WORDS.isdisjoint(parts))
    return {word for word in found if (len(word) >= 3 or disguises.unspaced(word)) and word not in languages.STOP_WORDS}


def names(text: str) -> set[str]:
    """Words with a capital that do not begin a sentence, words in capitals, and words with digits."""
    names: set[str] = set()
    for part in SENTENCE_END.split(text):
        begins = len(part) - len(part.lstrip(" \t-*#>\u2022"))
        for match in _NAME.finditer(part):
            # Letters without a lower case, as in Chinese, count as capitals.
            if not match[0][0].islower() and (match.start() > begins or match[0].isupper()):
                names.update(disguises.words(match[0]))
    parts = (part for word in disguises.words(text) for part in disguises.split_by_spacing(word))
    names.update(part for part in parts if any(map(str.isdigit, part)))
    return _distinctive(names)


def quoted(text: str) -> set[str]:
    """The text between any two quotation marks, including text between the end of one quotation and the beginning of the next."""
    return _distinctive(word for match in _QUOTED.finditer(text) for word in disguises.words(match[1]))


def _distinctive(words: Iterable[str]) -> set[str]:
    return {word for word in words if len(word) >= 3 and word not in languages.STOP_WORDS}


def lower_case(text: str) -> set[str]:
    """The folded words that are written without a capital."""
    return {disguises.folded(word) for word in _LOWER_CASE_WORD.findall(text) if word[0].islower()}


def with_article(text: str) -> set[str]:
    """The words in lower case that follow an article. In Spanish and related languages, "a" precedes names of people."""
    is_romance = _ROMANCE.search(text) is not None
    found = (match for match in _WITH_ARTICLE.finditer(text) if not (is_romance and match[1].casefold() == "a"))
    return {disguises.folded(match[2]) for match in found}


def german_nouns(text: str) -> set[str]:
    """German nouns that follow "eine", "keine" and the like, folded."""
    return {disguises.folded(word) for word in _GERMAN_NOUN.findall(text)}


def korean_descriptions(text: str) -> set[str]:
    """Korean words with a descriptive or verbal ending."""
    return set(disguises.words(" ".join(_KOREAN_DESCRIPTION.findall(text))))


def side_by_side(text: str) -> list[tuple[str, str]]:
    """Each pair of adjacent capitalized words within a sentence, folded: "Peter", "Fischer"."""
    found: list[tuple[str, str]] = []
    for part in SENTENCE_END.split(text):
        for match in _CAPITALS.finditer(part.lstrip(" \t-*#>\u2022")):
            first, second = disguises.folded(match[1]), disguises.folded(match[2])
            if match[1][0].isupper() and match[2][0].isupper() and match.start() and first not in languages.STOP_WORDS:
                found.append((first, second))
    return found
