"""What is in the repository can be built from it alone: pins without addresses, nothing left half done."""

import hashlib
import re

import pytest

from tests.architecture.sources import ROOT, Source, all_paths, all_sources

LOCKS = ("requirements.txt", "requirements-dev.txt", "requirements-traces.txt", "requirements-build.txt")
PIN = re.compile(r"[A-Za-z0-9._-]+(?:\[[a-z0-9,-]+\])?==[^\s;]+(?: ; .+)?(?: --hash=sha256:[0-9a-f]{64})+")
UNFINISHED = re.compile(r"\b(?:TO[D]O|FIX[M]E|X[X]X|HA[C]K)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.~-])/(?:home|Users|root|work|workspace)/[\w.]")
DOWNLOADS = re.compile(r'https?://[^\s"]+\.(?:whl|tgz|tar\.gz|zip|deb)\b|"resolved"\s*:')
VENDOR = "static/vendor/"
OF_OURS = ("/CHECKSUMS", "/README.md", ".d.ts")

# Recorded data and attack data are stored unchanged.
DATA = (".sse", ".jsonl", ".json", ".svg", ".min.js")


@pytest.mark.parametrize("name", [*LOCKS, "chatui/tools/python/requirements.txt"])
def test_each_requirement_is_a_pin_with_hashes_and_names_no_place(name: str) -> None:
    requirements = (ROOT / name).read_text(encoding="utf-8").replace(" \\\n   ", "").splitlines()
    assert len(requirements) > 5
    assert [line for line in requirements if line.strip() and not PIN.fullmatch(line)] == []


def test_what_tests_need_is_pinned_to_what_runs() -> None:
    runs, tests, traces, builds = (pins((ROOT / name).read_text(encoding="utf-8")) for name in LOCKS)
    assert runs.items() <= traces.items() <= tests.items() >= builds.items()


def pins(lock: str) -> dict[str, str]:
    """The version of each package."""
    return dict(re.findall(r"^([\w.\[\]-]+)==(\S+)", lock, re.MULTILINE))


def test_vendored_files_are_what_their_checksums_say() -> None:
    vendored = [path for path in all_paths() if path.startswith(VENDOR) and not path.endswith(OF_OURS)]
    if not vendored:
        return
    lines = (ROOT / VENDOR / "CHECKSUMS").read_text(encoding="utf-8").splitlines()
    checksums = {
        name.lstrip("*"): checksum for checksum, name in (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    }
    there = {path.removeprefix(VENDOR): hashlib.sha256((ROOT / path).read_bytes()).hexdigest() for path in vendored}
    assert there == checksums


@pytest.mark.slow
@pytest.mark.parametrize("pattern", [UNFINISHED, MACHINE_PATHS, DOWNLOADS], ids=["unfinished", "machine paths", "download addresses"])
def test_nothing_is_left_half_done_or_tied_to_one_machine(pattern: re.Pattern[str]) -> None:
    sources = [source for source in all_sources() if not source.is_in(VENDOR) and (pattern is DOWNLOADS or not source.path.endswith(DATA))]
    assert [place for source in sources for place in lines_with(pattern, source)] == []


def lines_with(pattern: re.Pattern[str], source: Source) -> list[str]:
    """The lines that match the pattern, as ``path:line``."""
    return [f"{source.path}:{number}" for number, line in enumerate(source.lines, 1) if pattern.search(line)]
