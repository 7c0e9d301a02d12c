"""Transcripts for tests: Hypothesis strategies for values that the canonical writer writes, and for text that only looks like it."""

from hypothesis import strategies as st

from renderer.frame_kinds import PEOPLE
from renderer.frames import Channel, Frame, Header, Role, Terminator, Transcript
from renderer.tokens import Token

TOKENS = [token.value for token in Token]
_WORDS = [
    "<",
    "<<",
    "|>",
    "<|",
    "\n",
    "---",
    "user",
    "assistant",
    " to=functions.x",
    " call_id=1",
    "tool name=x",
    "final",
    "analysis",
    "json",
]
_HEADERS = ["version: 2.2\n", "version: 1.0\n", "model: m\n", "---\n", "\ufeff", "\r\n", "é", "😀", "{}", "\x00"]
_FRAMES = [
    "<|start|>user<|message|>",
    "<|start|>assistant<|channel|>final<|message|>",
    "<|start|>tool name=functions.x call_id=1<|message|>",
]
_PROFILE = "profiles: {harmony: {enabled: true, require_channels: [final], tool_calls_in: commentary, builtins_in: [analysis]}}\n"

bodies = st.lists(st.one_of(st.sampled_from([*TOKENS, *_WORDS]), st.text(max_size=8)), max_size=12).map("".join)
"""Any Unicode text, with more control tokens and parts of them than random text has."""

soup = st.lists(st.sampled_from([*TOKENS, *_WORDS, *_HEADERS, *_FRAMES, _PROFILE]) | st.text(max_size=3), max_size=25).map("".join)
"""Text made of pieces of transcripts, in any order."""

raw = st.tuples(st.sampled_from(["", "version: 2.2\n\n"]), soup).map("".join).map(str.encode) | st.binary(max_size=60)
"""The same as bytes, and any bytes at all."""

values = st.from_regex(r"[A-Za-z0-9_.:-]{1,20}", fullmatch=True)
_optional = st.none() | values
_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12) | soup
header_values = st.recursive(_scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3))
"""Values that a document header can contain."""


@st.composite
def frames(draw: st.DrawFn, number: int = 0) -> Frame:
    """Any frame that can be written. ``number`` makes the id of a call unique in its document."""
    role = draw(st.sampled_from(list(Role)))
    terminator = draw(st.sampled_from(list(Terminator)))
    header = Header(
        role=role.value,
        channel=draw(st.none() | st.sampled_from([channel.value for channel in Channel])),
        recipient=draw(_optional),
        call_id=draw(_optional),
        name=draw(values if role is Role.TOOL else _optional),
        intent=draw(_optional),
        content_type=draw(_optional),
        constrain=draw(_optional.filter(lambda value: value is None or value.lower() != "json")),
    )
    body = draw(bodies)
    if terminator is Terminator.CALL:
        if role is not Role.ASSISTANT or header.recipient is None or header.recipient in PEOPLE:
            terminator = Terminator.END
        else:
            header = Header("assistant", header.channel, header.recipient, f"call-{number}", constrain="json")
            body = '{"text": "<|end|><"}'
    return Frame(header, body, terminator)


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    """Any valid transcript."""
    count = draw(st.integers(0, 4))
    return Transcript(
        tuple(draw(frames(number)) for number in range(count)),
        version=draw(st.sampled_from(["2.2", "2.0", "2.10"])),
        model=draw(st.none() | st.text(max_size=8) | soup),
        settings=draw(st.dictionaries(st.text(max_size=8), header_values, max_size=3)),
        extra=draw(st.dictionaries(st.text(max_size=8).filter(lambda key: key not in _KNOWN), header_values, max_size=3)),
    )


_KNOWN = {"version", "model", "generation_settings", "profiles"}
