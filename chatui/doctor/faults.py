"""The known faults of model servers, each with the sentence and the advice that an operator reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Level(IntEnum):
    """How bad a finding is; of several the highest counts. UNASKED: nothing can be said, for it could not be asked."""

    NOTE = 0
    FAULT = 1
    UNASKED = 2
    UNUSABLE = 3
    LEAK = 4

    @property
    def exit_code(self) -> int:
        """What a script gets."""
        return min(self.value, 3)


class Fault(StrEnum):
    """A fault by the name that reports and scripts use."""

    UNREACHABLE = "unreachable"
    BUSY = "busy"
    SILENT = "silent"
    OUT_OF_TIME = "out-of-time"
    KEY_MISSING = "key-missing"
    KEY_REFUSED = "key-refused"
    MODEL_UNKNOWN = "model-unknown"
    MODEL_OTHER = "model-other"
    NOT_GPT_OSS = "not-gpt-oss"
    KIND_NOT_SPOKEN = "kind-not-spoken"
    VOCABULARY_MISSING = "vocabulary-missing"
    REFUSED = "refused"
    FAILED = "failed"
    BROKEN_OFF = "broken-off"
    NO_ANSWER = "no-answer"
    NOT_JUDGED = "not-judged"
    LEAK_MARKERS = "leak-markers"
    LEAK_COLLAPSED = "leak-collapsed"
    LEAK_TAGS = "leak-tags"
    LEAK_THOUGHT = "leak-thought"
    ANSWER_HIDDEN = "answer-hidden"
    SUMMARY_RAW = "summary-raw"
    SUMMARY_UNPROVEN = "summary-unproven"
    IDS_MISSING = "ids-missing"
    IDS_INCOMPLETE = "ids-incomplete"
    READERS_DIFFER = "readers-differ"
    READ_ONCE = "read-once"
    REASONING_LOST = "reasoning-lost"
    PREAMBLE_GLUED = "preamble-glued"
    PREAMBLE_UNMARKED = "preamble-unmarked"
    PREAMBLE_LOST = "preamble-lost"
    CUT_UNSAID = "cut-unsaid"
    LIMIT_IGNORED = "limit-ignored"
    NO_STREAM = "no-stream"
    SLOW_FIRST = "slow-first"
    CONTEXT_SMALL = "context-small"

    @property
    def sentence(self) -> str:
        """What is wrong."""
        return _WORDS[self][0]

    @property
    def advice(self) -> str:
        """What an operator can do about it."""
        return _WORDS[self][1]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault that was found. ``seen``: what shows it, in our own words; of what the server sent it quotes names and numbers only."""

    fault: Fault
    level: Level
    seen: str = ""


def worst(findings: Iterable[Finding]) -> Level:
    """The highest level among them; NOTE where there are none."""
    return max((finding.level for finding in findings), default=Level.NOTE)


_WORDS: dict[Fault, tuple[str, str]] = {
    Fault.UNREACHABLE: (
        "Nothing that speaks HTTP answers at this address.",
        "Check the address and the port, that the server runs, and that this machine may reach it.",
    ),
    Fault.BUSY: (
        "The server turns questions away for now.",
        "Ask again later. If it is always so, give the server more room or another plan.",
    ),
    Fault.SILENT: (
        "The server took the question and then said nothing in time.",
        "It may still be loading the model: ask again, or give it longer with --seconds.",
    ),
    Fault.OUT_OF_TIME: (
        "Some questions were not asked, for the time was up.",
        "Give it longer with --seconds.",
    ),
    Fault.KEY_MISSING: (
        "The key that is configured cannot be had, so nothing was sent.",
        "Put it where the configuration says that it is.",
    ),
    Fault.KEY_REFUSED: (
        "The server refuses the key.",
        "Name the right one: key_env or key_file of the back end, CHATUI_BACKEND_KEY, or --key-env. It is sent as a bearer token.",
    ),
    Fault.MODEL_UNKNOWN: (
        "The server does not have the model that is asked for.",
        "Configure one that it has, or leave the model out to take its first.",
    ),
    Fault.MODEL_OTHER: (
        "The model that is asked for is none of those that the server names, and yet it answers.",
        "It answers with another model under that name: configure the name that it gives.",
    ),
    Fault.NOT_GPT_OSS: (
        "This is not a gpt-oss model.",
        "Kinds harmony speak to gpt-oss only. With the other kinds it can be used, but it knows no channels.",
    ),
    Fault.KIND_NOT_SPOKEN: (
        "The server does not speak this wire format.",
        "Use a kind that it speaks, or turn this one on at the server.",
    ),
    Fault.VOCABULARY_MISSING: (
        "Token ids could not be tried: the vocabulary of gpt-oss is not installed.",
        "Get it once with manage.py fetch_vocabulary.",
    ),
    Fault.REFUSED: (
        "The server refuses an ordinary question.",
        "manage.py ask --as staff shows what it says. Its own log may say more.",
    ),
    Fault.FAILED: (
        "The server fails at an ordinary question.",
        "manage.py ask --as staff shows what it says. Its own log may say more.",
    ),
    Fault.BROKEN_OFF: (
        "The stream ends before the server has said that the answer is over.",
        "Look for a proxy in between with a time limit of its own, and at the server's log. People are told that the answer was cut off.",
    ),
    Fault.NO_ANSWER: (
        "The model reasons and stops, and no answer comes.",
        "The server may lose the answer on its way: try another kind, or a newer version of the server.",
    ),
    Fault.NOT_JUDGED: (
        "No answer came to the first question, so leaks and lost reasoning could not be judged.",
        "Examine it again. If it is always so, look at the server's own limit for answers, and at what it adds to prompts.",
    ),
    Fault.LEAK_MARKERS: (
        "Reasoning comes in the answer, with Harmony's markers.",
        "Turn the server's gpt-oss or reasoning parser on (llama.cpp: leave --reasoning-format at auto), or use a kind harmony.",
    ),
    Fault.LEAK_COLLAPSED: (
        "Reasoning comes in the answer, its markers stripped (analysis…assistantfinal…).",
        "Give the model a response template, or turn the server's gpt-oss parser on; or use a kind harmony.",
    ),
    Fault.LEAK_TAGS: (
        "Reasoning comes in the answer, between tags.",
        "Turn on what keeps reasoning apart at the server or the gateway, or use a server that does.",
    ),
    Fault.LEAK_THOUGHT: (
        "Reasoning comes in the answer, and nothing there tells the two apart.",
        "Do not use this server with this kind. A server with a gpt-oss parser, or a kind harmony, keeps reasoning apart.",
    ),
    Fault.ANSWER_HIDDEN: (
        "The leak guard has to hide the whole answer, so people are told that there is none.",
        "Mend what is named above, or use another kind: the guard cannot tell where the answer begins.",
    ),
    Fault.SUMMARY_RAW: (
        "What the server calls a summary of the reasoning is the raw reasoning.",
        'Never set summaries = "server" for it. With summaries = "none" or "model" nothing of it is shown.',
    ),
    Fault.SUMMARY_UNPROVEN: (
        "The server sends summaries of the reasoning. They were not found to be raw, which is no proof that they never are.",
        'They stay hidden unless you say summaries = "server", which is yours to decide.',
    ),
    Fault.IDS_MISSING: (
        "The server sends text without token ids, so a real marker cannot be told from a quoted one.",
        "Use a version that returns ids (vLLM: return_token_ids, 0.10.2 or newer), or another kind.",
    ),
    Fault.IDS_INCOMPLETE: (
        "The server leaves token ids out of its stream.",
        "Use another kind: text that is made from these ids has gaps.",
    ),
    Fault.READERS_DIFFER: (
        "Two readers of Harmony, ours and openai-harmony, do not agree on what the server sent.",
        "It is hardly well-formed. People see what our reader makes of it. Use the original weights and a newer version of the server.",
    ),
    Fault.READ_ONCE: (
        "What came as token ids was read by our own reader only.",
        "Nothing is wrong with the server. The second reader looks for faults that our own might share with it: examine the server again.",
    ),
    Fault.REASONING_LOST: (
        "The model reasons, and the server drops it.",
        "People lose nothing, but staff cannot look into it and no summary can be made. Turn reasoning output on at the server.",
    ),
    Fault.PREAMBLE_GLUED: (
        "What the model announces before its answer runs into the answer without a space.",
        "This wire format cannot keep the two apart on this server. Prefer a kind harmony, or responses where it marks them.",
    ),
    Fault.PREAMBLE_UNMARKED: (
        "What the model announces before its answer comes unmarked, and is shown as the answer.",
        "Prefer a kind harmony, which tells the two apart.",
    ),
    Fault.PREAMBLE_LOST: (
        "What the model announces before its answer is lost.",
        "Prefer a kind harmony, which shows it.",
    ),
    Fault.CUT_UNSAID: (
        "An answer that the length limit cut is reported as complete.",
        "Prefer a kind without this fault. Where this product notices it, set max_answer_tokens, or it has nothing to notice it by.",
    ),
    Fault.LIMIT_IGNORED: (
        "The server does not keep to the limit for an answer's length.",
        "Set the limit at the server itself.",
    ),
    Fault.NO_STREAM: (
        "Answers come in one piece instead of growing.",
        "Turn streaming on at the server; in a proxy in between, turn buffering off for these answers.",
    ),
    Fault.SLOW_FIRST: (
        "The first word takes long.",
        "Keep the model loaded, or give the server more power. first_token_seconds has to be longer than the longest wait.",
    ),
    Fault.CONTEXT_SMALL: (
        "Question and answer together have little room.",
        "Give the model a larger context (llama.cpp: -c, which its slots share; Ollama: OLLAMA_CONTEXT_LENGTH; vLLM: --max-model-len).",
    ),
}
