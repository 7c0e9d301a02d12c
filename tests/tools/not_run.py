"""Records what a command could not run and why, for the summary at the end of ``make test``."""

from tests.support.places import ROOT

NOTES = ROOT / ".cache" / "not-run.txt"


def forget() -> None:
    """Start over: notes of an earlier run do not apply to this one."""
    NOTES.unlink(missing_ok=True)


def note(sentence: str) -> None:
    """Add one sentence that names what was not run and why."""
    NOTES.parent.mkdir(parents=True, exist_ok=True)
    with NOTES.open("a", encoding="utf-8") as file:
        file.write(sentence + "\n")


def sentences() -> list[str]:
    """All notes since the last ``forget``, in order, without duplicates."""
    if not NOTES.exists():
        return []
    return list(dict.fromkeys(NOTES.read_text(encoding="utf-8").splitlines()))
