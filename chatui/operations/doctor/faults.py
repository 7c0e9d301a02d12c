"""The known faults of model servers, each with the sentence and the advice that an operator reads.

Why a question was not answered at all is a cause of ``chatui.codes``, which administrators read of failed answers as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Self

from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from chatui.backends.separation import REMEDY, VOUCH
from chatui.codes import Fault
from chatui.program import command


class Level(IntEnum):
    """How serious a finding is; the highest of several counts. UNASKED: the server could not be asked, so nothing is known.

    ``label``: in a word, and ``verdict``: as the result of an examination, both in the language of a page.
    """

    _value_: int
    label: object
    verdict: object

    def __new__(cls, value: int, label: object = "", verdict: object = "") -> Self:
        member = int.__new__(cls, value)
        member._value_, member.label, member.verdict = value, label, verdict
        return member

    NOTE = 0, pgettext_lazy("a finding", "Note"), _("Healthy with these settings.")
    FAULT = 1, pgettext_lazy("a finding", "Fault"), _("It works with these settings, but with the faults listed below.")
    UNASKED = 2, pgettext_lazy("a finding", "Not examined"), _("It could not be queried.")
    UNUSABLE = 3, pgettext_lazy("a finding", "Unusable"), _("It cannot be used with these settings.")
    LEAK = 4, pgettext_lazy("a finding", "Leak"), _("Do not use it with these settings: people would see hidden text.")

    @property
    def is_bad(self) -> bool:
        """Whether it is more serious than a note."""
        return self > Level.NOTE

    @property
    def exit_code(self) -> int:
        return min(self.value, 3)


class ServerFault(Fault):
    """The faults of answers."""

    OUT_OF_TIME = (
        "out-of-time",
        "Some questions were not asked, because the time was up.",
        "Examine it again when it has less to do.",
        True,
        "--seconds allows more time.",
    )
    MODEL_OTHER = (
        "model-other",
        "The requested model is not in the server's list, but the server answers.",
        "It probably answers with another model: configure a name from its list.",
    )
    NOT_GPT_OSS = (
        "not-gpt-oss",
        "This is not a gpt-oss model.",
        "The harmony formats work only with gpt-oss. Others can use this model, but it has no channels.",
    )
    VOCABULARY_MISSING = (
        "vocabulary-missing",
        "Token ids could not be tried: the vocabulary of gpt-oss is not installed.",
        "The operator of this product has to install it once.",
        True,
        f"{command('fetch_vocabulary')} does it.",
    )
    NO_ANSWER = (
        "no-answer",
        "The model reasons and stops, and no answer comes.",
        "The server may lose the answer: try another wire format, or a newer version of the server.",
    )
    NOT_JUDGED = (
        "not-judged",
        "No answer came to the first question, so leaks and lost reasoning could not be judged.",
        "Examine it again. If this continues, check the server's own limit for answers, and what it adds to prompts.",
    )
    LEAK_MARKERS = (
        "leak-markers",
        "Reasoning appears in the answer, with Harmony's markers.",
        "Turn the server's gpt-oss or reasoning parser on (llama.cpp: leave --reasoning-format at auto), or use a harmony format.",
    )
    LEAK_COLLAPSED = (
        "leak-collapsed",
        "Reasoning appears in the answer, with its markers stripped (analysis…assistantfinal…).",
        "Give the model a response template, or turn the server's gpt-oss parser on; or use a harmony format.",
    )
    LEAK_TAGS = (
        "leak-tags",
        "Reasoning appears in the answer, between tags.",
        "Turn on the server's or gateway's separation of reasoning, or use a server that has one.",
    )
    LEAK_THOUGHT = (
        "leak-thought",
        "Reasoning appears in the answer, and nothing separates the two.",
        "Do not use this server with this wire format. A server with a gpt-oss parser, or a harmony format, separates reasoning.",
    )
    ANSWER_HIDDEN = (
        "answer-hidden",
        "The leak guard has to hide the whole answer, so people get none.",
        "Fix the fault named above, or use another wire format: the guard cannot find where the answer begins.",
    )
    SUMMARY_RAW = (
        "summary-raw",
        "What the server calls a summary of the reasoning is the raw reasoning.",
        "It stays hidden, also as a source of summaries, which gives people hardly a line then. Let the product read the reasoning.",
        True,
        'That is summaries = "built-in".',
    )
    SUMMARY_UNPROVEN = (
        "summary-unproven",
        "The server sends summaries of the reasoning. They did not look raw, but that does not prove that they never are.",
        "They stay hidden. As the source of summaries their headings choose which of the product's own lines people see.",
        True,
        'That is summaries = "server".',
    )
    SEPARATION_UNPROVEN = (
        "separation-unproven",
        "No answer had its reasoning in a field or an item of its own, so answers are shown only once they are whole and were checked.",
        REMEDY,
        True,
        VOUCH,
    )
    IDS_MISSING = (
        "ids-missing",
        "The server sends text without token ids, so a real marker cannot be distinguished from a quoted one.",
        "Use a version that returns ids (vLLM: return_token_ids, 0.10.2 or newer), or another wire format.",
    )
    IDS_INCOMPLETE = (
        "ids-incomplete",
        "The server leaves token ids out of its stream.",
        "Use another wire format: text that is made from these ids has gaps.",
    )
    REASONING_LOST = (
        "reasoning-lost",
        "The model reasons, and the server drops it.",
        "People lose nothing, but staff cannot look into it and no summary can be made. Turn reasoning output on at the server.",
    )
    PREAMBLE_GLUED = (
        "preamble-glued",
        "The model's preamble runs into the answer without a space.",
        "This wire format cannot separate the two on this server. Prefer a harmony format, or responses if it marks preambles.",
    )
    PREAMBLE_UNMARKED = (
        "preamble-unmarked",
        "The model's preamble is not marked, and is shown as the answer.",
        "Prefer a harmony format, which separates the two.",
    )
    PREAMBLE_LOST = ("preamble-lost", "The model's preamble is lost.", "Prefer a harmony format, which shows it.")
    TEXT_REPEATED = (
        "text-repeated",
        "Each piece of an answer repeats all of the text before it.",
        "Use a newer version of the server or gateway. This product removes what is repeated where that is certain: not in short answers.",
    )
    CUT_UNSAID = (
        "cut-unsaid",
        "An answer cut by the length limit is reported as complete.",
        "Prefer a wire format without this fault. If this product can detect it, set a maximum length of an answer: it needs one for that.",
        True,
        "That is max_answer_tokens.",
    )
    LIMIT_IGNORED = (
        "limit-ignored",
        "The server does not keep to the limit for an answer's length.",
        "Set the limit at the server itself.",
    )
    NO_STREAM = (
        "no-stream",
        "Answers arrive in one piece instead of streaming.",
        "Turn streaming on at the server; in a proxy in between, turn buffering off for these answers.",
    )
    SLOW_FIRST = (
        "slow-first",
        "The first token takes long.",
        "Keep the model loaded, or give the server more power. The seconds for the first token have to be more than the longest wait.",
        True,
        "That is first_token_seconds.",
    )
    CONTEXT_SMALL = (
        "context-small",
        "The context for question and answer together is small.",
        "Give the model a larger context (llama.cpp: -c, which its slots share; Ollama: OLLAMA_CONTEXT_LENGTH; vLLM: --max-model-len).",
    )


REMEDIES = {
    "llama.cpp": _("Start llama.cpp with --jinja, and leave --reasoning-format at auto."),
    "vLLM": _("Start vLLM with --reasoning-parser and the parser of the model; that of gpt-oss is openai_gptoss."),
    "SGLang": _("Start SGLang with --reasoning-parser and the parser of the model; that of gpt-oss is gpt-oss."),
    "Ollama": _("Use a newer version of Ollama, and a model that it lists as one that thinks."),
    "LiteLLM": _("Turn it on at the server behind LiteLLM, and do not set merge_reasoning_content_in_choices."),
}
"""What makes a product keep reasoning apart."""


@dataclass(frozen=True, slots=True)
class DetectedFault:
    """One detected fault. ``seen``: the evidence; it quotes only names and numbers from the server."""

    fault: Fault
    level: Level
    seen: str = ""
    is_known: bool = field(default=False, compare=False)
    """Whether the reader of the report was told of this fault before, so that only its evidence is new."""

    @property
    def sentence(self) -> str:
        """What is wrong, in the language of a page."""
        return gettext(self.fault.sentence)

    @property
    def advice(self) -> str:
        """What to do about it, in the language of a page."""
        if self.fault is ServerFault.SEPARATION_UNPROVEN and (remedy := REMEDIES.get(self.seen[len("It is ") : -1])):
            return str(remedy)
        return gettext(self.fault.advice)


def worst(findings: Iterable[DetectedFault]) -> Level:
    """The highest level among them; NOTE if there are none."""
    return max((finding.level for finding in findings), default=Level.NOTE)
