"""A line of a reasoning summary, as a page shows it in the language that is active."""

from typing import Any

from chatui.display import activities
from renderer.activities.activity import Activity


def summary_line(activity: Activity) -> Any:
    """Its ``parts``: each has a ``text``, and says whether it ``is_span``, which is what the person wrote or is called so."""
    return activities.in_language(activity)
