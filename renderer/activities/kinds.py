"""The kinds of work that a line of a reasoning summary can name: a closed table.

Each kind has its sentence in English; the other languages are in the catalogues of translations. No kind tells of instructions, rules,
refusals or doubts about the person: a line must not tell by its choice what is hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

About = Literal["", "span", "pair", "place", "file"]


def noop(sentence: str) -> str:
    """Mark a sentence for translation."""
    return sentence


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of work.

    ``group``: kinds of one group may compete in a passage. ``needs``: the subject that the person's own text must show before the kind is
    possible; empty: none. ``cues``: words of reasoning that speak for it, separated by ``; ``: ``!`` marks a strong one, ``*`` any ending.
    ``sentence``: the line. ``about``: what the line may name, and ``named``: the line then, with ``{}`` for each span.
    """

    name: str
    group: str
    needs: str
    cues: str
    sentence: str
    about: About = ""
    named: str = ""


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "meaning",
            "understand",
            "",
            "might refer*; may refer*; likely refer*; probably refer*; refers to; refer to; likely mean*; probably mean*; they mean; "
            "might mean; ambiguous; not clear; unclear; what they mean; they may want; they might want; might be asking; "
            "!interpret*; !does that mean; not sure; likely they want; presumably; maybe they want",
            noop("Working out what is meant"),
            "span",
            noop("Working out what “{}” means"),
        ),
        Kind(
            "missing",
            "understand",
            "",
            "not specified; not given; not provided; didn't specify; did not specify; doesn't specify; lack details; we lack; "
            "missing information; missing details; need more details; ask for clarification; need to clarify; clarifying question; "
            "don't know the; ask the user; need clarification",
            noop("Noting what is missing"),
        ),
        Kind(
            "document",
            "understand",
            "doc",
            "!the document; !the text says; !passage; !paragraph; !article says; !the article; !section; !the report; !page; "
            "in the text; excerpt; contract; clause; the file says",
            noop("Reading the document"),
            "file",
            noop("Reading {}"),
        ),
        Kind(
            "data",
            "understand",
            "doc",
            "!dataset; !csv; !columns; !rows; the data; records; entries; the table has; spreadsheet",
            noop("Going through the data"),
            "file",
            noop("Going through {}"),
        ),
        Kind(
            "results",
            "understand",
            "tools",
            "the results; returned; the response is; the function returned; function gave; we have the; got the result; "
            "search results; we found; tool result; result shows; the output shows; gave us",
            noop("Looking at the results"),
        ),
        Kind(
            "picture",
            "understand",
            "image",
            "!in the image; !the image; !the photo; !the picture; foreground; background; left side; visible in",
            noop("Looking at the picture"),
        ),
        Kind(
            "lookback",
            "understand",
            "turns",
            "!earlier in; !previous answer; !previous result; !previously; as we said; earlier answer; last message; "
            "previous message; from before",
            noop("Going back over the conversation"),
        ),
        Kind(
            "recall",
            "know",
            "",
            "!recall; !i recall; !let's recall; !i remember; known as; well known; is known; historically; was founded; was born; "
            "was released; discovered; in history; as far as i know; from memory",
            noop("Recalling what is known"),
            "span",
            noop("Recalling what is known about “{}”"),
        ),
        Kind(
            "example",
            "know",
            "",
            "!an example; !for example; !example of; !examples; e.g; such as; sample; illustrat*; use case; scenario; example",
            noop("Looking for good examples"),
        ),
        Kind(
            "explain",
            "know",
            "",
            "!analogy; !intuitive; !simple terms; !plain words; !explain simply; !layman; !easy to understand; explain how; "
            "explain why; explain what; explanation; clear explanation; intuition",
            noop("Looking for a clear explanation"),
        ),
        Kind(
            "calc",
            "maths",
            "",
            "!compute; !computing; !calculate; !calculating; !multiply; !multiplying; !subtract; !sum of; !divided by; !times; "
            "total is; equals; percent; average",
            noop("Doing the calculation"),
        ),
        Kind(
            "solve",
            "maths",
            "maths",
            "!solve; !equation; !root; !roots; !factor; !polynomial; !derivative; !integral; !quadratic; !variable; substitut*; "
            "isolate; simplify; rational root",
            noop("Solving the equation"),
        ),
        Kind(
            "values",
            "maths",
            "maths",
            "!try x; !test x; !plug; !evaluate f; !evaluate; !interval; !bisection; !newton; f 1; f 2; approximate; numerically; "
            "numeric; between 1 and",
            noop("Trying out values"),
        ),
        Kind(
            "proof",
            "maths",
            "prove",
            "!prove; !proof; !lemma; !theorem; !induction; !contradiction; implies; suffices; without loss of generality",
            noop("Working on the proof"),
        ),
        Kind(
            "checkcalc",
            "maths",
            "maths",
            "!compute precisely; !recompute; !recalculate; !compute more; !messing; !mistake; !wait compute; !precisely; !check sum; "
            "!verify calculation; accurate; more accurately; high precision; correct",
            noop("Checking the calculation"),
        ),
        Kind(
            "convert",
            "maths",
            "unit",
            "!convert*; !conversion; !kilomet*; !fahrenheit; !celsius; !ounces; !exchange rate",
            noop("Converting the units"),
        ),
        Kind(
            "count",
            "maths",
            "",
            "!count; !counting; !syllable*; !letters; how many; number of words; count words",
            noop("Counting"),
        ),
        Kind(
            "chance",
            "maths",
            "odds",
            "!probabilit*; !odds; !expected value; !combinations; !permutations; random variable",
            noop("Working out the probabilities"),
        ),
        Kind(
            "dates",
            "maths",
            "when",
            "!timezone; !time zone; !utc; !iso 8601; !tomorrow is; !today is; !calendar; !weekday; !deadline; dst; monday; friday; "
            "sunday; saturday; next week; o'clock",
            noop("Working out dates and times"),
        ),
        Kind(
            "costs",
            "maths",
            "money",
            "!budget; !cost; !costs; !price; !prices; !expenses; !fee; !fees; cheaper; per night; per person; total cost",
            noop("Adding up the costs"),
        ),
        Kind(
            "logic",
            "logic",
            "",
            "!therefore; !contradict*; !deduce; !logically; !if and only if; it follows; must be true; must be false; so it must; impl*",
            noop("Working through the logic"),
        ),
        Kind(
            "fit",
            "logic",
            "",
            "!constraint; !constraints; !criteria; !requirement; !requirements; !meets; !satisf*; conditions; must satisfy; at most; "
            "at least",
            noop("Checking the requirements"),
        ),
        Kind(
            "pattern",
            "logic",
            "",
            "!pattern; !sequence; !symmetr*; !transformation; regularity",
            noop("Looking for a pattern"),
        ),
        Kind(
            "cause",
            "logic",
            "",
            "!cause; !caused by; !root cause; !reason why; !symptom; !symptoms; !diagnos*; due to; because of; why it",
            noop("Looking for the cause"),
        ),
        Kind(
            "recheck",
            "logic",
            "",
            "!double check; !double-check; !let's check; !let me check; !verify; !let's verify; !make sure; !check again; !confirm; "
            "sanity check; is that correct; is it correct; wait",
            noop("Double-checking"),
        ),
        Kind(
            "rethink",
            "logic",
            "",
            "!alternatively; !another approach; !another way; !instead we; !different approach; !let's try; other approach; "
            "another idea; better approach; or we could",
            noop("Trying another approach"),
        ),
        Kind(
            "compare",
            "decide",
            "",
            "!compare; !comparing; !comparison; !versus; !vs; !difference between; !differences; !compared to; !whereas; "
            "better than; faster than; cheaper than; more expensive; on the other hand",
            noop("Comparing the options"),
            "pair",
            noop("Comparing {} and {}"),
        ),
        Kind(
            "weigh",
            "decide",
            "",
            "!option; !options; !choose; !choosing; !pick; !which one; !trade-off; !tradeoff; could be; maybe choose; either; "
            "candidate*; decide; or maybe; prefer",
            noop("Weighing the options"),
        ),
        Kind(
            "pros",
            "decide",
            "",
            "!pros; !cons; !advantage*; !disadvantage*; !drawback*; !downside*; !benefit*; upside",
            noop("Weighing pros and cons"),
        ),
        Kind(
            "steps",
            "plan",
            "",
            "!steps; !plan; !the plan; !delegate; !subtask*; !one by one; !step 1; !step by step; !step 2; !first step; !workflow; "
            "!procedure; !next step; !sequentially; first we; then we; after that; phases; in order",
            noop("Planning the steps"),
        ),
        Kind(
            "days",
            "plan",
            "trip",
            "!itinerary; !day 1; !day 2; !day trip; !sightseeing; !museum; !hotel; !temple; morning; afternoon; evening; travel; "
            "visit; attractions; restaurants",
            noop("Planning the days"),
            "place",
            noop("Planning the days in {}"),
        ),
        Kind(
            "schedule",
            "plan",
            "schedule",
            "!schedule; !timetable; !time slot; !time slots; !shifts; !weekly plan; weeks; hours per",
            noop("Making a schedule"),
        ),
        Kind(
            "structure",
            "plan",
            "",
            "!structure; !sections; !bullet points; !bullet; !bullets; !headings; !outline; !organize; !organized; !format; section; "
            "introduction; conclusion; numbered list; markdown; subheadings",
            noop("Structuring the answer"),
        ),
        Kind(
            "points",
            "plan",
            "",
            "!also mention; !mention; !cover; !covering; !key points; !main points; !include; !overview; !should include; list of; "
            "provide information; also include; explain; talk about; aspects; topics",
            noop("Collecting the main points"),
            "span",
            noop("Collecting the main points on “{}”"),
        ),
        Kind(
            "timeline",
            "plan",
            "past",
            "!timeline; !chronolog*; !milestones; !1950s; !1990s; !century; decade; era",
            noop("Putting events in order"),
        ),
        Kind(
            "table",
            "plan",
            "",
            "!tabulate; !a table; !the table; !markdown table; !columns; table with; rows; cells",
            noop("Laying out a table"),
        ),
        Kind(
            "readcode",
            "code",
            "review",
            "!reads; !script; !loop; the function; this function; the script; the code",
            noop("Reading the code"),
            "file",
            noop("Reading {}"),
        ),
        Kind(
            "code",
            "code",
            "code",
            "!need to implement; !implement*; !class; !classes; !module*; !library; !libraries; !we'll use; !we can use; !use a; "
            "subclass; api; endpoint*; function; functions; route; design; struct; thread; mutex; handler; component; !import; !def; "
            "!return; !let's write; !write code; !the code; !code; !snippet; loop; array; string; variable; parse; print; else",
            noop("Working on the code"),
        ),
        Kind(
            "review",
            "code",
            "review",
            "!code review; !review; !issue; !issues; !potential; !bug; !bugs; !vulnerab*; !best practice*; !readability; !quoting; "
            "!unquoted; !injection; !maintainab*; !unused; !error handling; !suggest*; !improve*; !refactor*; problem; problems; "
            "security; should be; missing; inconsisten*",
            noop("Reviewing the code"),
            "file",
            noop("Reviewing {}"),
        ),
        Kind(
            "debug",
            "code",
            "code",
            "!bug; !bugs; !debug*; !traceback; fix; !corrected; !never matches; turns it into; disappear; wrong; !exception; "
            "!stack trace; !fails; !crash*; !doesn't work; !off by one; why it fails; error",
            noop("Looking for the bug"),
        ),
        Kind(
            "edge",
            "code",
            "code",
            "!edge case*; !corner case*; !what if; !empty input; !overflow; boundary; fallback; handle the case",
            noop("Thinking of edge cases"),
        ),
        Kind(
            "tests",
            "code",
            "code",
            "!unit test*; !test case*; !tests; !pytest; !assert; test suite; coverage",
            noop("Planning tests"),
        ),
        Kind(
            "query",
            "code",
            "query",
            "!select; !query; !sql; !join; !group by; !where clause; table; column",
            noop("Writing the query"),
        ),
        Kind(
            "config",
            "code",
            "code",
            "!config; !configuration; !settings; !install*; !dependencies; !environment variable*; !cmake; !cfg; docker; compile; "
            "build instructions; setup; credentials",
            noop("Working out the setup"),
        ),
        Kind(
            "fields",
            "data",
            "data",
            "!json; !schema; !field; !fields; !key; !valid json; !indices; !property; !properties; array of; object with; compact",
            noop("Filling in the fields"),
        ),
        Kind(
            "extract",
            "data",
            "data",
            "!extract*; !pick out; !parse; !enumerate; !list all; find all; identify; names; entries",
            noop("Picking out the details"),
        ),
        Kind(
            "match",
            "data",
            "",
            "!match; !matching; !matches; !qualif*; !candidates; relevant; include only; contains; filter",
            noop("Looking for matches"),
        ),
        Kind(
            "sort",
            "data",
            "",
            "!classif*; !categor*; !sort; !group them; !label*; !rank*; groups",
            noop("Sorting into groups"),
        ),
        Kind(
            "translate",
            "language",
            "translate",
            "!translat*; !in chinese; !in english; !in german; !simplified chinese; !original text; literally; sentence; term; phrase",
            noop("Translating the text"),
        ),
        Kind(
            "pronounce",
            "language",
            "pronounce",
            "!pronounc*; !pronunciation; !read as; !reading; !phonetic*; !vowel; !consonant; !romanization; !katakana; sound",
            noop("Working out the pronunciation"),
        ),
        Kind(
            "draft",
            "language",
            "write",
            "!draft; !write a; !compose; !let's write; !we'll write; !opening; !paragraphs; !first paragraph; closing; scene; words long",
            noop("Drafting the text"),
        ),
        Kind(
            "rewrite",
            "language",
            "rewrite",
            "!rewrite; !rephrase; !reword; !paraphras*; !improve the; !edit; !more polite; more formal; politely; version",
            noop("Rewriting the text"),
        ),
        Kind(
            "proofread",
            "language",
            "rewrite",
            "!grammar; !spelling; !typo*; !punctuation; !proofread*; comma; tense",
            noop("Correcting spelling and grammar"),
        ),
        Kind(
            "summary",
            "language",
            "summary",
            "!summar*; !main points; !key takeaway*; !condense; !tl dr; in one sentence; short summary",
            noop("Summing up the text"),
        ),
        Kind(
            "tone",
            "language",
            "",
            "!tone; !friendly; !polite*; !empath*; !supportive; !formal; !professional; !warm; style; respectful",
            noop("Finding the right tone"),
        ),
        Kind(
            "ideas",
            "language",
            "ideas",
            "!idea; !ideas; !brainstorm*; !creative; !theme*; !inspir*; concept; maybe something like",
            noop("Gathering ideas"),
        ),
        Kind(
            "story",
            "language",
            "story",
            "!story; !character*; !plot; !protagonist; !ending; !narrat*; dialogue; setting",
            noop("Working on the story"),
        ),
        Kind(
            "verse",
            "language",
            "verse",
            "!haiku; !rhym*; !syllable*; !verse*; !stanza*; !meter; !poem; lyric*; count; line",
            noop("Working on the verses"),
        ),
        Kind(
            "profile",
            "language",
            "persona",
            "!profile; !demographic*; !persona; !audience; !age; !occupation; !background; !psycholog*; !behavio*; vulnerab*; traits",
            noop("Working on the profile"),
        ),
        Kind(
            "sketch",
            "language",
            "art",
            "!ascii; !art; !draw; !drawing; !shape; !cat; !owl; !fancy; bigger; stylized",
            noop("Sketching the picture"),
        ),
        Kind(
            "tool",
            "tools",
            "tools",
            "!use the; !which tool; !use tool; !appropriate tool; !available tools; tool; function",
            noop("Choosing a tool"),
        ),
        Kind(
            "request",
            "tools",
            "tools",
            "!call; !call the; !function call; !parameters; !parameter; !arguments; !call for; http; invoke; request",
            noop("Preparing a request"),
        ),
        Kind(
            "gather",
            "tools",
            "tools",
            "!for each; !each city; !one by one; !next city; !collect data; !remaining; all of them; fetch; loop",
            noop("Gathering the data"),
        ),
        Kind(
            "message",
            "language",
            "mail",
            "email; e-mail; !subject; !body; !recipient; !send; message; reply",
            noop("Writing the message"),
        ),
        Kind(
            "amounts",
            "maths",
            "cook",
            "!grams; !gram; !portions; !servings; !serves; !per person; !ml; !cups; !tablespoon*; !quantit*; !ingredients; "
            "!ingredient; g of; kg; dry; simmer; minutes",
            noop("Working out the amounts"),
        ),
        Kind(
            "items",
            "logic",
            "",
            "!each statement; !each question; !for each; !one by one; !each of the; each one; next one",
            noop("Going through the items one by one"),
        ),
        Kind(
            "detail",
            "plan",
            "",
            "!how much detail; !level of detail; !too long; !too technical; !high-level; concise; brief; short; thorough; "
            "comprehensive; length",
            noop("Deciding how much detail to give"),
        ),
        Kind(
            "law",
            "know",
            "law",
            "!clause; !statute; !court; !case law; !notice period; !tenant; !landlord; legal; law; invalid; valid; liable; rights; bgh; §",
            noop("Looking at the legal side"),
        ),
    )
}
