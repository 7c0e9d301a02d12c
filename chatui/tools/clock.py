"""The built-in tool for the current time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from chatui.tools.functions import tool
from chatui.tools.tool import ToolError


@tool(label="Looking at the clock", title="Clock", reads_private_data=False, sends_outside=False)
def current_time(zone: Annotated[str, Field(description="IANA time zone such as Europe/Berlin", max_length=64)] = "UTC") -> dict[str, str]:
    """The current date and time in a time zone."""
    try:
        now = datetime.now(UTC).astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError("There is no such time zone. Use an IANA name such as Europe/Berlin.") from None
    return {"time": now.isoformat(timespec="seconds"), "weekday": now.strftime("%A"), "zone": zone}
