"""The built-in tools: the current time, off by default, and two for the demo, the weather and a note that needs approval."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from chatui.tools.functions import tool
from chatui.tools.tool import ToolError

_DEMO_CELSIUS = 20


@tool(label="Looking at the clock", title="Clock", reads_private_data=False, sends_outside=False)
def current_time(zone: Annotated[str, Field(description="IANA time zone such as Europe/Berlin", max_length=64)] = "UTC") -> dict[str, str]:
    """The current date and time in a time zone."""
    try:
        now = datetime.now(UTC).astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError("There is no such time zone. Use an IANA name such as Europe/Berlin.") from None
    return {"time": now.isoformat(timespec="seconds"), "weekday": now.strftime("%A"), "zone": zone}


@tool(label="Looking up the weather in {city}", title="Weather", reads_private_data=False, sends_outside=False)
async def get_current_weather(
    city: Annotated[str, Field(description="The name of the city", max_length=80)], unit: Literal["celsius", "fahrenheit"] = "celsius"
) -> dict[str, object]:
    """Gets the current weather in a city. (A demo: it is always the same.)"""
    degrees = _DEMO_CELSIUS if unit == "celsius" else round(_DEMO_CELSIUS * 9 / 5 + 32)
    return {"city": city, "temperature": degrees, "unit": unit, "sky": "sunny"}


@tool(label="Keeping a note", title="Notes", reads_private_data=False, sends_outside=True)
async def keep_note(text: Annotated[str, Field(description="The note", max_length=2000)]) -> dict[str, object]:
    """Keeps a note. (A demo: it is kept nowhere, so that the call has no effect.)"""
    return {"kept": True, "characters": len(text)}
