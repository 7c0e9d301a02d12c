"""``manage.py`` whose canary writes down what its hidden markers begin with, for a test that searches files of the deployment for them.

It can play fewer answers than the real one and visit fewer addresses: a test that looks for one leak needs no answers of other wire
formats, and no page where that leak is not.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

    from chatui.operations.canary.crawl import Address, Crawl, Values

SETTING = "CANARY_BEGINNINGS"
SCRIPTS = "CHATUI_TEST_CANARY_SCRIPTS"
"""The scripts that are played, with commas: all of a kind (``chat``), one (``chat/fields``), or those whose names begin so
(``chat/late *``); all where it is empty. (Named like the settings, but read by this file alone.)"""
ADDRESSES = "CHATUI_TEST_CANARY_ADDRESSES"
"""The names of the addresses that are crawled, with commas; all where it is empty. Where there are some, no link is followed; and no
program asks, unless one of the API is among them."""

ONE_IN = "CHATUI_TEST_CANARY_ONE_IN"
"""Of the messages, turns and conversations of a run, one in so many is requested by itself, and of the links to one kind of page; each
where it is empty. The page of every conversation and its downloads are requested: they hold all messages, and ``tests/canary/leaks``
requests each hidden one without a server. While answers are written, all pages of a conversation are requested once, then those that show
it."""
WHOLE = ("conversation", "download")
SHOWING = ("home", "conversation", "exchange", "exchanges", "download")


def patch() -> None:
    """Each Canary writes its beginning into the file that SETTING names; that of the hidden markers is the first of a run."""
    import django

    django.setup()
    from chatui.operations.canary import crawl, journey, run
    from chatui.operations.canary.journey import Journey, Planted
    from chatui.operations.canary.watch import Canary

    class Telling(Canary):
        def __init__(self) -> None:
            super().__init__()
            with Path(os.environ[SETTING]).open("a", encoding="utf-8") as file:
                file.write(f"{self.beginning}\n")

    run.Canary = Telling  # type: ignore[attr-defined]
    wanted, planting = os.environ.get(SCRIPTS, "").split(","), run.plant

    def plant(hidden: Canary, visible: Canary, shapes: int | None, seed: int) -> tuple[Planted, tuple[str, ...]]:
        planted, left_out = planting(hidden, visible, shapes, seed)
        if wanted == [""]:
            return planted, left_out
        some = {kind: [one for one in scripts if _is_wanted(kind, one.name, wanted)] for kind, scripts in planted.scripts.items()}
        return replace(planted, scripts={kind: scripts for kind, scripts in some.items() if scripts}), left_out

    run.plant = plant
    one_in = int(os.environ.get(ONE_IN) or 1)
    if one_in > 1:
        crawl.Crawl = _some_of(crawl.Crawl, one_in)  # type: ignore[misc]
        journey.Crawl = crawl.Crawl  # type: ignore[attr-defined, misc]
    if names := os.environ.get(ADDRESSES, ""):
        some = [address for address in crawl.addresses() if address.name in names.split(",")]
        crawl.addresses = lambda: some  # type: ignore[attr-defined]
        crawl.Crawl._follow = lambda self: None  # type: ignore[method-assign]
        if not any(address.pattern.startswith("v1/") for address in some):
            Journey._programs = lambda self: None  # type: ignore[method-assign]


def _is_wanted(kind: str, name: str, wanted: Sequence[str]) -> bool:
    return any(fnmatchcase(f"{kind}/{name}", one if "/" in one else f"{one}/*") for one in wanted)


def _some_of(whole: type[Crawl], one_in: int) -> type[Crawl]:
    """A Crawl as ONE_IN says."""
    from chatui.operations.canary import crawl

    class SomeOf(whole):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self._of_shape = Counter[str]()

        def _visit(self, address: Address, known: Sequence[Values]) -> None:
            is_of_one = {"conversation_id", "turn_id"} & set(address.parameters) and address.name not in WHOLE
            super()._visit(address, known[::one_in] if is_of_one else known)

        def pages_of(self, known: Sequence[Values]) -> None:
            super().pages_of(known)
            self._addresses: list[Address] = [address for address in self._addresses if address.name in SHOWING]

        def _collect(self, answer: httpx.Response) -> None:
            known = len(self._links)
            super()._collect(answer)
            for link in list(self._links)[known:]:
                shape = crawl.shape_of(link)
                if self._of_shape[shape] % one_in:
                    self._fetched.add(link)
                self._of_shape[shape] += 1

    return SomeOf


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatui.settings")
    patch()
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *sys.argv[1:]])
