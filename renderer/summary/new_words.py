"""Decides which unknown words a summary line may contain.

No list of plain words is complete, and a word such as "sourdough" is harmless. But a word can also be a code. So an unknown word must look
like a word of the language, and must not occur in hidden text in any disguise, except words that reasoning uses as ordinary words. Only one
is allowed in a line, and few in all lines.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from renderer.summary import disguises, endings, languages, plain_words
from renderer.summary.index import HiddenText, SeenText, skeleton
from renderer.summary.number_words import is_number
from renderer.summary.spellings import digits, pinyin, sounds

MAX_IN_LINE = 1
MAX_TOGETHER = 3
_MIN_CHARS, _MAX_CHARS, _MAX_GERMAN_CHARS = 4, 14, 20
_MAX_UNSPACED_CHARS = 3
_MIN_CIPHERED = 3
_LIKELY_PART = 0.7
_DERIVED_GERMAN = ("ung", "ungen", "heit", "heiten", "keit", "keiten", "schaft", "schaften", "tion", "tionen", "tat", "taten")
_DERIVED_SPELLED = (
    "ence ences ance ances tion tions sion sions ment ments ness ity ities able ables ibles ible ical ional ously ation "
    "ations cion ciones dad dades miento mientos mente ement ements"
)
_DERIVED = tuple(_DERIVED_SPELLED.split())
"""Endings of derived words, folded, in the languages of the lists. Names hardly ever have them."""
_NAMES_SPELLED = (
    "florence laurence lawrence clarence terence terrence clemence prudence constance torrance charity trinity felicity verity "
    "serenity clement soledad trinidad caridad piedad natividad felicidad asuncion concepcion encarnacion visitacion ascension"
)
_NAMES_ALIKE = frozenset(_NAMES_SPELLED.split())
"""Names that have these endings."""
_HEXADECIMAL = re.compile("[a-f]{6,}")


def prepare(seen: SeenText) -> None:
    """Load the lists for the languages of the visible text: this takes up to 0.2 seconds, once per process, so call it in a thread."""
    plain_words.load_pieces()
    _triples(languages.expected(seen.language_counts) & plain_words.LISTED_LANGUAGES)


def is_allowed(line: str, word: str, hidden: HiddenText, seen: SeenText) -> bool:
    """Whether ``word``, folded and unknown, is allowed in ``line``."""
    if is_number(word) or digits.is_number_word(word) or _HEXADECIMAL.fullmatch(word):
        return False
    run = disguises.unspaced(word)
    if run:
        if run != word or len(run) > _MAX_UNSPACED_CHARS or sounds.sounds_like_name(run, hidden.sounds):
            return False
        if run in hidden.korean_descriptions:
            return run not in hidden.certain_names and not any(one + other in hidden.instruction_forms for one, other in pairwise(run))
        return not (_is_near_hidden(run, disguises.folded(line), hidden) or _may_sound_as_name(run, hidden, seen))
    allowed = languages.expected(seen.language_counts) & plain_words.LISTED_LANGUAGES
    if not (word.isascii() and _MIN_CHARS <= len(word) <= (_MAX_GERMAN_CHARS if "German" in allowed else _MAX_CHARS) and allowed):
        return False
    if "German" not in allowed and _is_name_like(line, word):
        return False
    if not _looks_like_word(word, allowed):
        return False
    return is_topic(word, hidden) or not (
        pinyin.may_spell_name(word, hidden.pinyin) or sounds.sounds_like_name(word, hidden.sounds) or _is_in_hidden(word, hidden)
    )


def is_topic(word: str, hidden: HiddenText) -> bool:
    """Whether reasoning uses it as an ordinary word: in lower case with an article, or with an ending that no name has. Not if it is
    written as a name or quoted anywhere, or occurs in the instructions.
    """
    forms = endings.forms(word)
    if word in _NAMES_ALIKE or not forms.isdisjoint(hidden.instruction_forms) or not forms.isdisjoint(hidden.certain_names):
        return False
    if (word.endswith(_DERIVED_GERMAN) and word in hidden.forms) or not forms.isdisjoint(hidden.german_nouns):
        return True
    is_lower_case = word.endswith(_DERIVED) and not forms.isdisjoint(hidden.lower_case)
    return (is_lower_case or not forms.isdisjoint(hidden.with_article)) and forms.isdisjoint(hidden.spelled_names)


def _may_sound_as_name(run: str, hidden: HiddenText, seen: SeenText) -> bool:
    """Whether Chinese characters may transcribe a hidden name written in Latin letters. Their actual pronunciation is not known here."""
    return sounds.may_transcribe_name(run) and any(name.isascii() and name not in seen.words for name in hidden.spelled_names)


def _is_near_hidden(run: str, line: str, hidden: HiddenText) -> bool:
    """For a single character, both neighbours are checked."""
    at = line.find(run)
    around = line[max(0, at - 1) : at + 2] if len(run) == 1 else run
    return any(around[begin : begin + 2] in hidden.pairs for begin in range(len(around) - 1))


def _is_name_like(line: str, word: str) -> bool:
    return any(word in disguises.words(token) and not token[:1].islower() for token in line.split()[1:])


def _is_in_hidden(word: str, hidden: HiddenText) -> bool:
    if not endings.forms(word).isdisjoint(hidden.forms) or word[::-1] in hidden.forms or skeleton(word) in hidden.skeletons:
        return True
    if "".join(sorted(word)) in hidden.letter_sets:
        return True
    return any(len(other) >= _MIN_CIPHERED and other in hidden.forms for words in disguises.decoded(word) for other in words)


def _looks_like_word(word: str, allowed: frozenset[str]) -> bool:
    """Whether its letters follow each other as in plain words."""
    known, marked = _triples(allowed), f"^{word}$"
    triples = [marked[begin : begin + 3] for begin in range(len(marked) - 2)]
    return sum(triple in known for triple in triples) >= _LIKELY_PART * len(triples)


@cache
def _triples(allowed: frozenset[str]) -> frozenset[str]:
    marked = [f"^{word}$" for language in allowed for word in plain_words.listed(language)]
    return frozenset(word[begin : begin + 3] for word in marked for begin in range(len(word) - 2))
