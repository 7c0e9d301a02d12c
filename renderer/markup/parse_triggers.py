"""Decides when streaming Markdown must be parsed again, by a quick check of each new line."""

from __future__ import annotations

import re

from renderer.markup.markdown import Block

SMALL_WORK = 2048
"""Work below this many characters is not worth saving."""
_STARTER = re.compile(r"[-+*=#>`~|:$\\_\[0-9]|.*\|")
_NUMBERED = re.compile(r"[0-9]{1,9}[.)](?:[ \t]|$)")


class Trigger:
    """Decides from each new line whether parsing may close a block. If it misses one, the block only closes later.

    After a parse that closed nothing, a large block is parsed again only when it has grown by a quarter, so that the total work stays
    proportional to its size.
    """

    def __init__(self, block: Block | None = None, size: int = 0, *, undecided: bool = False) -> None:
        self._kind = "undecided" if undecided else block.kind if block else ""
        self._markup = block.tokens[0].markup if block else ""
        self._size = size
        self._worthwhile = size * 5 // 4 if size > SMALL_WORK else 0
        self._count = 0

    @property
    def is_fence(self) -> bool:
        """Whether only the end of a fence makes parsing worthwhile."""
        return self._kind == "fence"

    def add_line(self, line: str) -> bool:
        """Add this line, and return whether to parse now."""
        self._size += parsing_work(line)
        self._count += 1
        return self._size >= self._worthwhile and self._may_close(line)

    def _may_close(self, line: str) -> bool:
        bare = line.lstrip(" \t")
        indent = len(line) - len(bare)
        match self._kind:
            case "":
                return bool(bare)
            case "fence":
                return bare.startswith(self._markup) and not bare.strip(self._markup[0] + " \t")
            case "undecided":
                return self._count % 16 == 0 or any(sign in line for sign in ("\\]", "\\[", "$$"))
            case "paragraph_open" | "table_open":
                return not bare or _STARTER.match(bare) is not None
            case "bullet_list_open":
                return bool(bare) and indent < 2 and not bare.startswith((self._markup + " ", self._markup + "\t"))
            case "ordered_list_open":
                return bool(bare) and indent < 2 and _NUMBERED.match(bare) is None
            case "blockquote_open":
                return not bare.startswith(">")
        return bool(bare) and indent < 4


def parsing_work(line: str) -> int:
    """The cost of parsing a line, in characters."""
    return len(line) + 40
