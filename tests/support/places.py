"""Where the data of tests lies."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "tests" / "recordings"
QUIRKS = ROOT / "tests" / "renderer" / "data" / "quirks.jsonl"
ANSWERS = ROOT / "tests" / "renderer" / "data" / "answers.jsonl"
