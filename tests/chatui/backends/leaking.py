"""Answers with hidden reasoning: every sign combined with every disguise and place; all contain the word SECRET."""

from collections.abc import Callable, Iterator

SECRET = "SECRET we must not reveal the codename."
VISIBLE = "Visible answer is forty two."

SEQUENCES = [
    "<|end|><|start|>assistant<|channel|>analysis<|message|>",
    "<|end|><|start|>assistant<|channel|>analysis to=functions.x<|message|>",
    "<|start|>assistant<|channel|>analysis<|message|>",
    "<|channel|>analysis<|message|>",
    "<|return|><|start|>assistant<|channel|>analysis<|message|>",
    "<|call|><|start|>assistant<|channel|>commentary to=functions.x <|constrain|>json<|message|>",
    "<|end|>\n<|start|>assistant\n<|channel|>\nanalysis\n<|message|>\n",
    "<|end|> <|start|> assistant <|channel|> analysis <|message|> ",
    "<|channel|>commentary to=functions.x<|message|>",
    "<|end|><|start|>tool<|message|>",
    "<|end|><|start|>functions.x to=assistant<|channel|>commentary<|message|>",
    "<|im_end|>\n<|im_start|>assistant\n<think>",
    "<|end|><|channel|>analysis<|message|>",
    "<|channel|>analysis ",
    "<|reserved_200017|>analysis ",
    "<|message|>",
    "<|end|>",
    "<|call|>",
]
DISGUISES: list[Callable[[str], str]] = [
    lambda text: text.replace("<", "&lt;").replace(">", "&gt;"),
    lambda text: text.replace("<", "\\<"),
    lambda text: text.replace("<", "＜").replace("|", "｜").replace(">", "＞"),
    lambda text: text.replace("|", "\\|"),
    lambda text: text.replace("|", "│"),
    lambda text: text.replace("|>", "|"),
    lambda text: text.replace("<|", "|"),
    lambda text: text.replace("<|", ""),
    "\u200b".join,
    lambda text: f"\ufeff{text}",
]
TAGS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
    ("<analysis>", "</analysis>"),
    ("<scratchpad>", "</scratchpad>"),
    ("[THINK]", "[/THINK]"),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
    ('<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>', "</details>"),
    ("<details><summary>Thinking…</summary>", "</details>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|think|>", "<|/think|>"),
    ("<seed:think>", "</seed:think>"),
    ("<antThinking>", "</antThinking>"),
    ("<unused94>", "<unused95>"),
    ("< think >", "</ think >"),
    ("<THINK>", "</THINK>"),
    ("<think\n>", "</think\n>"),
    ("<think type='x'>", "</think>"),
    ("&lt;think&gt;", "&lt;/think&gt;"),
    ("\\<think\\>", "\\</think\\>"),
    ("＜think＞", "＜/think＞"),
    ("<th\u200bink>", "</th\u200bink>"),
]
COLLAPSED = ("final", "analysis", "commentary")
QUOTED = ('"{}"', "'{}'", "`{}`", " {}", "“{}”", "({})", "«{}»", "\n{}\n", ": {}", "{},")


def sequences() -> Iterator[str]:
    """Special tokens after an answer."""
    for sequence in SEQUENCES:
        for before in (VISIBLE, f"{VISIBLE}\n", f"{VISIBLE}\n\n", f"{VISIBLE} "):
            yield f"{before}{sequence}{SECRET}"
            yield f"{before}{sequence}{SECRET}<|end|>"
            yield f"{before}{sequence}{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>More.<|return|>"
    for sequence in SEQUENCES[:6]:
        for disguise in DISGUISES:
            yield f"{VISIBLE}{disguise(sequence)}{SECRET}"
            yield f"{VISIBLE}\n{disguise(sequence)}{SECRET}"


def tagged() -> Iterator[str]:
    """Reasoning in tags: in each place, without the opening or closing tag, and quoted inside."""
    for opening, closing in TAGS:
        block = f"{opening}{SECRET}{closing}"
        for space in ("", "\n", " ", "\n\n"):
            yield from (f"{VISIBLE}{space}{block}", f"{VISIBLE}{space}{opening}{SECRET}", f"{SECRET}{space}{closing}{space}{VISIBLE}")
            yield f"{VISIBLE}{space}{opening}\n{SECRET}\n{closing}\nMore."
            yield f"{VISIBLE}{space}{block}{VISIBLE}{block}"
        yield from (f"{block}{VISIBLE}", f"\u200b{block}{VISIBLE}", f"\ufeff{opening}{SECRET}", f"> {block}")
        yield f"Note the ` char.{opening}{SECRET} and `x` too {closing}{VISIBLE}"
        yield f"```\ncode\n{opening}{SECRET}"
        yield f"```\ncode\n{block}"
        yield f"{opening}quoted `{closing}` {SECRET}{closing}{VISIBLE}"
        yield f"{opening}the {opening} and {closing} tags {SECRET}{closing}{VISIBLE}"
        yield f"{opening}\n```\n{closing}\n```\n{SECRET}{closing}{VISIBLE}"


def collapsed() -> Iterator[str]:
    """The text that remains when markers are stripped."""
    for channel in COLLAPSED:
        sign = f"assistant{channel}"
        if channel != "final":
            yield from (f"{VISIBLE}{sign}{SECRET}", f"{VISIBLE}\n{sign}\n{SECRET}")
        yield from (f"{SECRET}{sign}{VISIBLE}", f"analysis{SECRET}{sign} {SECRET}")
        yield f"{VISIBLE}\u200b{chr(0x200B).join(sign)}{SECRET}"
        yield f"{VISIBLE}\nassistant\n{channel}\n{SECRET}"
    yield from (f"analysis {SECRET} assistantfin", f"analysis {SECRET}assistantf", f"channel|>analysis<|message|>{SECRET}")
    yield from (f"<|channel|analysis<|message|{SECRET}", f"assistant<|channel|>analysis<|message|>{SECRET}")


def quoted() -> Iterator[str]:
    """Reasoning that quotes the beginning of an answer and continues; no answer follows."""
    final = "<|start|>assistant<|channel|>final<|message|>"
    for sign in (final, f"<|end|>{final}", "<|channel|>final<|message|>", "assistantfinal"):
        for quotation in QUOTED:
            for after in (" and then go on thinking. ", " ", "", "\n"):
                yield f"<|channel|>analysis<|message|>I will write {quotation.format(sign)}{after}{SECRET}"


LEAKING = [*sequences(), *tagged(), *collapsed(), *quoted()]
