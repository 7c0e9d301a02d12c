"""What a line may name: short pieces of the person's own question, and names of their files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from renderer.activities.cues import words_of

MOST = 15
"""So many spans of a question, and names of files, can be chosen from."""

_SHORTEST = 7
_LONG = 1_500  # characters of a question in which many a word looks like a name
_PAIR_WITHIN = 1_200
_LETTER = "A-Za-zÀ-ÖØ-öø-ɏḀ-ỿΆΈ-ώЀ-ҁҊ-ӿ々ぁ-ゖァ-ヺー㐀-䶿一-鿿가-힣"
_NAMEABLE = re.compile(rf"[{_LETTER}0-9][{_LETTER}0-9 '’+#._-]{{0,39}}")

_NOT_PROSE = re.compile(r"""```.*?```|`[^`]*`|https?://\S+|["“”«»][^"“”«»\n]{60,}["“”«»]""", re.DOTALL)
_SCRIPT_CHANGE = re.compile(r"(?<=[A-Za-z0-9])(?=[぀-ヿ㐀-鿿가-힯])|(?<=[぀-ヿ㐀-鿿가-힯])(?=[A-Za-z0-9])")
_PART_END = re.compile(r"""[.!?;:,\n()\[\]{}|*#<>=/\\"“”«»。！？；：，、（）【】「」『』]+""")
_PLAIN_WORD = re.compile(r"[A-Za-zÀ-ɏ][\wÀ-ɏ+\-]{0,22}")
_NAME = re.compile(r"(?=\w*[a-z])[A-Z][a-z]+[A-Z]\w*|[a-z]+[A-Z]\w*|[A-Z]{2,}[a-z]+\w*|[A-Z]{3,8}\d*")
_BAD_END = re.compile(
    r"(ing|ed|ly|able|ible|ful|ous|less)$|^(information|example|examples|list|lines|details|questions?|answers?|things?|way|ways|sentence|"
    r"sentences|text|words?|order|number|part|kind|type|piece|bit|lot|steps?|overview|level|output|input|result|results|use|case|time|times|"
    r"people|person|user|everyone|someone)$",
    re.IGNORECASE,
)
_STOP_WORDS = frozenset(
    words_of(
        "between versus difference differences a an the and or but if then else of to in on at by for with from as is are was were be "
        "been being am do does did done have has had having i you he she it we they me him her us them my your his its our their this "
        "that these those there here what which who whom whose when where why how not no nor so too very can could will would shall "
        "should may might must just also only than into about over under again more most some any each every all both few please now "
        "right really good best less like want until need needs get got give gives make makes made take let lets tell say says said ask "
        "asks use using used one two three first last next other another same own such many much way thing things something anything "
        "everything able still yet even ever never while during before after among via per latest und oder aber der die das den dem des "
        "ein eine einen einem einer ich du er sie es wir ihr mir mich dir dich ist sind war mit von zu zum zur im auf für bei nach aus "
        "wie was wer wo wann warum bitte nicht auch nur noch el la los las un una unos unas y o de del que en con por para como son te se "
        "lo mi tu su qué cómo cuál le les et ou une dans pour avec est sont qui ce cette je il elle nous vous zwischen unterschied zwei "
        "drei"
    )
)
_ASKING = frozenset(
    words_of(
        "compara vergleiche erkläre write explain describe translate compare calculate compute solve list show create build generate "
        "provide summarize review fix find help plan recommend suggest add change implement convert check extract return output answer "
        "respond reply convey call read keep think going know include mention discuss consider start stop run produce introduce draft "
        "rewrite improve move open close send delete remind bring use gives asked asking wants looking trying doing making getting "
        "preserve act pass running saying given based following described shown"
    )
)

_THING = r"([\w'’+#.-]{1,24}?(?: [\w'’+#-]{2,24}?)?)"
_ARTICLE = r"(?:(?:the|a|an|den|die|das|dem|ein|eine|einen|el|la|los|las|un|una) )?"
_AFTER = r"(?=\s(?:for|in|on|from|of|which|regarding|für|im|von|bei|nach|para|en|de|with)\b|[?.,;:]|$)"
_PAIRS = (
    re.compile(
        r"(?:\bcompare|comparing|\bvergleiche?n?|\bcompara|differences? between|unterschiede? zwischen|diferencias? entre)\s"
        rf"{_ARTICLE}{_THING}\s(?:and|with|to|und|mit|y|con)\s{_ARTICLE}{_THING}{_AFTER}",
        re.IGNORECASE,
    ),
    re.compile(rf"{_THING.replace('{1,24}?', '{1,24}')}\s(?:vs\.?|versus)\s{_THING}{_AFTER}", re.IGNORECASE),
    re.compile(
        r"(?:better|cheaper|faster|healthier|safer|heavier|besser|günstiger|schneller|mejor)\b[^?.]{0,30}?[,:]\s"
        rf"{_ARTICLE}{_THING},?\s(?:or|oder|o)\s{_ARTICLE}{_THING}{_AFTER}",
        re.IGNORECASE,
    ),
)
_CJK_THING = r"([一-鿿A-Za-z0-9+]{1,8}?)"
_CJK_PAIRS = (
    re.compile(rf"(?:比较|对比)(?:一下)?{_CJK_THING}(?:和|与|跟){_CJK_THING}(?:在|从|哪|的|，|。|？|\?|$)"),
    re.compile(rf"(?:^|[，。？\s]){_CJK_THING}(?:和|与|跟|还是){_CJK_THING}(?:哪个|哪一个|有什么(?:区别|不同)|的(?:区别|差别|不同))"),
    re.compile(
        r"([가-힣A-Za-z0-9+]{1,10}?)(?:와|과|이랑|랑|하고) ([가-힣A-Za-z0-9+]{1,10}?)(?:의 차이|의 장단점|을 비교|를 비교| 비교| 중)"
    ),
)
_NOT_COMPARED = frozenset(("pros", "advantages", "benefits", "vorteile", "ventajas"))
_PLACE = re.compile(
    r"\b(?:[Dd]ays?|[Ww]eeks?|[Ww]eekend|[Tt]rip|[Tt]ravel\w{0,4}|[Vv]isit\w{0,3}|[Vv]acation|[Hh]olidays?|[Ii]tinerary|[Tt]agen?|[Ww]ochenende|"
    r"[Rr]eise|[Uu]rlaub|[Dd]ías|[Vv]iaje|[Jj]ours|[Vv]oyage) (?:in|to|for|through|around|nach|en|à|a)"
    rf" ([A-ZÀ-ÖØ-Þ][{_LETTER}'’-]+(?: [A-ZÀ-ÖØ-Þ][{_LETTER}'’-]+)?)"
)


def may_be_named(text: str) -> bool:
    """Whether a line can show this text: at most 40 characters, letters and digits of scripts that run from left to right."""
    return _NAMEABLE.fullmatch(text) is not None


def phrases(question: str) -> list[str]:
    """The spans of a question that a line can be about: two to four words that belong together, or one word that is surely a name."""
    prose = _SCRIPT_CHANGE.sub("\n", _NOT_PROSE.sub("\n", question))
    has_names = len(question) < _LONG and not question.isupper()
    found: dict[str, str] = {}
    for part in _PART_END.split(prose):
        for run in _runs(part):
            names = [word for word in run if has_names and _NAME.fullmatch(word)]
            ends = [" ".join(run[at:]) for at in range(max(0, len(run) - 4), len(run) - 1) if not run[at].lower().endswith("ing")]
            for span in (*names, *(end for end in ends if len(end) >= _SHORTEST)):  # English nouns stand last: only ends of a run
                found.setdefault(span.lower(), span)
    whole = " ".join(question.split()).lower().strip(" ?.!")
    return [span for folded, span in found.items() if folded != whole and _is_in(question, span)][:MOST]


def pair(question: str) -> tuple[str, str] | None:
    """The two things that the question asks to compare."""
    begin = " ".join(question[:_PAIR_WITHIN].split())
    for pattern in _CJK_PAIRS:
        if match := pattern.search(begin[: _PAIR_WITHIN // 2]):
            return _both(question, match[1], match[2])
    for pattern in _PAIRS:
        match = pattern.search(begin)
        words = _compared(match[1].split(), match[2].split()) if match else None
        if words:
            return _both(question, *words)
    return None


def place(question: str) -> str | None:
    """Where the days are to be planned, if the question names one place."""
    places = {match[1] for match in _PLACE.finditer(" ".join(question[:_PAIR_WITHIN].split()))}
    name = places.pop() if len(places) == 1 else ""
    return name if _is_in(question, name) else None


def file_names(files: Sequence[str]) -> list[str]:
    """The names of files that a line can show: with an ending, so that no usual word of reasoning is taken for one."""
    return [name for name in dict.fromkeys(files) if "." in name and may_be_named(name)][:MOST]


def most_used(spans: Sequence[str], passage: str, *, in_short_question: bool) -> str | None:
    """The span that the passage uses most: at least twice, or once if it is a phrase of a short question. None if another one, which has no
    word in common with it, is used as much."""
    ranked: list[tuple[int, int, str]] = []
    for span in spans:
        times = _times(span, passage)
        if times >= 2 or (times == 1 and in_short_question and " " in span):
            ranked.append((min(times, 2) * len(span.split()), len(span), span))
    ranked.sort(reverse=True)
    if not ranked:
        return None
    use, _, best = ranked[0]
    words = set(best.lower().split())
    return best if all(other < use for other, _, span in ranked[1:] if words.isdisjoint(span.lower().split())) else None


def only_file_in(passage: str, files: Sequence[str]) -> str | None:
    """The file whose name the passage mentions, if it is one."""
    found = [name for name in files if _times(name, passage)]
    return found[0] if len(found) == 1 else None


def _times(span: str, passage: str) -> int:
    """How often the passage has the span as words of their own. One word is a name only as it is written."""
    as_written = span.isalnum()
    return len(re.findall(rf"(?<!\w){re.escape(span)}(?!\w)", passage, 0 if as_written else re.IGNORECASE))


def _runs(part: str) -> list[list[str]]:
    """Runs of words with a content of their own. A word of asking, a short word or a number ends a run."""
    runs: list[list[str]] = [[]]
    for word in part.split():
        bare = word.strip("'’-–—_~^+")
        if _PLAIN_WORD.fullmatch(bare) and _has_content(bare) and bare.lower() not in _ASKING:
            runs[-1].append(bare)
        elif runs[-1]:
            runs.append([])
    for run in runs:
        while run and _BAD_END.search(run[-1]):
            run.pop()
    return runs


def _has_content(word: str) -> bool:
    return len(word) > 2 and word.lower() not in _STOP_WORDS


def _compared(first: list[str], second: list[str]) -> tuple[str, str] | None:
    while second and not (_has_content(second[-1]) or second[-1].isupper()):
        second.pop()
    sound = all((_has_content(word) or word.isupper()) and word.lower() not in _ASKING for word in first + second)
    return (" ".join(first), " ".join(second)) if second and sound and first[0].lower() not in _NOT_COMPARED else None


def _both(question: str, first: str, second: str) -> tuple[str, str] | None:
    return (first, second) if _is_in(question, first) and _is_in(question, second) and first.lower() != second.lower() else None


def _is_in(question: str, span: str) -> bool:
    """Whether a line can show the span, and a page that shows the question contains it."""
    return may_be_named(span) and span in question
