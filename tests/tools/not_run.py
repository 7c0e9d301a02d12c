"""Remembers what a command could not run and why, so that the summary at the end of ``make test`` can say it."""

from __future__ import annotations

from tests.support.places import ROOT

NOTES = ROOT / ".cache" / "not-run.txt"


def forget() -> None:
    """Begin anew: what an earlier run could not do says nothing about this one."""
    NOTES.unlink(missing_ok=True)


def note(sentence: str) -> None:
    """Keep one plain sentence that names what was not run and why."""
    NOTES.parent.mkdir(parents=True, exist_ok=True)
    with NOTES.open("a", encoding="utf-8") as file:
        file.write(sentence + "\n")


def sentences() -> list[str]:
    """What was noted since the last ``forget``, in order, each sentence once."""
    if not NOTES.exists():
        return []
    return list(dict.fromkeys(NOTES.read_text(encoding="utf-8").splitlines()))
