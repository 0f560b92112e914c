"""The dashboard in docs/ shows what the proxy counts."""

import json
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import Counter, Gauge, Histogram

from proxy.telemetry.metrics import Metrics
from tests.proxy.conftest import Start

DASHBOARD = json.loads((Path(__file__).parents[3] / "docs" / "grafana.json").read_text())
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
QUERIES = [target["expr"] for panel in PANELS for target in panel.get("targets", ())]
QUERIES += [DASHBOARD["templating"]["list"][1]["query"]["query"]]
METRIC = re.compile(r"\b((?:caf|process)_\w+?)(?:_bucket)?\b(?![\w])")


@pytest.fixture
def labels_of(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """Return the labels of each metric of ours by its name in the exposition."""
    labels_of: dict[str, set[str]] = {}

    def note_labels(kind: type[Counter | Gauge | Histogram], more: str = "", *own: str) -> None:
        def make(name: str, what: str, labels: Sequence[str] = (), **options: Any) -> Counter | Gauge | Histogram:
            labels_of[name + more] = {*labels, *own}
            return kind(name, what, labels, **options)

        monkeypatch.setattr(f"proxy.telemetry.metrics.{kind.__name__}", make)

    note_labels(Counter, "_total")
    note_labels(Gauge)
    note_labels(Histogram, "", "le")
    Metrics()
    return labels_of


async def test_every_metric_of_the_dashboard_is_served(start: Start) -> None:
    """A panel without data looks like a day without trouble."""
    served = set(re.findall(r"^# TYPE (\S+)", (await (await start()).get("/metrics"))[1], re.MULTILINE))
    asked = {name for query in QUERIES for name in METRIC.findall(query)}
    assert len(asked) > 15
    assert asked <= served


def test_every_metric_of_ours_is_on_the_dashboard(labels_of: dict[str, set[str]]) -> None:
    """What nobody looks at need not be counted; of made-up ids `caf trace` tells."""
    asked = {name for query in QUERIES for name in METRIC.findall(query)}
    assert set(labels_of) - asked == {"caf_invalid_source_ids_total"}


@pytest.mark.parametrize("query", QUERIES)
def test_query_uses_labels_that_its_metrics_have(query: str, labels_of: dict[str, set[str]]) -> None:
    """Prometheus takes an unknown label for one without a value, and draws a single line."""
    has = set.intersection(*(labels_of.get(name, {"instance"}) for name in METRIC.findall(query)))
    filtered = {label for inner in re.findall(r"\{([^}]*)\}", query) for label in re.findall(r"(\w+)(?:=|!)", inner)}
    grouped = {label.strip() for inner in re.findall(r"by \(([^)]*)\)", query) for label in inner.split(",")}
    assert filtered | grouped <= has
    assert query.count("(") == query.count(")")


def test_dashboard_has_what_grafana_reads() -> None:
    """The fields of the classic model that an import needs; ids that differ, panels that do not lie on each other."""
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= set(DASHBOARD)
    assert DASHBOARD["id"] is None
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    for panel in PANELS:
        place = panel["gridPos"]
        assert set(place) == {"x", "y", "w", "h"}
        assert 0 <= place["x"] <= place["x"] + place["w"] <= 24
        if panel["type"] != "row":
            assert panel["type"] in ("stat", "timeseries")
            assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0
            assert panel["datasource"]["uid"] == "${datasource}"
        used = set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(panel)))
        assert used <= variables
    for one, other in combinations((panel["gridPos"] for panel in PANELS), 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert beside or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
