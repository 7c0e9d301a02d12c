"""No regular expression of a schema, and no rule for its additional properties, stalls the server or fills its memory."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest

from chatui.json_schemas import SchemaUnusableError, answer_format, fault

LARGE = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
from chatui.json_schemas import answer_format
from chatui.json_schemas import SchemaUnusableError
for count in (1, 90, 400):
    try:
        answer_format("it", {"allOf": [{"pattern": r"\\\\p{L}{%d}" % (250 - place % 200)} for place in range(count)]})
    except SchemaUnusableError as error:
        print(error)
"""


def test_large_patterns_are_refused_before_they_fill_the_memory() -> None:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert len(done.stdout.splitlines()) == 3
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("word", ["unevaluatedProperties", "unevaluatedItems"])
def test_keywords_that_examine_every_level_again_are_refused(word: str) -> None:
    schema: dict[str, Any] = {"properties": {"a": True}}
    for _ in range(28):
        schema = {"if": schema, "then": True, word: False}
    with pytest.raises(SchemaUnusableError):
        answer_format("it", {"type": "object", **schema})


def test_common_patterns_are_accepted() -> None:
    uuid, date = "^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$", r"^\d{4}-\d{2}-\d{2}$"
    many = {"type": "object", "properties": {f"p{number}": {"pattern": uuid} for number in range(50)}}
    answer_format("it", many | {"patternProperties": {"^x-": {"pattern": date}}, "additionalProperties": False})
    assert fault({"pattern": date}, "2026-11-21") is None
    assert fault({"pattern": uuid}, "x" * 20_000)


def test_slow_patterns_are_matched_against_short_values() -> None:
    began = time.process_time()
    slow = {"pattern": "(?:é|a){1500}b"}
    assert fault(slow, "a" * 10_000) is not None
    assert fault(slow, "a" * 1_000_000) == "arguments: too long to be checked"
    assert time.process_time() - began < 3
