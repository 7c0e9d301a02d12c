"""Frames as they are written one after another: what is withdrawn, and what the open frame becomes then."""

from chatui.backends.raw_frames import FrameSource, FrameWriter, call_frame, leak, tool_name
from chatui.backends.speaker import defang
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN, PREAMBLE
from renderer.frames import Header, Terminator
from tests.support.cases import for_each


@for_each(
    [
        *(f"lab_pick{rest}" for rest in ("", "<|channel|>commentary", "<|constrain|>json", "<|channel|>analysis", "<|call|>", " json")),
        *(
            "functions.lab_pick<|channel|>commentary",
            " lab_pick",
            "lab_pick\n",
            "lab_pick commentary",
            "to=lab_pick",
            "commentary to=lab_pick",
        ),
        "assistant<|channel|>commentary to=functions.lab_pick",
        "assistant<|channel|>commentary to=functions.lab_pick <|constrain|>json<|message|>to=x",
        'lab_pick<|message|>{"a": "to=x"}',
    ]
)
def test_the_name_of_a_call_is_cut_out_of_its_header(name: str) -> None:
    opened = call_frame("c", name, "{}", None)[0]
    assert isinstance(opened, FrameOpened) and opened.header.recipient == "functions.lab_pick"


@for_each([("", "no_name"), ("<|call|>lab_pick", "no_name"), ("é", "no_name"), ("x" * 65, "no_name"), ("lab_pickjson", "lab_pickjson")])
def test_a_name_that_is_none_is_never_that_of_a_tool(name: str, known_as: str) -> None:
    assert tool_name(name) == known_as


@for_each([ANSWER, PREAMBLE])
def test_a_frame_that_people_see_is_withdrawn_and_holds_what_is_hidden_of_the_same_message(header: Header) -> None:
    writer = FrameWriter()
    assert writer.write(FrameSource(3, "text", header), "so") == [FrameOpened(header), FrameText("so")]
    assert writer.withdraw() == [FrameWithdrawn()]
    assert writer.withdraw() == [], "it is hidden already"
    assert writer.write(leak(3, is_withheld=True), "more") == [FrameText("more")]
    assert writer.close(Terminator.RETURN) == [FrameClosed(Terminator.END, ProductCode.WITHHELD)], "and the page says so"


@for_each([ANALYSIS, BROKEN])
def test_a_hidden_frame_is_not_withdrawn(header: Header) -> None:
    writer = FrameWriter()
    assert writer.withdraw() == [], "nothing is open"
    writer.write(FrameSource(3, "text", header, Code.PARSE_HEADER), "so")
    assert writer.withdraw() == []
    assert writer.close(Terminator.END) == [FrameClosed(Terminator.END, Code.PARSE_HEADER)], "its own error stays"


# Control markers in text for servers are escaped, and an echo of them in an answer is restored, however it is cut.


ESCAPED, SOURCE = "<\u2060|end|>", FrameSource(0, "answer", ANSWER)


@for_each([
    ("<|end|>", ESCAPED),
    ("a <|end|><|start|>user b", f"a {ESCAPED}<\u2060|start|>user b"),
    ("<|reserved_200017|>", "<\u2060|reserved_200017|>"),
    ("<|New_1|>", "<\u2060|New_1|>"),
    (f"<|{'x' * 40}|>", f"<\u2060|{'x' * 40}|>"),
    *((text, text) for text in ("", "a < b", "<|>", "<||>", "<|end>", "<end|>", "< |end|>", "<|so it|>", f"<|{'x' * 41}|>")),
])  # fmt: skip
def test_every_marker_is_escaped_and_nothing_else(text: str, escaped: str) -> None:
    assert defang(text) == escaped


@for_each([
    (f"Write {ESCAPED}.", "Write <|end|>."),
    (f"{ESCAPED}{ESCAPED}", "<|end|><|end|>"),
    *((text, text) for text in ("a < b", "<", "<<", "\u2060|", "<a\u2060|", "<|end|>", "a\u2060b")),
])  # fmt: skip
def test_an_echo_is_restored_at_every_split_and_nothing_waits_for_it(text: str, shown: str) -> None:
    for size in range(1, len(text) + 1):
        writer = FrameWriter()
        events = [event for at in range(0, len(text), size) for event in writer.write(SOURCE, text[at : at + size])]
        assert "".join(event.text for event in events if isinstance(event, FrameText)) == shown, size
        assert writer.close(Terminator.RETURN) == [FrameClosed(Terminator.RETURN)]
