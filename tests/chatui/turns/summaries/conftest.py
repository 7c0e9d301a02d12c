"""Summaries without pauses."""

from __future__ import annotations

import pytest

from chatui.turns import summarizing


@pytest.fixture(autouse=True)
def pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause, except that the line after a shown one would wait for a minute."""
    for name, seconds in {"FIRST_SECONDS": 0.0, "STEP_SECONDS": 60.0, "POLL_SECONDS": 0.0}.items():
        monkeypatch.setattr(summarizing, name, seconds)
