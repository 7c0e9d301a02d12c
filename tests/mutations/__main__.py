"""``make mutations``: records which tests run which lines, makes drawn changes one at a time, and lists those that no test noticed."""

import argparse
import json
import os
import pickle
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.mutations.coverage_plugin import DIRECTORY
from tests.mutations.mutants import mutants

ROOT = Path(__file__).resolve().parents[2]
TestsByLine = dict[tuple[str, int], list[tuple[str, float]]]


def main() -> int:
    """Record if that was not done, draw mutants, try them, and print the survivors; 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("paths", nargs="*", default=["chatui", "renderer"], help="files or folders to change")
    parser.add_argument("--tests", required=True, help="which tests run: an expression of markers")
    parser.add_argument("--count", type=int, default=100, help="how many mutants to draw; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--name", default="answers", help="the name of the file with the results; what is in it is not tried again")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--record", action="store_true", help="record again which tests run which lines, after a change of either")
    options = parser.parse_args()
    if options.record or not list(DIRECTORY.glob("lines.*")):
        record(options.tests, options.workers)
    answers = DIRECTORY / f"{options.name}.jsonl"
    drawn, not_run = draw(options.paths, options.count, options.seed, answers)
    print(f"{len(drawn)} mutants to try. {not_run} others are on lines that none of the tests runs.", flush=True)
    attempt(drawn, answers, options.tests, options.workers)
    return report(answers)


def record(expression: str, workers: int) -> None:
    """Run the tests once, and write which lines each of them runs."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    for file in [*DIRECTORY.glob("lines.*"), *DIRECTORY.glob("coverage.*")]:
        file.unlink()
    flags = ["-p", "tests.mutations.coverage_plugin", "--coverage-of", "chatui", "--coverage-of", "renderer"]
    _pytest(["-n", str(workers), "--dist", "worksteal", "-m", expression, *flags]).wait()


def draw(folders: Iterable[str], count: int, seed: int, answers: Path) -> tuple[list[dict[str, Any]], int]:
    """The mutants to try, each with the tests that run its line and their seconds; and how many are on lines that no test runs."""
    tests = _tests_by_line()
    before = set(map(_identity, _results(answers)))
    possible: list[dict[str, Any]] = []
    not_run = 0
    for path in sorted({file for folder in folders for file in _files(folder)}):
        for mutant in mutants(ROOT, path):
            running = tests.get((mutant.path, mutant.line))
            if not running:
                not_run += 1
            elif _identity(vars(mutant)) not in before:
                possible.append({"mutant": vars(mutant), "tests": running})
    random.Random(seed).shuffle(possible)
    return possible[: count or None], not_run


def _identity(mutant: dict[str, Any]) -> tuple[object, ...]:
    return (mutant["path"], mutant["function"], mutant["line"], mutant["node"], mutant["what"])


def _files(folder: str) -> list[str]:
    found = [ROOT / folder] if folder.endswith(".py") else (ROOT / folder).rglob("*.py")
    return [str(file.relative_to(ROOT)) for file in found if "migrations" not in file.parts]


def _tests_by_line() -> TestsByLine:
    found: TestsByLine = defaultdict(list)
    for file in DIRECTORY.glob("lines.*"):
        seconds, lines = pickle.loads(file.read_bytes())
        for path, by_line in lines.items():
            for line, names in by_line.items():
                found[path, line] += [(name, seconds[name]) for name in names if name in seconds]
    return found


def attempt(drawn: list[dict[str, Any]], answers: Path, expression: str, workers: int) -> None:
    """Try the mutants, in several processes, and append the results to ``answers``."""
    wanted = answers.with_suffix(".wanted")
    wanted.write_text("".join(json.dumps(one) + "\n" for one in drawn), encoding="utf-8")
    flags = ["-p", "tests.mutations.plugin", "-m", expression, "--mutants", str(wanted), "--answers", str(answers)]
    for one in [_pytest([*flags, "--part", f"{part}/{workers}"], stdout=subprocess.DEVNULL) for part in range(workers)]:
        one.wait()


def _pytest(flags: list[str], stdout: int | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "pytest", "--quiet", *flags], cwd=ROOT, stdout=stdout)


def report(answers: Path) -> int:
    """Print the changes that no test noticed, and the number of each result; 1 if there are any."""
    results = _results(answers)
    counts = Counter(one["result"] for one in results)
    for one in sorted((one for one in results if one["result"] == "survived"), key=lambda one: (one["path"], one["line"])):
        print(f"{one['path']}:{one['line']} {one['function']}: {one['what']} ({one['tests']} tests)")
    print(", ".join(f"{count} {result}" for result, count in counts.most_common()))
    return 1 if counts["survived"] else 0


def _results(answers: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answers.read_text("utf-8").splitlines()] if answers.exists() else []


if __name__ == "__main__":
    sys.exit(main())
