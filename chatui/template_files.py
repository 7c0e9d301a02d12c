"""A template loader that removes indentation and lines that contain only tags, which makes pages and events an eighth smaller."""

from __future__ import annotations

import re
from pathlib import Path

from django.template import Origin
from django.template.loaders import filesystem


class Loader(filesystem.Loader):
    """Removes the indentation of each line of a page. A line that contains only a tag, such as ``{% if … %}``, or whose text is left out
    when it is rendered, leaves no empty line. A part that others include, whose name begins with ``_``, begins and ends without one.

    Text that people wrote is not changed, because it is only inserted when the page is rendered. Text files are not changed.
    """

    def get_contents(self, origin: Origin) -> str:
        contents: str = super().get_contents(origin)
        if not origin.name.endswith(".html"):
            return contents
        lean = _INDENTATION.sub("\n", contents)
        lean = _DECISION.sub(r"\1", _OPTION.sub(r"\1\n\2", lean))
        return _FIRST.sub(r"\1", lean).removesuffix("\n") if Path(origin.name).name.startswith("_") else lean


_INDENTATION = re.compile(r"\n\s+")
_FIRST = re.compile(r"\A(\{#[^#\n]*#\}|\{% load [^%\n]*%\})\n")
# The line break after a line of these two kinds is kept, so that the lines before and after it stay separate.
_OPTION = re.compile(r"\n(\{% if [^%\n]*%\})((?:(?!\{% (?:if|elif|else|endif) ).)+\{% endif %\})(?=\n)")
_DECISION = re.compile(r"\n(\{#[^#\n]*#\}|\{% (?:if|elif|else|endif|for|empty|endfor|with|endwith|load|block|endblock)\b[^%\n]*%\})(?=\n)")
