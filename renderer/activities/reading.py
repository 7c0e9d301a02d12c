"""Finds the kind of work in reasoning: cues of the newest sentences, weighed against each other. When unsure, it finds none."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from math import sqrt

from renderer.activities import cues
from renderer.activities.kinds import KINDS

_SHORTEST, _LONGEST = 450, 1_000  # characters of a passage that is judged
_SHORTEST_CONFIRMED = 220  # for a kind that what was asked for confirms
_SENTENCE = 400  # characters of a sentence at most
_READ = 4_000  # characters of a text that are looked at: more than are kept
_PER = 700  # characters for which a score is meant
_NEED, _NEED_UNTRIED, _NEED_BEHIND = 5.0, 6.0, 6.0
_NEED_CONFIRMED = 3.5  # in a short passage
_NEED_IN_HEADING = 2.0
_NOTABLE = _NEED / 2  # less is not looked at
_LEAD = 1.3  # over the best of another group
_HIDDEN_SHARE = 0.4
_AT_MOST = 4.0  # points of cues for one kind in one sentence
_OF_QUESTION = 0.5  # share of the weight of a word that stands in the question

_SENTENCE_END = re.compile(r"[.!?](?=[^\w.!?])|[\n。！？；]")
_SUM = re.compile(r"\d\s*[+*×·^]\s*\(?[-~]?\d|\d\s[-/÷]\s\(?\d|(?<![\d-])\d+-\d+\s*=|(?<![A-Z])(?<![A-Za-z]{2})[=≈]\s*[-~]?\d")
_CODE = re.compile(
    r"`[^`\n]+`|\b[a-z]\w*\([^)\n]{0,60}\)|^\s*(?:import|from|def|return|for|if|else|elif|while|class|const|let|var|local|echo|fi|done|"
    r"#include|struct|public)\b.*$|\b[a-z]+_[a-z_]+\b|\$\{?\w+|[{};]\s*$|\b[a-z]+[A-Z]\w+|\w [-+*]?= [^\s=][^\n;]{0,60};",
    re.MULTILINE,
)
_TRANSLATED = re.compile(r"""["“”']\s*(?:=>|->|→|means|meaning|is usually translated|translates to)""", re.IGNORECASE)
_QUOTED = re.compile(r"""["“”]([^"“”\n]{12,})["“”]""")
_CORRECTION = re.compile(r"\b(wait|actually|precisely|no[,:]|recompute|mistake|correct)\b", re.IGNORECASE)
_FUNCTION_VALUE = re.compile(r"\bf\(|\bx\s*=", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\ds?\b")
_NUMBER_OF_ITEM = re.compile(r"\s*\d{1,2}[.)]\s*")
_ITEM = re.compile(r"\s*[-•*] .{3,60}?(?:->|→|=>|: )")
_OF_INSTRUCTIONS = re.compile(r"\b(?:instruct|rule|restrict|role)", re.IGNORECASE)
_CJK = re.compile(r"[぀-ヿ㐀-鿿가-힯]")

_HIDDEN_ELSEWHERE = re.compile(
    r"政策|违规|违法|拒绝|不允许|系统提示|敏感|정책|거절|시스템|불법|richtlinie|verweiger|verboten|rechaz|ilegal|prohib", re.IGNORECASE
)
# Cues of reasoning in other languages than English.
_ELSEWHERE = {
    "compare": "比较|对比|相比|비교|vergleich|compara",
    "calc": "计算|相加|乘以|계산|berechn|rechne|calcul",
    "recheck": "检查一下|验证|确认|再看|확인|überprüf|nochmal prüf|verificar|comprobar|vérifi",
    "steps": "步骤|第一步|首先|단계|schritt|pasos|étape|paso a paso",
    "example": "例如|举例|예를 들|beispiel|por ejemplo|par exemple",
    "structure": "结构|大纲|分段|구성|gliedern|struktur|estructur|structur",
    "points": "要点|包括|提到|핵심|포함|erwähn|mencionar|mentionner|expliquer|conseils",
    "weigh": "或者|选择|方案|아니면|선택|entweder|oder lieber|opciones|option|méthodes",
    "code": "代码|函数|코드|함수|funktion|código|fonction",
    "translate": "翻译|번역|übersetz|traduc|tradui",
    "tone": "语气|말투|tonfall|amical|bienveillant|tono|simple et convivial",
    "meaning": "用户可能|意思是|의미|meint|gemeint|quiere decir",
    "draft": "起草|写一封|초안|entw[eu]rf|formuliere|verfass|redact|rédig",
}

# Kinds for which signs alone are not enough: the subject has them too.
_NEED_WORDS = frozenset(("recall", "timeline", "items", "steps", "code"))
_MONEY = r"\d[\d.,]{0,12}\s?(?:€|\$|£|eur|usd|dollar|ct\b|元|원)"
_AMOUNT = re.compile(r"\d\s?(?:[a-zA-Z°]{1,3}\b|cups?|grams?|spoons?|degrees)")
_TIME = re.compile(
    r"\d\d?:\d\d|\b20\d\d-\d\d|\b\d\d? [ap]m\b|\b(?:[Ww]eek|[Dd]ay) \d|\d (?:days?|weeks?|hours?) (?:before|after|later|from)\b"
)
# What the reasoning must contain, twice, for kinds whose line claims it.
_EVIDENCE = {
    "amounts": _AMOUNT,
    "chance": re.compile(r"\d\s*[/^]\s*\d|\d\s?%|\bP\(|[=≈]\s*0?\.\d"),
    "code": _CODE,
    "config": _CODE,
    "convert": _AMOUNT,
    "costs": re.compile(rf"(?:[€$£]\s?[\d.,]{{1,12}}|{_MONEY})\s*[-+*×·=≈]|[-+*×·=≈]\s*~?(?:[€$£]\s?\d|{_MONEY})", re.IGNORECASE),
    "count": re.compile(r"\(\d+\)|[=:→]\s?\d|\b[A-Za-z]+\d{1,2}\b|\b\d+ (?:words|letters|syllables|characters)"),
    "dates": _TIME,
    "fields": re.compile(r"""["'`]\s*:|\bnull\b|`\w+`"""),
    "law": re.compile(
        r"§|\b(?:laws?|legal\w*|courts?|statut\w+|[Aa]rt\.|Act|clauses?|(?:in)?valid|liab\w+|void|unenforceable|[A-Z]{2,4} \d{4}|BG[BH])\b"
    ),
    "query": re.compile(r"\b(?:SELECT|FROM|JOIN|GROUP BY|ORDER BY|COUNT\()"),
    "schedule": _TIME,
    "tests": re.compile(r"\bassert\b|\btest_\w+|\bexpect\(|\b[Tt]est (?:that|case|with|for)\b"),
}

# A kind does not appear after one of these: one who reviews code has read it.
_NOT_AFTER = {
    "calc": {"checkcalc"},
    "solve": {"checkcalc", "values", "calc"},
    "readcode": {"review", "debug"},
    "config": {"code"},
    "meaning": {"structure", "draft", "code", "points"},
    "tool": {"request", "gather", "results"},
    "ideas": {"draft"},
}


def possible_kinds(subjects: Collection[str], shown: Collection[str]) -> list[str]:
    """The kinds that may appear where the person's text shows these ``subjects``, after the kinds ``shown``; these too."""
    return [
        kind.name
        for kind in KINDS.values()
        if (not kind.needs or kind.needs in subjects) and _NOT_AFTER.get(kind.name, set()).isdisjoint(shown)
    ]


@dataclass(frozen=True, slots=True)
class PersonText:
    """What a passage is read against."""

    text: str
    """All that the person wrote, in small letters with single spaces."""
    words: frozenset[str]
    """The cues in the text, see ``cues.hits``."""
    subjects: frozenset[str]
    """See ``Kind.needs``."""
    is_frank: bool
    """Whether the text itself has a touchy word."""
    has_pair: bool
    """Whether it asks to compare two things."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    """What a sentence of the reasoning speaks for."""

    length: int
    text: str = ""
    hits: tuple[tuple[str, str, float], ...] = ()
    """See ``cues.hits``."""
    signs: dict[str, float] = field(default_factory=dict)
    """The points of each kind for signs other than words."""
    is_hidden: bool = False


class ReasoningPassage:
    """The newest sentences of the reasoning since the last line."""

    def __init__(self, asked: PersonText) -> None:
        self._asked = asked
        self._rest = ""
        self._kept: deque[tuple[int, str]] = deque()
        self._length = 0

    def feed(self, text: str) -> None:
        """More reasoning. Sentences are kept, and read when somebody asks what they show."""
        if len(text) > _READ:  # what comes before would be forgotten at once
            self._rest, text = "", text[-_READ:]
        searched = max(0, len(self._rest) - 1)
        self._rest += text
        begin = 0
        for end in _SENTENCE_END.finditer(self._rest, searched):
            self._keep(self._rest[begin : end.end()])
            begin = end.end()
        rest = self._rest[begin:]
        whole = len(rest) - len(rest) % _SENTENCE
        self._keep(rest[:whole])
        self._rest = rest[whole:]

    def clear(self) -> None:
        """A line has appeared: begin anew."""
        self._kept.clear()
        self._length = 0

    def read(self) -> PassageReading:
        """What the passage shows."""
        return PassageReading([_sentence(length, text, self._asked) for length, text in self._kept], self._asked)

    def _keep(self, text: str) -> None:
        """Append a sentence, in pieces of limited length, and forget the oldest pieces beyond the length of a passage."""
        for at in range(0, len(text), _SENTENCE):
            piece = text[at : at + _SENTENCE]
            if piece.isspace():
                continue
            while self._length > _LONGEST:
                self._length -= self._kept.popleft()[0]
            # About four Latin letters are a token, or one and a half signs.
            length = len(piece) if piece.isascii() else len(piece) + round(1.5 * len(_CJK.findall(piece)))
            self._kept.append((length, piece))
            self._length += length


class PassageReading:
    """A passage that was read."""

    def __init__(self, sentences: list[_Sentence], asked: PersonText) -> None:
        self._sentences = sentences
        self._asked = asked
        self._length = sum(sentence.length for sentence in sentences)
        self._words = defaultdict[str, set[str]](set)
        self._scores = self._scored()

    @property
    def is_hidden(self) -> bool:
        """Whether so much of it is about instructions or a refusal that no line may appear."""
        return sum(sentence.length for sentence in self._sentences if sentence.is_hidden) > _HIDDEN_SHARE * max(self._length, 1)

    @property
    def text(self) -> str:
        """The sentences of the passage without hidden ones, and without pieces of the question that it repeats; with single spaces."""
        return " ".join(" ".join(sentence.text for sentence in self._sentences).split())

    def kind(self, shown: Collection[str], confirmed: Collection[str] = ()) -> str | None:
        """The kind of work that the passage shows clearly, and that is not yet ``shown``. A short passage can show only one of those that
        are ``confirmed`` by what was asked for."""
        if self._length < _SHORTEST_CONFIRMED:
            return None
        is_short = self._length < _SHORTEST
        need = _NEED_CONFIRMED if is_short else _NEED
        ranked = self._ranked(possible_kinds(self._asked.subjects, shown))
        if not ranked or ranked[0][0] < need or (ranked[0][1] not in shown and not _leads(ranked)):
            return None
        top, best = ranked[0]
        behind = max(_NEED_BEHIND, (0.2 if best in shown else 0.55) * top)
        for score, name in ranked[:4]:
            needed = behind if name != best else _NEED_UNTRIED if name in cues.UNTRIED else need
            if score < needed:
                return None
            if name not in shown:
                return name if self._is_sure(name) and (name in confirmed or not is_short) else None
        return None

    def _scored(self) -> list[dict[str, float]]:
        """Points of the kinds in each sentence. A word counts the less the more often it came, and half if it stands in the question:
        there it is the subject, not what is being done."""
        times = defaultdict[tuple[str, str], int](int)
        scored: list[dict[str, float]] = []
        for sentence in self._sentences:
            scores = defaultdict[str, float](float)
            for kind, word, weight in sentence.hits:
                times[kind, word] += 1
                self._words[kind].add(word)
                share = (_OF_QUESTION if word in self._asked.words else 1.0) / sqrt(times[kind, word])
                scores[kind] = min(scores[kind] + weight * share, _AT_MOST)
            for kind, points in sentence.signs.items():
                scores[kind] += points
            scored.append(scores)
        return scored

    def _is_sure(self, name: str) -> bool:
        """Whether more than one sentence and more than one word speak for the kind."""
        sentences = sum(name in scores for scores in self._scores)
        is_seen = name not in _NEED_WORDS and sum(name in sentence.signs for sentence in self._sentences) >= 2
        return sentences >= 2 and (is_seen or len(self._words[name]) >= 2)

    def _is_borne_out(self, name: str) -> bool:
        """Whether the passage contains what the line of this kind claims."""
        evidence = _EVIDENCE.get(name)
        return evidence is None or sum(len(evidence.findall(sentence.text)) for sentence in self._sentences) >= 2

    def _ranked(self, possible: Collection[str]) -> list[tuple[float, str]]:
        """(score, kind) for a passage of the usual length, the best first."""
        scores = _sums(points for sentence in self._scores for points in sentence.items())
        self._attribute(scores)
        long = max(1.0, self._length / _PER)
        found = ((score / long * self._favour(name), name) for name, score in scores.items() if name in possible)
        return sorted(((score, name) for score, name in found if score >= _NOTABLE and self._is_borne_out(name)), reverse=True)

    def _attribute(self, scores: defaultdict[str, float]) -> None:
        """Give the points of shared signs to the kind that they mean here."""
        subjects = self._asked.subjects
        if numbered := scores.pop("numbered", 0):
            scores["steps" if "steps" in scores else "items"] += numbered
        if "review" in subjects and "code" in scores:  # read, not written
            scores["readcode"] += scores.pop("code") * 0.7
        if subjects & {"tools", "translate"} and "code" in scores:
            scores["code"] *= 0.4

    def _favour(self, name: str) -> float:
        if name == "compare" and self._asked.has_pair:
            return 1.5
        return 1.3 if KINDS[name].needs else 1.0


def kind_of_heading(text: str, possible: Collection[str]) -> str | None:
    """The kind that a heading of a hosted server's summary names, of those that are ``possible``; None if unsure."""
    words = cues.words_of(text[:200])
    bases = [base for word in words for base in _base_forms(word)]
    found = _sums((kind, weight) for kind, _, weight in (*cues.hits(words), *cues.hits(bases)))
    if found.keys() & {"hidden", "touchy"} or _OF_INSTRUCTIONS.search(text):
        return None
    ranked = sorted(((score, name) for name, score in found.items() if name in possible), key=lambda pair: -pair[0])
    return ranked[0][1] if ranked and ranked[0][0] >= _NEED_IN_HEADING and _leads(ranked) else None


def _base_forms(word: str) -> list[str]:
    """What a word in -ing may come from: planning, plan; comparing, compare."""
    stem = word.removesuffix("ing")
    if stem == word or any(cues.hits([word])):
        return []
    return [stem, f"{stem}e", *([stem[:-1]] if stem[-2:-1] == stem[-1:] else [])]


def _sums(points: Iterable[tuple[str, float]]) -> defaultdict[str, float]:
    sums = defaultdict[str, float](float)
    for kind, number in points:
        sums[kind] += number
    return sums


def _leads(ranked: list[tuple[float, str]]) -> bool:
    """Whether the first kind scores clearly higher than every kind of another group. If none does, the passage is about several things."""
    score, best = ranked[0]
    return all(score >= _LEAD * other for other, name in ranked[1:] if KINDS[name].group != KINDS[best].group)


def _sentence(length: int, text: str, asked: PersonText) -> _Sentence:
    hits = tuple(cues.hits(cues.words_of(text)))
    kinds = {kind for kind, *_ in hits}
    if "hidden" in kinds or ("touchy" in kinds and not asked.is_frank) or _HIDDEN_ELSEWHERE.search(text):
        return _Sentence(length, is_hidden=True)
    own = _QUOTED.sub(lambda quoted: " " if plain(quoted[1]).strip(" .?!…")[:60] in asked.text else quoted[0], text)
    if own != text:
        hits = tuple(cues.hits(cues.words_of(own)))
    signs = {kind: points for kind, points in _signs(own, asked.subjects) if points}
    return _Sentence(length, own, hits, signs)


def _signs(text: str, subjects: Collection[str]) -> Iterator[tuple[str, float]]:
    """Kinds with the points that signs other than words give them: sums, code, years, items of lists, other languages."""
    years = min(len(_YEAR.findall(text)), 3)
    yield "recall", years * 0.6
    yield "timeline", years * 0.5
    yield "numbered", 0.9 if _NUMBER_OF_ITEM.fullmatch(text) else 0.0
    yield "items", 1.0 if _ITEM.match(text) else 0.0
    yield "translate", 2.5 if _TRANSLATED.search(text) else 0.0
    if sums := min(len(_SUM.findall(text)), 3):
        yield "calc", sums * (0.8 if "maths" in subjects else 0.5)
        yield "checkcalc", 3.0 if _CORRECTION.search(text) else 0.0
        yield "values", 1.5 if _FUNCTION_VALUE.search(text) else 0.0
    if "code" in subjects:
        yield "code", min(len(_CODE.findall(text)), 4) * 0.5
    if not text.isascii():
        yield from ((kind, 2.0) for kind, pattern in _elsewhere().items() if pattern.search(text))


def plain(text: str) -> str:
    """A text in small letters with single spaces."""
    return " ".join(text.lower().split())


@cache
def _elsewhere() -> dict[str, re.Pattern[str]]:
    return {kind: re.compile(pattern) for kind, pattern in _ELSEWHERE.items()}
