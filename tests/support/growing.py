"""Markdown that grows, for tests whose text need not pass the gate."""

from renderer.gate import VisibleText
from renderer.markup.growing import Final, GrowingMarkdown


class Blocks(GrowingMarkdown):
    """Takes any text."""

    def feed(self, text: str) -> list[Final]:
        return super().feed(VisibleText(text))

    def finish(self, *, is_cut: bool = False) -> list[Final]:
        return super().finish(is_cut=is_cut)
