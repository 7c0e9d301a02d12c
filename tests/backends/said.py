"""What a model server says, in plain words, and the bytes for it in each wire format; None where a format cannot say it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.wire import ended, event, ids_of, llama, sse, vllm
from tests.support.stub import DONE, chunk


@dataclass(frozen=True)
class Thinks:
    """Reasoning, piece by piece."""

    pieces: tuple[str, ...]


@dataclass(frozen=True)
class Says:
    """The answer. ``is_preamble``: the server says that more follows it."""

    pieces: tuple[str, ...]
    is_preamble: bool = False


@dataclass(frozen=True)
class Refuses:
    """An answer that the server calls a refusal."""

    text: str


@dataclass(frozen=True)
class Calls:
    """A call of a function, whose arguments come piece by piece."""

    name: str
    arguments: tuple[str, ...]
    call_id: str = "c1"


@dataclass(frozen=True)
class Ends:
    """How the server says that it ends: ``stop``, ``length``, ``content_filter``, or a word that nobody knows. ``counted``: the tokens that
    were read and written, and of these from the cache and for reasoning."""

    reason: str = "stop"
    counted: tuple[int, int, int, int] | None = None


@dataclass(frozen=True)
class Fails:
    """An error in the middle of the stream."""

    fields: dict[str, Any]


@dataclass(frozen=True)
class Sends:
    """These bytes, which are the same in every format."""

    raw: bytes


@dataclass(frozen=True)
class Writes:
    """What the model itself writes, in Harmony: only token ids say it so."""

    text: str


Moment = Writes | Thinks | Says | Refuses | Calls | Ends | Fails | Sends


def thinks(*pieces: str) -> Thinks:
    return Thinks(pieces)


def says(*pieces: str) -> Says:
    return Says(pieces)


def announces(*pieces: str) -> Says:
    return Says(pieces, is_preamble=True)


def calls(name: str, *arguments: str, call_id: str = "c1") -> Calls:
    return Calls(name, arguments, call_id)


STOPS, CUT, FILTERED, OF_ITS_OWN = Ends(), Ends("length"), Ends("content_filter"), Ends("because")
NO_EVENT = Sends(b": a comment\n\n")


def chat(moments: Sequence[Moment]) -> bytes | None:
    """Chat Completions."""
    if any(isinstance(moment, Writes) or (isinstance(moment, Says) and moment.is_preamble) for moment in moments):
        return None
    count, sent = 0, b""
    for moment in moments:
        match moment:
            case Thinks(pieces):
                sent += b"".join(chunk(reasoning_content=piece) for piece in pieces)
            case Says(pieces):
                sent += b"".join(chunk(content=piece) for piece in pieces)
            case Refuses(text):
                sent += chunk(refusal=text)
            case Calls(name, arguments, call_id):
                first = {"index": count, "id": call_id, "function": {"name": name, "arguments": ""}}
                rest = [{"index": count, "function": {"arguments": piece}} for piece in arguments]
                sent, count = sent + b"".join(chunk(tool_calls=[each]) for each in (first, *rest)), count + 1
            case Ends(reason, counted):
                sent += chunk("tool_calls" if count and reason == "stop" else reason) + _usage(counted, "prompt", "completion") + DONE
            case _:
                sent += _other(moment)
    return sent


def responses(moments: Sequence[Moment]) -> bytes | None:
    """Responses."""
    if any(isinstance(moment, Writes) for moment in moments):
        return None
    return b"".join(_event(moment, f"i{place}") for place, moment in enumerate(moments))


def _event(moment: Moment, name: str) -> bytes:
    """``name``: that of the item."""
    match moment:
        case Thinks(pieces):
            return _item({"id": name, "type": "reasoning"}, "reasoning_text", pieces)
        case Says(pieces, is_preamble):
            phase = {"phase": "commentary"} if is_preamble else {}
            return _item({"id": name, "type": "message", "role": "assistant", **phase}, "output_text", pieces)
        case Refuses(text):
            return _item({"id": name, "type": "message", "role": "assistant"}, "refusal", (text,))
        case Calls(called, arguments, call_id):
            item = {"id": name, "type": "function_call", "name": called, "call_id": call_id}
            return _item(item, "function_call_arguments", arguments)
        case Ends(reason, counted):
            more: dict[str, Any] = {"usage": _counts(counted, "input", "output")} if counted else {}
            if reason in _INCOMPLETE:
                return ended("incomplete", incomplete_details={"reason": _INCOMPLETE[reason]}, **more)
            return ended("completed" if reason == "stop" else reason, **more)
        case Fails(fields):
            return ended("failed", error=fields)
    return _other(moment)


_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def _item(item: dict[str, Any], kind: str, pieces: Sequence[str]) -> bytes:
    """An item that comes in pieces, and once more as a whole."""
    whole = "".join(pieces)
    text = "refusal" if kind == "refusal" else "text"
    rest = {"arguments": whole} if kind == "function_call_arguments" else {"content": [{"type": kind, text: whole}]}
    deltas = [event(f"response.{kind}.delta", item_id=item["id"], delta=piece) for piece in pieces]
    return b"".join([event("response.output_item.added", item=item), *deltas, event("response.output_item.done", item={**item, **rest})])


def _usage(counted: tuple[int, int, int, int] | None, read: str, written: str) -> bytes:
    return sse({"choices": [], "usage": _counts(counted, read, written)}) if counted else b""


def _counts(counted: tuple[int, int, int, int], read: str, written: str) -> dict[str, Any]:
    return {
        f"{read}_tokens": counted[0],
        f"{written}_tokens": counted[1],
        f"{read}_tokens_details": {"cached_tokens": counted[2]},
        f"{written}_tokens_details": {"reasoning_tokens": counted[3]},
    }


def _other(moment: Moment) -> bytes:
    return moment.raw if isinstance(moment, Sends) else sse({"error": moment.fields}) if isinstance(moment, Fails) else b""


# Token ids: a server sends what the model writes, and each dialect its own end.

Written = list[str | bytes | Ends]


def written(moments: Sequence[Moment]) -> tuple[Written, str] | None:
    """What the model writes, in pieces, with what else is sent; and its last token."""
    found: Written = []
    is_open, last = False, "<|return|>"
    for moment in moments:
        match moment:
            case Thinks(pieces):
                said = ["<|channel|>analysis<|message|>", *pieces]
            case Says(pieces, is_preamble):
                said = [f"<|channel|>{'commentary' if is_preamble else 'final'}<|message|>", *pieces]
            case Calls(name, arguments):
                said = [f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>", *arguments]
            case Writes(text):
                found.append(text)
                continue
            case Sends() | Fails():
                found.append(_other(moment))
                continue
            case Ends():
                found.append(moment)
                continue
            case _:
                return None
        found += [f"{last if last == '<|call|>' else '<|end|>'}<|start|>assistant", *said] if is_open else said
        is_open, last = True, "<|call|>" if isinstance(moment, Calls) else "<|return|>"
    return [piece for piece in found if piece], last


def ids(vocabulary: Vocabulary, dialect: str) -> Callable[[Sequence[Moment]], bytes | None]:
    """The format of token ids, as a server of this dialect sends it."""

    def speak(moments: Sequence[Moment]) -> bytes | None:
        unknown = {moment.reason for moment in moments if isinstance(moment, Ends)} - _ENDS[dialect]
        found = None if unknown else written(moments)
        if found is None:
            return None
        server = _DIALECTS[dialect](vocabulary, found[1])
        return b"".join(
            piece if isinstance(piece, bytes) else server.ends(piece) if isinstance(piece, Ends) else server.writes(piece)
            for piece in found[0]
        )

    return speak


class _Server:
    def __init__(self, vocabulary: Vocabulary, last: str) -> None:
        """``last``: the token that the model ends with."""
        self._vocabulary, self._last = vocabulary, last

    def ids(self, text: str) -> list[int]:
        return ids_of(self._vocabulary, text)


class _LlamaCpp(_Server):
    def writes(self, text: str) -> bytes:
        """Text comes with its last id; a marker is one."""
        return sse(*(llama(part, *self.ids(part)[-1:]) for part in re.split(r"(<\|[a-z]+\|>)", text) if part))

    def ends(self, end: Ends) -> bytes:
        counted = {"tokens_evaluated": end.counted[0], "tokens_predicted": end.counted[1]} if end.counted else {}
        stop = sse(llama("", *self.ids(self._last))) if end.reason == "stop" else b""
        return stop + sse(llama("", stop_type="eos" if end.reason == "stop" else "limit", **counted) | {"stop": True})


class _Vllm(_Server):
    def writes(self, text: str) -> bytes:
        return sse(vllm(*self.ids(text)))

    def ends(self, end: Ends) -> bytes:
        [stop] = self.ids(self._last)
        finish = vllm(stop, finish="stop", stop=stop) if end.reason == "stop" else vllm(finish=end.reason)
        return sse(finish) + _usage(end.counted, "prompt", "completion") + DONE


class _SGLang(_Server):
    """Each chunk has all ids so far."""

    def __init__(self, vocabulary: Vocabulary, last: str) -> None:
        super().__init__(vocabulary, last)
        self._seen: list[int] = []

    def writes(self, text: str, **about: Any) -> bytes:
        self._seen += self.ids(text) if text else []
        counted: dict[str, Any] = {"completion_tokens": len(self._seen)}
        return sse({"text": "", "output_ids": list(self._seen), "meta_info": counted | about})

    def ends(self, end: Ends) -> bytes:
        about = {"prompt_tokens": end.counted[0]} if end.counted else {}
        if end.reason != "stop":
            return self.writes("", finish_reason={"type": end.reason}, **about) + DONE
        return self.writes(self._last, finish_reason={"type": "stop", "matched": self.ids(self._last)[0]}, **about) + DONE


_DIALECTS: dict[str, Any] = {"llamacpp": _LlamaCpp, "vllm": _Vllm, "sglang": _SGLang}
_ENDS = {"llamacpp": {"stop", "length"}, "vllm": {"stop", "length", "because"}, "sglang": {"stop", "length", "because"}}
