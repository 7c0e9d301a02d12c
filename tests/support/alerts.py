"""Runs the rules of ``deploy/alerts.yml`` with Debian's ``promtool``, over series that are made up or scraped."""

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.tools import fault_programs

RULES = ROOT / "deploy/alerts.yml"
MINUTES = 60
"""How long a situation lasts, unless a test says otherwise."""


@dataclass(frozen=True)
class Situation:
    """``series``: a value for each name with labels, in promtool's notation. ``firing``: exactly the alerts that fire in the end."""

    name: str
    series: Mapping[str, str]
    firing: frozenset[str]


def promtool() -> str:
    found = fault_programs.find("promtool")
    if found is None:
        pytest.skip(fault_programs.why_not("promtool"))
    return found


def run(*arguments: str | Path, text: str = "") -> str:
    """What promtool prints; fails if it finds something wrong."""
    done = subprocess.run([promtool(), *arguments], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def verify(situations: Iterable[Situation], place: Path, *, minutes: int = MINUTES, every: int = 1) -> None:
    """In the end of each situation exactly its alerts fire. ``every``: the minutes between two values and two looks at the rules."""
    tests = [
        {
            "name": each.name,
            "interval": f"{every}m",
            "input_series": [{"series": name, "values": values} for name, values in each.series.items()],
            "promql_expr_test": [
                {
                    "expr": 'group by (alertname) (ALERTS{alertstate="firing"})',
                    "eval_time": f"{minutes}m",
                    "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(each.firing)],
                }
            ],
        }
        for each in situations
    ]
    assert tests
    file = place / "situations.yml"  # JSON is YAML
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": f"{every}m", "tests": tests}), encoding="utf-8")
    run("test", "rules", file)


def series_of(text: str, instance: str) -> dict[str, str]:
    """A scraped text as series whose values stay as they are, with the labels that Prometheus adds."""
    found = {f'up{{job="chatui",instance="{instance}"}}': f"1x{MINUTES}"}
    for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE):
        found[f'{name}{{{labels}{"," if labels else ""}job="chatui",instance="{instance}"}}'] = f"{value}x{MINUTES}"
    return found
