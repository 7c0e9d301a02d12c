"""``docs/back-ends`` says what is known of servers, and by what: what it names is there, and every fault is in it."""

import re

from chatui.codes import Cause
from tests.support.examinations import FAULTS
from tests.support.places import ROOT

TEXT = "\n".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "back-ends").glob("*.md")))


def test_every_fault_that_a_report_can_name_is_in_the_documentation() -> None:
    assert [fault.value for fault in (*FAULTS, *Cause) if f"`{fault.value}`" not in TEXT] == []


def test_every_test_and_recording_that_the_table_of_servers_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/.-]+|(?:vllm|llamacpp|transformers)/[\w*.-]+|responses-[\w*-]+)`", TEXT)
    assert len(named) >= 12, "the documentation names no evidence, so this proves nothing"
    missing = [name for name in named if not list(ROOT.glob(name if name.startswith("tests/") else f"tests/recordings/{name}"))]
    assert missing == []


def test_every_letter_of_the_table_stands_for_something() -> None:
    cells: list[str] = []
    legend: list[str] = []
    for line in TEXT.splitlines():
        (cells if line.startswith("|") else legend).append(line)
    used = {letter for found in re.findall(r"\(([a-z](?:, [a-z])*)[:)]", "\n".join(cells)) for letter in found.split(", ")}
    explained = set(re.findall(r"\(([a-z])\)[ ,]", "\n".join(legend)))
    assert len(used) >= 10
    assert used == explained
