"""The documentation page and the dashboard name exactly the metrics that exist."""

import json
import re
from types import SimpleNamespace

import pytest

from chatui.database import connections
from chatui.display import metrics, metrics_of_workers
from chatui.display.readiness import Findings, RequirementState
from chatui.observability import measures
from tests.support.places import ROOT

NAME = re.compile(r"\b(?:chatui|process)_\w+")


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of all samples that a scrape can contain: of a worker with PostgreSQL and Redis."""
    monkeypatch.setattr(connections, "of_pages", lambda: (0, 20))
    monkeypatch.setattr(connections, "of_server", lambda: (30, 97))
    findings: Findings = dict.fromkeys(("database", "migrations", "disk", "configuration", "redis", "connections"), RequirementState.GOOD)
    monkeypatch.setattr(metrics, "connection", SimpleNamespace(vendor="postgresql"))
    names = set()
    families = metrics_of_workers.merged({1: metrics.written(findings, metrics.stored())})
    for family in (each for each in families if not each.name.endswith("_created")):
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}.get(family.type, ("",))
        names |= {f"{family.name}{ending}" for ending in endings}
    assert len(names) > 40
    return names


@pytest.mark.django_db
def test_the_dashboard_queries_only_metrics_and_labels_that_exist(there: set[str]) -> None:
    board = json.loads((ROOT / "docs/grafana.json").read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(queries) > 15 and {name for query in queries for name in NAME.findall(query)} <= there
    labels = {label for metric in measures.REGISTRY._names_to_collectors.values() for label in getattr(metric, "_labelnames", ())}
    used = {label.strip() for query in queries for found in re.findall(r"by \(([^)]*)\)", query) for label in found.split(",")}
    assert used - {"le", "instance"} <= labels
    assert [panel["id"] for panel in board["panels"]] == list(range(1, len(board["panels"]) + 1))


@pytest.mark.django_db
def test_the_page_names_every_metric(there: set[str]) -> None:
    page = (ROOT / "docs/operating/metrics.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `chatui_")]
    named = {name for row in rows for name in re.findall(r"chatui_\w+", row)}
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in there if name.startswith("chatui_")}
    assert named == families
