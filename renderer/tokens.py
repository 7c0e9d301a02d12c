"""The nine control tokens of OpenChatML (specification section 3), and the escaping that keeps body text from becoming one.

Outside a literal block, a ``<`` directly before a control token turns that token into text. So a run of k ``<`` before ``|start|>`` is a
token if k is 1, and k-1 ``<`` of text if k is 2 or more. To escape, add one ``<``. Only a body that ends in ``<`` needs a literal block,
because the frame's own terminator follows it.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Token(StrEnum):
    """A control token. The value is its literal text."""

    START = "<|start|>"
    CHANNEL = "<|channel|>"
    MESSAGE = "<|message|>"
    CALL = "<|call|>"
    CONSTRAIN = "<|constrain|>"
    RETURN = "<|return|>"
    END = "<|end|>"
    LITERAL = "<|literal|>"
    ENDLITERAL = "<|endliteral|>"


TERMINATORS = frozenset({Token.END, Token.CALL, Token.RETURN})

_NAMES = "|".join(token[2:-2] for token in Token)
TOKEN_RUN = re.compile(rf"(?<!<)(<*)(<\|(?:{_NAMES})\|>)")
"""A token and any extra ``<`` before it. Group 1: the extra ``<``; group 2: the token itself. A search tries a run of ``<`` only at its
beginning: at each of its places, a long run would take minutes."""


def escape(body: str) -> str:
    """Escape ``body``, so that reading it back gives the same characters, even if they spell control tokens."""
    escaped = TOKEN_RUN.sub(r"<\1\2", body)
    if not escaped.endswith("<"):
        return escaped
    stem = escaped.rstrip("<")
    return f"{stem}{Token.LITERAL}{escaped[len(stem) :]}{Token.ENDLITERAL}"
