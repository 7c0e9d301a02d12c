"""The words of reasoning that speak for each kind of work, and finding them.

Cues are separated by ``; ``, and have one to four words: ``!`` marks a strong one, ``*`` at the end stands for any ending.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

HIDDEN = (
    "polic*; allowed; disallow*; permit*; prohibit*; comply; complian*; guideline*; refus*; decline; jailbreak*; injection attack; "
    "moderation; safe completion; system prompt; system message; system says; system expects; system instruction*; developer message; "
    "developer instruction*; developer says; developer prompt; instruction says; instructions say; instructions are; "
    "instruction hierarchy; according to instruction*; according to rule*; per rule; per the rule*; the rule; must not; mustn't; "
    "should not reveal; should not mention; not disclose; cannot reveal; not reveal; can't help; cannot help; can't provide; "
    "cannot provide; can't comply; cannot comply; won't provide; we are chatgpt; as chatgpt; knowledge cutoff; user is trying; "
    "user is testing; user might be; user may be lying; user is angry"
)
"""A sentence with one of these counts for nothing: it may tell of instructions, a refusal or a judgement of the person."""

TOUCHY = (
    "secret; confidential; password; api key; illegal; illicit; unlawful; harm; harmful; harass*; hateful; hate; sexist; racist; "
    "stereotyp*; offensive; derogat*; defam*; dangerous; weapon*; explosive*; self harm; self-harm; suicid*; extremis*; child; minors; "
    "suspicious; malicious; trick; manipulat*; safety; unsafe; cannot disable; can't disable; sexual; violent; violence; copyright*; "
    "medical advice; legal advice; disclaimer; role play; pretend; instructed"
)
"""A sentence with one of these counts for nothing either, unless the person's own text has such a word."""

CUES: dict[str, str] = {
    "meaning": "might refer*; may refer*; likely refer*; probably refer*; refers to; refer to; likely mean*; probably mean*; they mean; "
    "might mean; ambiguous; not clear; unclear; what they mean; they may want; they might want; might be asking; !interpret*; "
    "!does that mean; not sure; likely they want; presumably; maybe they want",
    "missing": "not specified; not given; not provided; didn't specify; did not specify; doesn't specify; lack details; we lack; "
    "missing information; missing details; need more details; ask for clarification; need to clarify; clarifying question; don't know the; "
    "ask the user; need clarification",
    "document": "!the document; !the text says; !passage; !paragraph; !article says; !the article; !section; !the report; !page; "
    "in the text; excerpt; contract; clause; the file says",
    "data": "!dataset; !csv; !columns; !rows; the data; records; entries; the table has; spreadsheet",
    "results": "the results; returned; the response is; the function returned; function gave; we have the; got the result; search results; "
    "we found; tool result; result shows; the output shows; gave us",
    "picture": "!in the image; !the image; !the photo; !the picture; foreground; background; left side; visible in",
    "lookback": "!earlier in; !previous answer; !previous result; !previously; as we said; earlier answer; last message; previous message; "
    "from before",
    "recall": "!recall; !i recall; !let's recall; !i remember; known as; well known; is known; historically; was founded; was born; "
    "was released; discovered; in history; as far as i know; from memory",
    "example": "!an example; !for example; for instance; !example of; !examples; e.g; such as; sample; illustrat*; use case; scenario; "
    "example",
    "explain": "!analogy; !intuitive; !simple terms; !plain words; !explain simply; !layman; !easy to understand; explain how; "
    "explain why; explain what; explanation; clear explanation; intuition",
    "calc": "!compute; !computing; !calculate; !calculating; !multiply; !multiplying; !subtract; !sum of; !divided by; !times; total is; "
    "equals; percent; average",
    "solve": "!solve; !equation; !root; !roots; !factor; !polynomial; !derivative; !integral; !quadratic; !variable; substitut*; isolate; "
    "simplify; rational root",
    "values": "!try x; !test x; !plug; !evaluate f; evaluate; !interval; !bisection; !newton; f 1; f 2; approximate; numerically; "
    "numeric; between 1 and",
    "proof": "!prove; !proof; !lemma; !theorem; !induction; !contradiction; implies; suffices; without loss of generality",
    "checkcalc": "!compute precisely; !recompute; !recalculate; !compute more; !messing; !mistake; !wait compute; !precisely; !check sum; "
    "!verify calculation; accurate; more accurately; high precision; correct",
    "convert": "!convert*; !conversion; !kilomet*; !fahrenheit; !celsius; !ounces; !exchange rate",
    "count": "!count; !counting; !syllable*; !letters; how many; number of words; count words",
    "chance": "!probabilit*; !odds; !expected value; !combinations; !permutations; random variable",
    "dates": "!timezone; !time zone; !utc; !iso 8601; !tomorrow is; !today is; !calendar; !weekday; !deadline; dst; monday; friday; "
    "sunday; saturday; next week; o'clock",
    "costs": "!budget; !cost; !costs; !price; !prices; !expenses; !fee; !fees; cheaper; per night; per person; total cost",
    "logic": "!therefore; !contradict*; !deduce; !logically; !if and only if; it follows; must be true; must be false; so it must; impl*",
    "fit": "!constraint; !constraints; !criteria; !requirement; !requirements; !meets; !satisf*; conditions; must satisfy; at most; "
    "at least",
    "pattern": "!pattern; !sequence; !symmetr*; !transformation; regularity",
    "cause": "!cause; !caused by; !root cause; !reason why; !symptom; !symptoms; !diagnos*; due to; because of; why it",
    "recheck": "!double check; !double-check; !let's check; !let me check; !verify; !let's verify; !make sure; !check again; !confirm; "
    "sanity check; is that correct; is it correct; wait",
    "rethink": "!alternatively; !another approach; !another way; !instead we; !different approach; !let's try; other approach; "
    "another idea; better approach; or we could",
    "compare": "!compare; !comparing; !comparison; !versus; !vs; !difference between; !differences; !compared to; !whereas; better than; "
    "faster than; cheaper than; more expensive; on the other hand",
    "weigh": "!option; !options; !choose; !choosing; !pick; !which one; !trade-off; !tradeoff; could be; maybe choose; either; candidate*; "
    "decide; or maybe; prefer",
    "pros": "!pros; !cons; !advantage*; !disadvantage*; !drawback*; !downside*; !benefit*; upside",
    "steps": "!steps; !plan; !the plan; !delegate; !subtask*; !one by one; !step 1; !step by step; !step 2; !first step; !workflow; "
    "!procedure; !next step; !sequentially; first we; then we; after that; phases; in order",
    "days": "!itinerary; !day 1; !day 2; !day trip; !sightseeing; !museum; !hotel; !temple; morning; afternoon; evening; travel; visit; "
    "attractions; restaurants",
    "schedule": "!schedule; !timetable; !time slot; !time slots; !shifts; !weekly plan; weeks; hours per",
    "structure": "!structure; !sections; !bullet points; !bullet; !bullets; !headings; !outline; !organize; !organized; !format; section; "
    "introduction; conclusion; numbered list; markdown; subheadings",
    "points": "!also mention; !mention; !cover; !covering; !key points; !main points; !include; !overview; !should include; list of; "
    "provide information; also include; explain; talk about; aspects; topics",
    "timeline": "!timeline; !chronolog*; !milestones; !1950s; !1990s; !century; decade; era",
    "table": "!tabulate; !a table; !the table; !markdown table; !columns; table with; rows; cells",
    "readcode": "!reads; !script; !loop; the function; this function; the script; the code",
    "code": "!need to implement; !implement*; !class; !classes; !module*; !library; !libraries; !we'll use; !we can use; !use a; subclass; "
    "api; endpoint*; function; functions; route; design; struct; thread; mutex; handler; component; !import; !def; !return; !let's write; "
    "!write code; !the code; !code; !snippet; loop; array; string; variable; parse; print; else",
    "review": "!code review; !review; !issue; !issues; !potential; !bug; !bugs; !vulnerab*; !best practice*; !readability; !quoting; "
    "!unquoted; !injection; !maintainab*; !unused; !error handling; !suggest*; !improve*; !refactor*; problem; problems; security; "
    "should be; missing; inconsisten*",
    "debug": "!bug; !bugs; !debug*; !traceback; fix; !corrected; !never matches; turns it into; disappear; wrong; !exception; "
    "!stack trace; !fails; !crash*; !doesn't work; !off by one; why it fails; error",
    "edge": "!edge case*; !corner case*; !what if; !empty input; !overflow; boundary; fallback; handle the case",
    "tests": "!unit test*; !test case*; !tests; !pytest; !assert; test suite; coverage",
    "query": "!select; !query; !sql; !join; !group by; !where clause; table; column",
    "config": "!config; !configuration; !settings; !install*; !dependencies; !environment variable*; !cmake; !cfg; docker; compile; "
    "build instructions; setup; credentials",
    "fields": "!json; !schema; !field; !fields; !key; !valid json; !indices; !property; !properties; array of; object with; compact",
    "extract": "!extract*; !pick out; !parse; !enumerate; !list all; find all; identify; names; entries",
    "match": "!match; !matching; !matches; !qualif*; !candidates; relevant; include only; contains; filter",
    "sort": "!classif*; !categor*; !sort; !group them; !label*; !rank*; groups",
    "translate": "!translat*; !in chinese; !in english; !in german; !simplified chinese; !original text; literally; sentence; term; phrase",
    "pronounce": "!pronounc*; !pronunciation; !read as; !reading; !phonetic*; !vowel; !consonant; !romanization; !katakana; sound",
    "draft": "!draft; !write a; !compose; !let's write; !we'll write; !opening; !paragraphs; !first paragraph; closing; scene; "
    "words long; wording; greeting; kind regards",
    "rewrite": "!rewrite; !rephrase; !reword; !paraphras*; !improve the; !edit; !more polite; more formal; politely; version",
    "proofread": "!grammar; !spelling; !typo*; !punctuation; !proofread*; comma; tense",
    "summary": "!summar*; !main points; !key takeaway*; !condense; !tl dr; in one sentence; short summary",
    "tone": "!tone; !friendly; !polite*; !empath*; !supportive; !formal; !professional; !warm; style; respectful",
    "ideas": "!idea; !ideas; !brainstorm*; !creative; !theme*; !inspir*; concept; maybe something like",
    "story": "!story; !character*; !plot; !protagonist; !ending; !narrat*; dialogue; setting",
    "verse": "!haiku; !rhym*; !syllable*; !verse*; !stanza*; !meter; !poem; lyric*; count; line",
    "profile": "!profile; !demographic*; !persona; !audience; !age; !occupation; !background; !psycholog*; !behavio*; vulnerab*; traits",
    "sketch": "!ascii; !art; !draw; !drawing; !shape; !cat; !owl; !fancy; bigger; stylized",
    "tool": "!use the; !which tool; !use tool; !appropriate tool; !available tools; tool; function",
    "request": "!call; !call the; !function call; !parameters; !parameter; !arguments; !call for; http; invoke; request",
    "gather": "!for each; !each city; !one by one; !next city; !collect data; !remaining; all of them; fetch; loop",
    "message": "email; e-mail; !subject; !body; !recipient; !send; message; reply",
    "amounts": "!grams; !gram; !portions; !servings; !serves; !per person; !ml; !cups; !tablespoon*; !quantit*; !ingredients; !ingredient; "
    "g of; kg; dry; simmer; minutes",
    "items": "!each statement; !each question; !for each; !one by one; !each of the; each one; next one",
    "detail": "!how much detail; !level of detail; !too long; !too technical; !high-level; concise; brief; short; thorough; comprehensive; "
    "length",
    "law": "!clause; !statute; !court; !case law; !notice period; !tenant; !landlord; legal; law; invalid; valid; liable; rights; bgh",
}
"""By the names of kinds."""

_WORD = re.compile(r"[A-Za-zÀ-ɏ][A-Za-zÀ-ɏ'’\-]*(?:\+\+)?|\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class _Cue:
    """A word, or a few words, that speak for a kind of work. Cues of a kind with the same ``word`` count once."""

    kind: str
    """The kind of an activity; or ``hidden`` or ``touchy``."""
    word: str
    """The one that matters."""
    weight: float
    rest: tuple[str, ...]
    """The words that must follow the first."""
    any_ending: bool
    """Whether the last word may have any ending."""

    def follows(self, words: Sequence[str], at: int) -> bool:
        found = words[at : at + len(self.rest)]
        if len(found) < len(self.rest):
            return False
        if self.any_ending and self.rest:
            return tuple(found[:-1]) == self.rest[:-1] and found[-1].startswith(self.rest[-1])
        return tuple(found) == self.rest


def words_of(text: str) -> list[str]:
    """The words and numbers of a text, in small letters."""
    return [word.lower() for word in _WORD.findall(text)]


UNTRIED = frozenset(
    words_of(
        "missing data picture lookback recall proof convert chance costs logic fit pattern cause recheck rethink pros schedule debug edge "
        "tests extract sort draft rewrite proofread summary ideas message items detail"
    )
)
"""Kinds that no recorded reasoning has shown yet."""


def hits(words: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    """(kind, word, weight) of every cue among the words; the kinds ``hidden`` and ``touchy`` too."""
    for at, word in enumerate(words, 1):
        for cue in _beginning_with(word):
            if not cue.rest or cue.follows(words, at):
                yield cue.kind, cue.word, cue.weight


@lru_cache(20_000)
def _beginning_with(word: str) -> tuple[_Cue, ...]:
    exact, prefixes = _dictionary()
    return (*exact.get(word, ()), *(cue for prefix, cues in prefixes.items() if word.startswith(prefix) for cue in cues))


@cache
def _dictionary() -> tuple[dict[str, list[_Cue]], dict[str, list[_Cue]]]:
    """All cues by their first word, and those that are the beginning of a word."""
    exact, prefixes = defaultdict[str, list[_Cue]](list), defaultdict[str, list[_Cue]](list)
    for kind, cues in {"hidden": HIDDEN, "touchy": TOUCHY, **CUES}.items():
        for cue in cues.split("; "):
            first, *rest = words_of(cue.rstrip("*"))
            weight = (2.0 if cue.startswith("!") else 1.0) + (0.5 if rest else 0.0)
            any_ending = cue.endswith("*")
            into = prefixes if any_ending and not rest else exact
            word = max([*reversed(rest), first], key=len)
            into[first].append(_Cue(kind, word.removesuffix("s"), weight, tuple(rest), any_ending))
    return dict(exact), dict(prefixes)
