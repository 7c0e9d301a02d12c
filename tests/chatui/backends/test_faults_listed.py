"""``docs/faults.md`` lists each simulated fault of a model server with its code."""

from __future__ import annotations

import re

from chatui.codes import ProductCode
from tests.chatui.backends.faults import FAULTS
from tests.support.places import ROOT

UNREACHED = ("nobody listens", "no such name", "no TLS")


def test_the_page_lists_every_simulated_fault() -> None:
    page = (ROOT / "docs/faults.md").read_text(encoding="utf-8").partition("## Faults of a model server")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| ([^|`]+) \| `(E-[\w-]+)` \| (.+) \|$", page, re.MULTILINE)
    played = [(name, ProductCode.BACKEND_UNREACHABLE.value, "all") for name in UNREACHED]
    played += [("certified by nobody", ProductCode.BACKEND_SETUP.value, "all")]
    played += [(fault.name, fault.code.value, "all" if fault.is_of_ids else "chat, responses") for fault in FAULTS]
    assert listed == played
