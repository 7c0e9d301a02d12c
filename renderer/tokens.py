"""The nine control tokens of OpenChatML (specification section 3) and how body text is kept from becoming one.

Outside a literal block a ``<`` that stands directly before a control token makes that token text, so a run of k ``<`` before
``|start|>`` is a token where k is 1, and k-1 ``<`` of text where k is 2 or more. Writing is therefore: one ``<`` more. Only a body
that ends in ``<`` needs a literal block, because the frame's own terminator follows it.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Token(StrEnum):
    """A control token, as its literal characters."""

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
TOKEN_RUN = re.compile(rf"(<*)(<\|(?:{_NAMES})\|>)")
"""One or more ``<`` before a token: group 1 the surplus, group 2 the token's own characters."""


def escape(body: str) -> str:
    """Write ``body`` so that reading it back gives the same characters, whatever control tokens they spell."""
    escaped = TOKEN_RUN.sub(r"<\1\2", body)
    if not escaped.endswith("<"):
        return escaped
    stem = escaped.rstrip("<")
    return f"{stem}{Token.LITERAL}{escaped[len(stem) :]}{Token.ENDLITERAL}"
