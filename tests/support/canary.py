"""Random words that must never appear: those of ``manage.py canary``, so that tests and product search in the same way."""

from chatui.operations.canary.watch import Canary as Canary
