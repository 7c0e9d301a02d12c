"""Finds names, quotations and identifiers in a line of a reasoning summary that occur only in hidden text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from renderer.summary import disguises, languages, new_words, plain_words
from renderer.summary.index import HiddenText, SeenText
from renderer.summary.spellings import letters
from renderer.summary.spellings.named_words import NAME_HEAD
from renderer.summary.spellings.written import quoted_words

_MIN_MISSPELT_CHARS = 6
_MIN_SPLIT_NAME_CHARS = 6
_MAX_SPLIT_NAME_CHARS = 24
_MIN_HALF_CHARS = 3
_MIN_CERTAIN_CHARS = 5
_MAX_BETWEEN = 2
_MAX_SURNAME_CHARS = 9
_GERMAN_SURNAMES = frozenset(
    [
        "muller",
        "schneider",
        "fischer",
        "weber",
        "becker",
        "schafer",
        "bauer",
        "richter",
        "koch",
        "schroder",
        "kruger",
        "krause",
        "kohler",
        "maier",
        "meier",
        "schmidt",
        "schmid",
        "huber",
        "fuchs",
        "jager",
        "ziegler",
        "schuster",
        "wagner",
        "winkler",
        "berger",
        "vogel",
        "wolf",
        "hofmann",
        "neumann",
        "zimmermann",
    ]
)


def has_hidden_name(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    """Whether ``line`` has a name that only hidden text has. Names from the instructions are found even if misspelt."""
    words = disguises.words(line)
    return _names_from_instructions(words, hidden, seen) or _names_from_reasoning(words, hidden, seen) or _quotes(line, seen)


def reveals_name_together(lines: Sequence[str], hidden: HiddenText, seen: SeenText) -> bool:
    """Whether a name is split across the last two lines, or spelled by letters of words or lines, or there are too many single letters."""
    words = [word for line in lines for word in disguises.words(line)]
    if any(_contains_name(row, hidden, seen, least) for row, least in letters.streams(lines)):
        return True
    if letters.has_spaced_letters(lines, seen.words, languages.STOP_WORDS) or hidden.letters.share(letters.initials(lines)):
        return True
    at_seam = "".join(words)[-_MAX_SPLIT_NAME_CHARS - sum(map(len, disguises.words(lines[-1]))) :]
    return _is_split_by_letters(at_seam, words, hidden, seen)


def _names_from_instructions(words: list[str], hidden: HiddenText, seen: SeenText) -> bool:
    unseen = hidden.names - seen.words
    if "German" in languages.expected(seen.language_counts):
        # German capitalizes all nouns. Only the most common words are certainly not names.
        german = frozenset({"German"})
        unseen = {
            name for name in unseen if name in hidden.certain_names or not plain_words.is_plain(name, german, hidden.instruction_forms)
        }
    if not unseen.isdisjoint(words):
        return True
    # Longer names are also found with other letters in between, inside another word, backwards, or misspelt.
    long = [name for name in unseen if len(name) >= _MIN_MISSPELT_CHARS]
    squeezed, own = "".join(words), {word for word in words if len(word) >= _MIN_MISSPELT_CHARS - 1} - seen.words
    return any(
        name in squeezed or name in squeezed[::-1] or any(abs(len(word) - len(name)) < 2 and _is_near(word, name) for word in own)
        for name in long
    )


def _names_from_reasoning(words: list[str], hidden: HiddenText, seen: SeenText) -> bool:
    """Names from the reasoning. As reasoning grows, names are only looked up; other checks already refuse words that are not plain."""
    unseen = [word for word in words if word not in seen.words]
    if _is_split_in_two(words, hidden, seen) or any(word in hidden.certain_names or _is_name(word, hidden, seen) for word in unseen):
        return True
    if any(_is_person(word, hidden, seen) for word in unseen) or _is_scattered(disguises.unspaced("".join(words)), hidden, seen):
        return True
    return _is_split_by_letters("".join(words), words, hidden, seen)


def _is_name(word: str, hidden: HiddenText, seen: SeenText) -> bool:
    """Whether the hidden text writes it as a name. A plain word that is also written in lower case is not one; German capitalizes every
    noun.
    """
    if word not in hidden.spelled_names:
        return False
    allowed = languages.expected(seen.language_counts)
    if disguises.unspaced(word):
        # Capitals do not distinguish names there.
        return bool(plain_words.unknown_words(word, seen, hidden.instruction_forms))
    if new_words.is_topic(word, hidden):
        return False
    if plain_words.is_visible_compound(word, seen, allowed):
        return False
    return not plain_words.is_known(word, seen, allowed) or (word not in hidden.lower_case and "German" not in allowed)


def _is_person(word: str, hidden: HiddenText, seen: SeenText) -> bool:
    """Whether a plain word is used as a person's name: after a first name, or as a German surname such as "Koch" or "Müller"."""
    before = hidden.named_after.get(word, set())
    allowed = languages.expected(seen.language_counts)
    if "German" not in allowed:
        return bool(before)
    if len(word) <= _MAX_SURNAME_CHARS and any(not plain_words.is_known(first, seen, allowed) for first in before):
        return True
    # These are also plain words, and may be forms of visible ones: "Müller" of "Müll".
    return word in _GERMAN_SURNAMES and word in hidden.words


def _is_scattered(run: str, hidden: HiddenText, seen: SeenText) -> bool:
    """Whether ``run`` contains a name in a script without spaces, backwards or with a few characters in between."""
    for name in hidden.unspaced_names:
        # Nothing divides a name from other words there, so it is visible if its characters are, in this order.
        if _is_visible_run(name, seen):
            continue
        if name[::-1] in run or any(_follows(run, at, name) for at, sign in enumerate(run) if sign == name[0]):
            return True
    return False


def _is_visible_run(run: str, seen: SeenText) -> bool:
    return all(one + other in seen.pairs for one, other in pairwise(run))


def _follows(run: str, at: int, name: str) -> bool:
    for sign in name[1:]:
        at = run.find(sign, at + 1, at + 2 + _MAX_BETWEEN)
        if at < 0:
            return False
    return True


def _is_split_by_letters(squeezed: str, words: Sequence[str], hidden: HiddenText, seen: SeenText) -> bool:
    return _contains_name(squeezed, hidden, seen, _MIN_SPLIT_NAME_CHARS, frozenset(words))


def _contains_name(row: str, hidden: HiddenText, seen: SeenText, least: int, known: frozenset[str] | None = None) -> bool:
    """Whether a name is a part of ``row``, forwards or backwards. ``known``: words that were already checked on their own."""
    for text in (row, row[::-1]):
        for begin, end in _spans(text, least, hidden.name_heads):
            part = text[begin:end]
            is_name = part in hidden.certain_names or part in hidden.spelled_names
            # If initials spell a word that hidden text quotes, that is not a coincidence, even if the word is plain.
            is_certain = known is None and part in hidden.certain_names and len(part) >= _MIN_CERTAIN_CHARS
            is_plain = not is_certain and _is_plain_anywhere(part)
            if is_name and part not in (known or ()) and part not in seen.words and part not in seen.names and not is_plain:
                return True
    return False


def _is_plain_anywhere(part: str) -> bool:
    return plain_words.is_plain(part, frozenset({"English", "German"}))


def _spans(text: str, least: int, heads: AbstractSet[str]) -> Iterator[tuple[int, int]]:
    """The start and end of each part with at least ``least`` letters that begins with one of ``heads``."""
    for begin in range(len(text) - least + 1):
        if text[begin : begin + NAME_HEAD] not in heads:
            continue
        for end in range(begin + least, min(len(text), begin + _MAX_SPLIT_NAME_CHARS) + 1):
            yield begin, end


def _quotes(line: str, seen: SeenText) -> bool:
    """Whether something in quotation marks is not visible text with the same words in the same order."""
    return not all(_is_visible_word(word, seen) for quotation in quoted_words(line) for word in quotation)


def _is_visible_word(word: str, seen: SeenText) -> bool:
    run = disguises.unspaced(word)
    return word in seen.words or (len(run) == len(word) > 1 and _is_visible_run(run, seen))


def _is_split_in_two(words: list[str], hidden: HiddenText, seen: SeenText) -> bool:
    """Whether two of the words are the two halves of a name, in any order: "an eagle of gold"."""
    long = {word for word in words if len(word) >= _MIN_HALF_CHARS}
    joined = {one + other for one in long for other in long} - seen.words - seen.names
    return not joined.isdisjoint(hidden.names) or not joined.isdisjoint(hidden.certain_names)


def _is_near(word: str, name: str) -> bool:
    """Whether two words differ by at most one letter: added, missing, changed or swapped with its neighbour."""
    shorter, longer = sorted((word, name), key=len)
    at = next((at for at, pair in enumerate(zip(shorter, longer, strict=False)) if pair[0] != pair[1]), len(shorter))
    one, other = shorter[at:], longer[at:]
    if len(one) < len(other):
        return one == other[1:]
    return one[1:] == other[1:] or (one[2:] == other[2:] and one[:2] == other[1::-1])
