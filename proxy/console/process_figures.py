"""How the proxy itself is, from its metrics: queues and circuit breakers of models, and what was lost. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Values = Mapping[str, Sequence[tuple[dict[str, str], float]]]
"""Of metrics, by name: labels and value."""


@dataclass(slots=True)
class ModelFigures:
    """One model alias, since the start of the proxy."""

    alias: str
    calls: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    """Calls by the error that they ended in."""
    retries: int = 0
    running: int | None = None
    """Calls under way; None: nothing limits their number, so nobody counts."""
    waiting: int = 0
    refused: int = 0
    """Calls that found no place in the queue."""
    breaker: str | None = None
    """`open` or `closed`; None: it has none."""
    held_back: int = 0
    """Calls that an open breaker did not send."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that should not be lost."""

    name: str
    count: int
    meaning: str


@dataclass(frozen=True, slots=True)
class ProcessFigures:
    """The proxy, all of its processes together."""

    models: list[ModelFigures]
    losses: list[Loss]
    connections: int


_OF_MODELS = {
    "caf_model_retries_total": "retries",
    "caf_model_running": "running",
    "caf_model_queue": "waiting",
    "caf_model_queue_refused": "refused",
    "caf_circuit_refused": "held_back",
}
"""Metrics that are figures of a model as they stand."""
_LOSSES = {
    "caf_traces_dropped": ("traces lost", "Turns that were answered but could not be stored"),
    "caf_audit_dropped": ("audit records lost", "Outcomes that the audit log could not keep"),
    "caf_memory_failures": ("memory failures", "Reads and writes of conversations and limits that failed"),
    "caf_connections_refused_total": ("connections refused", "Connections without room, or without a whole request"),
}


def read_figures(values: Values) -> ProcessFigures:
    """Return the figures of a proxy."""
    models: dict[str, ModelFigures] = {}

    def figures_of(labels: Mapping[str, str]) -> ModelFigures:
        return models.setdefault(labels["model"], ModelFigures(labels["model"]))

    for labels, value in values.get("caf_model_calls_total", ()):
        figures_of(labels).calls += int(value)
        if labels["error"] and value:
            figures_of(labels).failed[labels["error"]] = int(value)
    for labels, value in values.get("caf_circuit_open", ()):
        figures_of(labels).breaker = "open" if value else "closed"
    for metric, figure in _OF_MODELS.items():
        for labels, value in values.get(metric, ()):
            setattr(figures_of(labels), figure, int(value))
    return ProcessFigures(
        models=[models[alias] for alias in sorted(models)],
        losses=[Loss(name, _sum(values, metric), meaning) for metric, (name, meaning) in _LOSSES.items()],
        connections=_sum(values, "caf_connections"),
    )


def _sum(values: Values, name: str) -> int:
    return int(sum(value for _, value in values.get(name, ())))
