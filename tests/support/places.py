"""Paths of test data."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("CHATUI_CACHE_DIR") or ROOT / ".cache").resolve()
RECORDINGS = ROOT / "tests" / "recordings"
QUIRKS = ROOT / "tests" / "renderer" / "data" / "quirks.jsonl"
ANSWERS = ROOT / "tests" / "renderer" / "data" / "answers.jsonl"
