"""The documentation page and the dashboard name exactly the metrics that exist."""

import json
import re

import pytest

from chatui.display.metrics import StoredCounts
from chatui.observability import measures
from tests.support.places import ROOT

NAME = re.compile(r"\b(?:chatui|process)_\w+")


def there() -> set[str]:
    """The names of all samples that a scrape can contain."""
    names = set()
    for family in (*measures.REGISTRY.collect(), *StoredCounts().collect()):
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}.get(family.type, ("",))
        names |= {f"{family.name}{ending}" for ending in endings}
    assert len(names) > 20
    return names


@pytest.mark.django_db
def test_the_dashboard_queries_only_metrics_and_labels_that_exist() -> None:
    board = json.loads((ROOT / "docs/grafana.json").read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(queries) > 15 and {name for query in queries for name in NAME.findall(query)} <= there()
    labels = {label for metric in measures.REGISTRY._names_to_collectors.values() for label in getattr(metric, "_labelnames", ())}
    used = {label.strip() for query in queries for found in re.findall(r"by \(([^)]*)\)", query) for label in found.split(",")}
    assert used - {"le", "instance"} <= labels
    assert [panel["id"] for panel in board["panels"]] == list(range(1, len(board["panels"]) + 1))


@pytest.mark.django_db
def test_the_page_names_every_metric() -> None:
    page = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `chatui_")]
    named = {name for row in rows for name in re.findall(r"chatui_\w+", row)}
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in there() if name.startswith("chatui_")}
    assert named == families
