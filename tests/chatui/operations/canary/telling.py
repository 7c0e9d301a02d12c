"""``manage.py`` whose canary writes down what its hidden markers begin with, for a test that searches files of the deployment for them.

It can play fewer answers than the real one and visit fewer addresses: a test that looks for one leak needs no answers of other wire
formats, and no page where that leak is not.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

SETTING = "CANARY_BEGINNINGS"
KINDS = "CHATUI_TEST_CANARY_KINDS"
"""The kinds of scripts that are played, with commas; all where it is empty. (Named like the settings, but read by this file alone.)"""
ADDRESSES = "CHATUI_TEST_CANARY_ADDRESSES"
"""The names of the addresses that are crawled, with commas; all where it is empty. Where there are some, no link is followed, and no
program asks."""

ONE_IN = "CHATUI_TEST_CANARY_ONE_IN"
"""Of the messages and turns of a run, one in so many is requested by itself; each where it is empty. The pages of their conversation hold
them all, and ``tests/canary/leaks`` requests each hidden one without a server."""


def patch() -> None:
    """Each Canary writes its beginning into the file that SETTING names; that of the hidden markers is the first of a run."""
    import django

    django.setup()
    from chatui.operations.canary import crawl, run
    from chatui.operations.canary.crawl import Address, Values
    from chatui.operations.canary.journey import Journey, Planted
    from chatui.operations.canary.watch import Canary

    class Telling(Canary):
        def __init__(self) -> None:
            super().__init__()
            with Path(os.environ[SETTING]).open("a", encoding="utf-8") as file:
                file.write(f"{self.beginning}\n")

    run.Canary = Telling  # type: ignore[attr-defined]
    kinds, planting = os.environ.get(KINDS, "").split(","), run._plant

    def plant(hidden: Canary, visible: Canary, shapes: int | None, seed: int) -> tuple[Planted, tuple[str, ...]]:
        planted, left_out = planting(hidden, visible, shapes, seed)
        scripts = {kind: scripts for kind, scripts in planted.scripts.items() if kinds == [""] or kind in kinds}
        return replace(planted, scripts=scripts), left_out

    run._plant = plant
    one_in, visit = int(os.environ.get(ONE_IN) or 1), crawl.Crawl._visit

    def visit_some(self: crawl.Crawl, address: Address, known: Sequence[Values]) -> None:
        is_of_one = "message_id" in address.parameters or "turn_id" in address.parameters
        visit(self, address, known[::one_in] if is_of_one else known)

    crawl.Crawl._visit = visit_some  # type: ignore[method-assign]
    if names := os.environ.get(ADDRESSES, ""):
        some = [address for address in crawl.addresses() if address.name in names.split(",")]
        crawl.addresses = lambda: some  # type: ignore[attr-defined]
        crawl.Crawl._follow = lambda self: None  # type: ignore[method-assign]
        Journey._programs = lambda self: None  # type: ignore[method-assign]


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatui.settings")
    patch()
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *sys.argv[1:]])
