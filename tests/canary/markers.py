"""Random words that must never appear: those of ``manage.py canary``, so that tests and product search in the same way."""

from __future__ import annotations

from chatui.operations.canary.watch import Canary as Canary
