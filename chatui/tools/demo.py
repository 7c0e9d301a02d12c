"""The two tools of the built-in demo: the weather, and a note that needs approval."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from chatui.tools.functions import tool

_DEMO_CELSIUS = 20


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
