"""Signs in growing text: those that need more text wait for it, pairs of elements are counted, and doubtful code is decided at the end."""

from __future__ import annotations

from chatui.backends.leaks.guard import LeakGuard
from tests.chatui.backends.test_leak_shapes import cuts, guarded
from tests.support.cases import for_each

SPREAD = "\u200b" * 16
DETAILS = "<details><summary>More</summary>"


@for_each([
    f"{DETAILS}a</details> so",
    f"{DETAILS}a{DETAILS}b</details></details> so",
    "<channel> so it is",
    "<channel>s are many",
    "Hi [reason why] so",
    "Hi [think of it] so",
    "Hi [/] so",
    "Hi ◁so▷ it is",
    "An assistant for all, and an Assistant.",
    "Hi <|open|> and so",
    "Hi `<think>` and `</think>` so\n\n    <b>\n",
    "The tag <think> begins it.",
    '"<think>" begins it.',
    'He wrote "<think>" once.',
    f"The {'x ' * 130}tag <think> so.",
])  # fmt: skip
def test_text_that_only_resembles_a_sign_is_shown_whole(text: str) -> None:
    assert [guarded(pieces) for pieces in cuts(text)] == [text] * 4
    assert guarded([text], whole=True) == text


@for_each([
    (f"SECRET {DETAILS}a</details> SECRET</details> Hi", " Hi"),
    ("Hi.<channel>analysis SECRET", "Hi."),
    ("Hi.<channel> analysis SECRET", "Hi."),
    ("Hi.[THINK]SECRET[/THINK] So", "Hi. So"),
    ("Hi.◁think▷SECRET◁/think▷ So", "Hi. So"),
    ("Hi.<|open|>think<|sep|>SECRET<|close|>think<|sep|> So", "Hi. So"),
    ("SECRET<|open|>response<|sep|>Hi", "Hi"),
    ("Hi.<|channelSECRET", "Hi.<|channelSECRET"),
    ("Hi.<|channel|", "Hi."),
    ("Hi.<think>SECRET <think>SECRET</think>SECRET</think> So", "Hi. So"),
    ("The tag\n<think>SECRET</think> Hi", "The tag\n Hi"),
    ("Hi `<think>x `<think>SECRET", "Hi `<think>x `"),
    ("Hi.\n```\n<think>SECRET\n\n    <think>SECRET", "Hi.\n```\n"),
    ("Hi\u200bsassistantanalysisSECRET", ""),
    ("สวัสดีค่ะassistantanalysisSECRET", ""),
    (f"{SPREAD.join('Hi.assistantanalysis')}SECRET", ""),
    ("Hi.|start|>assistantSECRET", "Hi."),
    ("Hi <|end|> <think>SECRET</think> so", "Hi <|end|>  so"),
    ("Hi|\u200bst\u200bart|>assistantSECRET", "Hi"),
])  # fmt: skip
def test_a_sign_hides_the_same_text_however_it_arrives(text: str, shown: str) -> None:
    assert [guarded(pieces) for pieces in cuts(text)] == [shown] * 4
    assert guarded([text], whole=True) == shown


@for_each(
    [
        "See [the box ",
        "Hi <b class=x",
        "Hi <|open|> and so on. ",
        "Hi ◁so",
        "Hi \uff40 so ",
        "Hi <channel> so ",
        f"{DETAILS}a</details> so ",
    ]
)
def test_text_that_cannot_become_a_sign_is_not_held(text: str) -> None:
    guard = LeakGuard()
    assert "".join(span.text for piece in text for span in guard.feed(piece)) == text


@for_each(["<think>", "<|end|>", "[THINK]", "<|open|>"])
def test_the_text_before_an_undecided_sign_is_not_held(sign: str) -> None:
    assert "".join(span.text for span in LeakGuard().feed(f"Hello there, {sign}")) == "Hello there, "


@for_each(
    [
        "Hello ",
        "Hi `<think>` so it is. ",
        "Hi.\n```\n<think>\n```\nSo it is. ",
        "Hi.\n\n    <think></think>\n\nSo it is. ",
        'He wrote "<think>" once. ',
        "As:\n<|start|>assistant<|channel|>analysis<|message|>x<|end|> so it is. ",
    ]
)
def test_text_after_harmless_code_or_a_quotation_is_not_held(text: str) -> None:
    for begun in (text, f"{text}`"):
        assert "".join(span.text for span in LeakGuard().feed(begun)) == text
