"""Validates a call's arguments against its tool's schema, in bounded time for any schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatui.json_schemas import checking
from chatui.json_schemas.checking import SchemaUnusableError
from chatui.tools.tool import ToolUnusableError


def fault(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """The first error in the arguments, in words for the model; None if they are valid. Only the first, because there could be very many.

    Raises:
        ToolUnusableError: the schema is invalid or too complex.
    """
    try:
        return checking.fault(schema, dict(arguments))
    except SchemaUnusableError as error:
        raise ToolUnusableError(str(error)) from None
