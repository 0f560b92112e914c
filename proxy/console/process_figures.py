"""Reads the status of the proxy from its metrics: queues, circuit breakers, lost data. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Values = Mapping[str, Sequence[tuple[dict[str, str], float]]]
"""Labels and values of metrics by name."""


@dataclass(slots=True)
class ModelFigures:
    """Calls of one model alias since the start of the proxy."""

    alias: str
    calls: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    """Failed calls by error."""
    retries: int = 0
    running: int | None = None
    """Running calls; None: not limited and not counted."""
    waiting: int = 0
    refused: int = 0
    """Calls refused because the queue was full."""
    breaker: str | None = None
    """`open` or `closed`; None: no circuit breaker."""
    held_back: int = 0
    """Calls that an open breaker did not send."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A kind of loss with its count, for a tile of the operations page."""

    name: str
    count: int
    meaning: str


@dataclass(frozen=True, slots=True)
class ProcessFigures:
    """The status of the proxy, summed over its worker processes."""

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
"""The metrics of a model and the fields of `ModelFigures` that they set."""
_LOSSES = {
    "caf_traces_dropped": ("Traces lost", "Answered turns whose trace could not be stored"),
    "caf_audit_dropped": ("Audit records lost", "Records that could not be written to the audit log"),
    "caf_memory_failures": ("State store errors", "Failed reads and writes of conversation state and rate limits"),
    "caf_connections_refused_total": (
        "Connections refused",
        "Connections over the limit, or without a complete request",
    ),
}


def read_figures(values: Values) -> ProcessFigures:
    """Return the status of the proxy from the values of its metrics."""
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
