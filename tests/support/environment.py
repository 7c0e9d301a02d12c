"""Changes the operator's environment for a test: new values take effect at once in every module of the product."""

from typing import Any

import pytest
from django.conf import settings

from chatui.env import environment


class Changed:
    """The environment with other ``values``, which the test may continue to change."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._before = environment()
        self._values = values

    def __getattr__(self, name: str) -> Any:
        return getattr(self._before.model_copy(update=self._values), name)


def change(monkeypatch: pytest.MonkeyPatch, values: dict[str, Any]) -> None:
    """Use ``values`` until the test ends."""
    monkeypatch.setattr(settings, "ENVIRONMENT", Changed(values))
