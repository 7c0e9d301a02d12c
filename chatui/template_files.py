"""A template loader that removes indentation and lines that contain only tags, which makes pages and events an eighth smaller."""

from __future__ import annotations

import re

from django.template import Origin
from django.template.loaders import filesystem


class Loader(filesystem.Loader):
    """Each line of a page begins where its text does. A line that only decides, ``{% if … %}``, or whose text is left out, leaves no empty
    one.

    What people wrote is not touched: it comes into a page when it is rendered. Text files keep their lines.
    """

    def get_contents(self, origin: Origin) -> str:
        contents: str = super().get_contents(origin)
        if not origin.name.endswith(".html"):
            return contents
        lean = _INDENTATION.sub("\n", contents)
        return _DECISION.sub(r"\1", _OPTION.sub(r"\1\n\2", lean))


_INDENTATION = re.compile(r"\n\s+")
# What stands before and after a line of these two kinds stays apart: the end of the line is kept.
_OPTION = re.compile(r"\n(\{% if [^%\n]*%\})((?:(?!\{% (?:if|elif|else|endif) ).)+\{% endif %\})(?=\n)")
_DECISION = re.compile(r"\n(\{#[^#\n]*#\}|\{% (?:if|elif|else|endif|for|empty|endfor|with|endwith|load|block|endblock)\b[^%\n]*%\})(?=\n)")
