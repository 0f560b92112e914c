"""What a proxy tells: a reply to its client, and of a request its log lines and its metrics."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

from tests.faults.driver_upstream import NEVER, Body


@dataclass
class Metrics:
    """The numbers of /metrics, or by how much they have grown."""

    values: Counter[tuple[str, frozenset[tuple[str, str]]]] = field(default_factory=Counter)
    """By name and labels."""

    @classmethod
    def parse(cls, text: str) -> "Metrics":
        samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
        return cls(Counter({(one.name, frozenset(one.labels.items())): one.value for one in samples}))

    def since(self, before: "Metrics") -> "Metrics":
        """Return what has changed."""
        grown = {key: value - before.values[key] for key, value in self.values.items()}
        return Metrics(Counter({key: value for key, value in grown.items() if value}))

    def total(self, name: str, **labels: str) -> float:
        """Return a metric, summed over the labels that are not given."""
        return sum(value for (one, own), value in self.values.items() if one == name and labels.items() <= own)

    def by(self, label: str, name: str, **labels: str) -> dict[str, int]:
        """Return a metric by the values of a label, summed over those that are not given; zeros are left out."""
        sums: Counter[str] = Counter()
        for (one, own), value in self.values.items():
            if one == name and labels.items() <= own:
                sums[dict(own)[label]] += round(value)
        return {value: count for value, count in sums.items() if count}


@dataclass
class Reply:
    """What a client got for a request."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Body:
        found: Body = json.loads(self.raw)
        return found

    @property
    def text(self) -> str:
        return str(self.body["choices"][0]["message"]["content"])

    @property
    def caf(self) -> Body:
        return dict(self.body["caf"])

    @property
    def outcome(self) -> str:
        return str(self.caf["outcome"])

    @property
    def code(self) -> str:
        """The code of the error."""
        return str(self.body["error"]["code"])


@dataclass
class Noted:
    """What some requests left in the proxy's books."""

    counted: Metrics = field(default_factory=Metrics)
    lines: list[Body] = field(default_factory=list)
    """The log lines of the requests themselves."""

    @property
    def line(self) -> Body:
        (line,) = self.lines
        return line

    def turns(self) -> dict[str, int]:
        """Return how many turns of each outcome the metrics have counted."""
        return self.counted.by("outcome", "caf_turns_total")

    def calls(self, alias: str) -> dict[str, int]:
        """Return how many calls of a model ended in each error; the empty one is none."""
        return self.counted.by("error", "caf_model_calls_total", model=alias)

    def verdicts(self, judge: str) -> dict[str, int]:
        """Return how many verdicts of each kind a judge has given."""
        return self.counted.by("verdict", "caf_verdicts_total", judge=judge)


@dataclass
class Told(Noted, Reply):
    """A reply with what it left."""


def agree(told: Told) -> None:
    """Check that reply, log line and metrics tell the same."""
    raw = told.raw.decode("latin-1")
    for words in NEVER:
        assert words not in raw or told.line.get("chatbot", "").startswith("plain"), raw
    assert told.line["status"] == told.status
    assert told.counted.total("caf_requests_total", route=told.line["path"], status=str(told.status)) == 1
    if "turn_id" not in told.line:
        return
    assert told.turns() == {told.line["outcome"] or "error": 1}
    if told.status != 200:
        assert told.line["outcome"] is None
        assert set(told.body["error"]) == {"message", "type", "param", "code"}
    elif not told.headers["Content-Type"].startswith("text/event-stream"):
        assert (told.caf["turn_id"], told.caf["outcome"]) == (told.line["turn_id"], told.line["outcome"])
        assert told.caf["calls"] == told.line["calls"]
