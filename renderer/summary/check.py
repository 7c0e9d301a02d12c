"""Decides whether one line of a reasoning summary may be shown.

A line may not copy, encode or paraphrase hidden text, contain hidden characters, or address the reader. All of this is decided by comparing
text. No comparison can rule out that a line says in other words what a person should not know; see ``docs/summaries.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from renderer.summary import addressing, copies, disguises, languages, names, new_words, numbers, opaque_words, plain_words
from renderer.summary.index import HiddenText, SeenText, bare, stems
from renderer.summary.reasons import Reason

MAX_CHARS = 140
"""The longest line that is shown, in characters."""
_PARAPHRASED_SHARE = 0.6
_LINES_TOGETHER = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """``line`` is the summary as it would be shown. It may be shown if ``reason`` is None."""

    line: str = field(repr=False)
    reason: Reason | None = None


def check(candidate: str, hidden: HiddenText, seen: SeenText, before: Sequence[str] = ()) -> Verdict:
    """Check a line that a summarizer wrote. ``hidden`` must contain at least everything that the summarizer was given.

    ``before``: the lines already shown. Hidden text could be revealed a few words at a time, so they are checked together.
    """
    hidden.settle()
    line = _bare_line(candidate)
    reason = next((reason for reason, is_broken in _RULES if is_broken(line, hidden, seen)), None)
    if reason is None:
        reason = _reason_together(line, hidden, seen, before)
    return Verdict(line if reason else " ".join(line.split()), reason)


def _reason_together(line: str, hidden: HiddenText, seen: SeenText, before: Sequence[str]) -> Reason | None:
    lines = [*before, line]
    if copies.is_copy_together(lines, hidden, seen):
        return Reason.COPY
    if numbers.reveals_small_number(lines, hidden, seen) or numbers.reveals_number_together(lines, hidden, seen):
        return Reason.SECRET
    if sum(len(plain_words.unknown_words(one, seen, hidden.instruction_forms)) for one in lines) > new_words.MAX_TOGETHER:
        return Reason.WORD
    if names.reveals_name_together(lines, hidden, seen):
        return Reason.NAME
    return Reason.RETOLD if _paraphrases_instructions(" ".join([*before[-_LINES_TOGETHER:], line]), hidden, seen) else None


Rule = Callable[[str, HiddenText, SeenText], bool]

_BULLET = re.compile(r"\A(?:[-*+\u2022\u2013]|\d{1,2}[.)])\s+")
_WRAPPED = re.compile(r"\A(?:\*\*(?P<bold>[^*\n]+)\*\*|\"(?P<quoted>[^\"\n]+)\")\.?\Z")


def _bare_line(candidate: str) -> str:
    """The line without the bullet, bold type or quotation marks that models like to put around a single line."""
    line = _BULLET.sub("", candidate.strip())
    if wrapped := _WRAPPED.match(line):
        line = wrapped["bold"] or wrapped["quoted"]
    return line.strip()


def _is_empty(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    return sum(map(str.isalpha, line[: MAX_CHARS * 4])) < 2 or disguises.words(line[:MAX_CHARS]) in (["none"], ["nothing"], ["null"])


def _has_lines(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    return len(line.splitlines()) > 1


def _is_long(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    return len(line) > MAX_CHARS


def _has_invisible_characters(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    return disguises.has_invisible_characters(line)


_HARMONY = re.compile(
    r"<|\|>|\[/?inst\]|assistant ?(?:final|analysis|commentary)|\b(?:analysis|final) ?(?:channel|message)|^(?:analysis|commentary)\b"
)


def _contains_markers(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    return _HARMONY.search(disguises.folded(line)) is not None


_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]*://|\b(?:www|javascript|mailto|data|tel|file|hxxps?)[.:]\S|@\S|\S@|[^\W_][^\s.]*\.[^\W\d_]{2,}|\d+\.\d+\.\d+"
    r"|\A[~/]|[\\/].*[\\/]|\w:\d{2,5}\b",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    r"[\[({]\s*(?:dot|at)\s*[\])}]|\bat \w+ dot \w+|\w\s+dot\s+\w|\w (?:punkt|point|punto|\u70b9|\u9ede|\uc810) (?:com|org|net|de|cn|kr)\b",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"[\"'(\u201c\u201e\u00ab]*"
    r"[\w-]+\.(?:py|js|ts|tsx|jsx|mjs|html?|css|json|toml|ya?ml|xml|csv|tsv|txt|md|rst|ini|cfg|conf|lock|log|sql|java|kt|go|rs|c|h|cpp|hpp|"
    r"rb|php|swift|pdf|docx?|xlsx?|pptx?|odt|png|jpe?g|gif|svg|ipynb|tex|bib)\W*",
    re.IGNORECASE,
)


def _contains_address(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    """Whether it has an address or host (people would open it, even if it is visible elsewhere), or a file name that is not visible."""
    found = [token for token in line.split() if _ADDRESS.search(token)]
    return _SPOKEN.search(line) is not None or any(not _FILE.fullmatch(token) or bare(token) not in seen.tokens for token in found)


_CODE = re.compile(r"[`{}\[\]|~^*_#=]|\$\S|&[#\w]+;|\)\s*[;{]|\w\(|->|=>|::")


def _contains_code(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    return _CODE.search(line) is not None


_POLICY = re.compile(
    r"\b(?:system|developer|hidden|secret|internal|initial|original)(?: \w+)? (?:message|prompt|instruction|rule|note|text|guideline)s?\b"
    r"|\b(?:my|the|these|those|its|given|following|followed|per|under) (?:\w+ )?(?:instructions?|guidelines?|policy|policies|rules)\b"
    r"|\b(?:i|we) (?:must|should|shall|cant|cannot|can not|may not|am not|are not|will not|wont|dont|do not)\b"
    r"|\b(?:i|we) (?:need|needed|have|had) to\b|\b(?:must|should) not\b|\bnot (?:allowed|permitted|supposed)\b"
    r"|\b(?:was|were|been|am|is|are) (?:told|instructed|ordered|asked) (?:to|not|by|that)\b"
    r"|\b(?:reveal|disclose|divulge|jailbreak|disallowed|forbidden|prohibited|confidential|openai|chatgpt|gpt)\w*\b"
    r"|\b(?:chain of thought|password|passwort|passcode|api key|secret|geheim)\w*\b"
    r"|\b(?:systemnachricht|systemprompt|entwicklernachricht|anweisung|anweisungen|vorschrift|richtlinie|richtlinien)\b"
    r"|\b(?:instrucciones|instruccion|istruzioni|instrucoes|consignes|mensaje del sistema|message systeme|politica)\b"
)


def _mentions_rules(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    return _POLICY.search(" ".join(disguises.words(line))) is not None


def _addresses_reader(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    return addressing.addresses_reader(line, languages.expected(seen.language_counts))


def _judges_somebody(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    return addressing.judges_somebody(line, seen)


_REFUSAL = re.compile(
    r"\b(?:sorry|apologi[sz]e|apologies|as an ai|unable to|(?:cant|cannot|wont) (?:help|assist|provide|comply|do)|refus\w+|declin\w+)\b"
)


def _is_refusal(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    return _REFUSAL.search(" ".join(disguises.words(line))) is not None


def _is_in_another_script(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    """Whether it is in another script. Two alphabets in one word count too, as no language has that."""
    if not disguises.scripts(line) <= (seen.scripts or {"LATIN"}):
        return True
    return any("LATIN" in found and found & {"CYRILLIC", "GREEK"} for found in map(disguises.scripts, line.split()))


def _is_in_another_language(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    return disguises.scripts(line) == {"LATIN"} and not languages.fits(disguises.words(line), seen.language_counts)


def _contains_secret(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    return opaque_words.contains_secret(line, seen) or numbers.may_encode_count(line) or numbers.reveals_korean_number(line, seen)


def _is_copy(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    return copies.is_copy(line, hidden, seen) or copies.is_interleaved(disguises.words(line), hidden, seen)


def _contains_unknown_word(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    unknown = plain_words.unknown_words(line, seen, hidden.instruction_forms)
    return len(unknown) > new_words.MAX_IN_LINE or not all(new_words.is_allowed(line, word, hidden, seen) for word in unknown)


def _paraphrases_instructions(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    """Whether most of a sentence of the instructions is in the line, or most of the line in such a sentence. Visible text does not count,
    but only if it is together in one passage: a person who sends a whole dictionary has seen each word but no sentence.
    """
    own = stems(line)
    # The verb of the report ("noted that") is not part of an instruction.
    described = stems(line.partition(" ")[2])
    for sentence in hidden.instructions:
        if len(described & sentence) > 1 and not described & sentence <= seen.stems and _is_paraphrase(described, sentence):
            return True
        if _is_paraphrase(own - seen.stems, sentence - seen.stems):
            return True
        if _is_paraphrase(own, sentence) and all(_is_paraphrase(own - passage, sentence - passage) for passage in seen.passages):
            return True
    return False


def _is_paraphrase(own: frozenset[str], instruction: frozenset[str]) -> bool:
    shared, least = len(own & instruction), min(len(own), len(instruction))
    return bool(shared) and shared / least >= _PARAPHRASED_SHARE


_RULES: tuple[tuple[Reason, Rule], ...] = (
    (Reason.EMPTY, _is_empty),
    (Reason.LINES, _has_lines),
    (Reason.LENGTH, _is_long),
    (Reason.UNSEEN, _has_invisible_characters),
    (Reason.MARKERS, _contains_markers),
    (Reason.ADDRESS, _contains_address),
    (Reason.CODE, _contains_code),
    (Reason.ADDRESSED, _addresses_reader),
    (Reason.JUDGED, _judges_somebody),
    (Reason.REFUSAL, _is_refusal),
    (Reason.POLICY, _mentions_rules),
    (Reason.SCRIPT, _is_in_another_script),
    (Reason.LANGUAGE, _is_in_another_language),
    (Reason.COPY, _is_copy),
    (Reason.SECRET, _contains_secret),
    (Reason.ENCODED, copies.is_encoded),
    (Reason.NAME, names.has_hidden_name),
    (Reason.RETOLD, _paraphrases_instructions),
    (Reason.WORD, _contains_unknown_word),
)
