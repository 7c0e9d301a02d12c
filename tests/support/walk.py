"""The path of a message as described in ARCHITECTURE.md: the files that its numbered steps name."""

import re

from tests.support.places import ROOT


def steps(heading: str, ending: str) -> list[str]:
    """The files with this ending that the numbered steps under a heading name, in order, by their path from the root."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {heading}", 1)[1].split("\n## ", 1)[0]
    numbered = "\n".join(re.findall(r"^\d+\. .*(?:\n {3,}.*)*", section, re.MULTILINE))
    return re.findall(rf"`([\w/-]+\.{ending})`", numbered)
