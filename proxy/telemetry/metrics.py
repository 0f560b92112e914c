"""Prometheus metrics. Each app has one registry. All names begin with caf_.

Labels hold configured or fixed names only: routes, chatbots, aliases, judges, steps, kinds. They never hold text of a client or a
model, which could identify people and would create more series than Prometheus can store.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Literal, get_args

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.values import MutexValue, ValueClass

from judges.observation import Sign
from judges.verdict import Judgement, Verdict, signs
from models.bulkhead import Bulkhead
from models.usage import Call, Ledger
from proxy.config.blueprint import Blueprint
from proxy.telemetry.external_metric import ExternalMetric
from proxy.traces.trace import Outcome, Trace

SECONDS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 60, 120)
SHORT = (0.0001, 0.00025, 0.0005, *SECONDS)
"""Buckets for steps, since a local judge takes less than a millisecond."""

SHARED = ValueClass is not MutexValue
"""Whether several processes share their counts: PROMETHEUS_MULTIPROC_DIR was set when the library was imported."""

UNKNOWN = "unknown"
"""The kind of an emergency if the judge named no sign."""
KINDS: tuple[str, ...] = (*get_args(Sign.model_fields["kind"].annotation), UNKNOWN)


Refusal = Literal["full", "idle", "late"]
"""Why a connection is refused. full: the limit is reached. idle: it had no request, and another connection needed its place. late:
its head took too long."""

log = structlog.get_logger()


class Metrics:
    """The metrics of one app, or with PROMETHEUS_MULTIPROC_DIR of all processes that share that folder."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._readings: list[ExternalMetric] = []

        def counter(name: str, documentation: str, *labels: str) -> Counter:
            return Counter(name, documentation, labels, registry=self.registry)

        def histogram(name: str, documentation: str, label: str, buckets: Sequence[float]) -> Histogram:
            return Histogram(name, documentation, [label], buckets=buckets, registry=self.registry)

        def sum_of(name: str, documentation: str, *labels: str) -> ExternalMetric:
            return self._reading(Gauge(name, documentation, labels, registry=self.registry, multiprocess_mode="sum"))

        def now(name: str, documentation: str, *labels: str) -> ExternalMetric:
            return self._reading(
                Gauge(name, documentation, labels, registry=self.registry, multiprocess_mode="livesum")
            )

        self.requests = counter("caf_requests", "HTTP requests by route and status.", "route", "status")
        self.turns = counter("caf_turns", "Turns by chatbot and outcome.", "chatbot", "outcome")
        self.shadow = counter(
            "caf_shadow_turns",
            "Turns in shadow mode by the outcome that the filter would have had.",
            "chatbot",
            "would",
        )
        self.emergencies = counter("caf_emergencies", "Emergency replies by kind.", "chatbot", "kind")
        self.concerns = counter(
            "caf_concerns", "Replies with the emergency contact added, by kind of danger.", "chatbot", "kind"
        )
        self.mended = counter(
            "caf_mended", "Replies whose missing statements were added by code, without a model.", "chatbot"
        )
        self.verdicts = counter("caf_verdicts", "Verdicts by judge, stage and verdict.", "judge", "stage", "verdict")
        self.escalations = counter(
            "caf_escalations", "Cases escalated to this stage by an earlier stage of the judge.", "judge", "stage"
        )
        self.warnings_added = counter("caf_warnings_added", "Warnings added or renewed, by rule.", "chatbot", "rule")
        self.warnings_live = counter(
            "caf_warnings_live",
            "Live warnings summed over turns; divide by caf_turns for the mean per turn.",
            "chatbot",
        )
        self.conversations = counter("caf_conversations", "Turns by how the conversation was recognised.", "memory")
        self.calls = counter("caf_model_calls", "Model calls by alias and error (empty: none).", "model", "error")
        self.tries = counter("caf_model_retries", "Retries of model calls.", "model")
        self.tokens = counter("caf_tokens", "Tokens by alias, step and kind.", "model", "step", "kind")
        self.cost = counter("caf_cost", "Cost of model calls in the currency of the prices.", "model", "step")
        self.invalid_ids = counter("caf_invalid_source_ids", "Section ids invented by a selection model.")
        self.turn_seconds = histogram("caf_turn_seconds", "Duration of a turn.", "chatbot", SECONDS)
        self.step_seconds = histogram("caf_step_seconds", "Duration of a step of a turn.", "step", SHORT)
        self.call_seconds = histogram(
            "caf_model_call_seconds", "Duration of a model call, including retries.", "model", SECONDS
        )
        self.connections = now("caf_connections", "Open client connections.")
        self.refused_connections = counter(
            "caf_connections_refused", "Connections refused, or closed before a complete request.", "reason"
        )
        self.audit_dropped = sum_of("caf_audit_dropped", "Audit records lost since the start.")
        self.traces_dropped = sum_of("caf_traces_dropped", "Traces lost since the start.")
        self.memory_failures = sum_of(
            "caf_memory_failures", "Failed reads and writes of conversation state, stored responses and limits."
        )
        self._running = now("caf_model_running", "Running calls, if `max_concurrent` is set.", "model")
        self._waiting = now("caf_model_queue", "Calls waiting in the queue.", "model")
        self._refused = sum_of("caf_model_queue_refused", "Calls refused by the queue since the start.", "model")
        self._open = now("caf_circuit_open", "Processes whose circuit breaker is open.", "model")
        self._not_sent = sum_of("caf_circuit_refused", "Calls refused by an open circuit since the start.", "model")
        if SHARED:
            self._all = CollectorRegistry()
            MultiProcessCollector(self._all)  # type: ignore[no-untyped-call]
        else:
            self._all = self.registry
            ProcessCollector(registry=self.registry)

    def refused_connection(self, reason: Refusal) -> None:
        """Count a connection that was refused, or closed before a complete request."""
        self.refused_connections.labels(reason).inc()

    def expect(self, chatbots: Iterable[Blueprint]) -> None:
        """Create the series of these chatbots with the value 0.

        Alerts test for an increase. A series that begins with 1 has none, so the first emergency would raise no alert.
        """
        for reason in get_args(Refusal):
            self.refused_connections.labels(reason)
        for bot in chatbots:
            if bot.settings.kind == "passthrough":  # has no turns
                continue
            self.mended.labels(bot.name)
            for outcome in (*get_args(Outcome), "error"):
                self.turns.labels(bot.name, outcome)
            for plan in bot.plans:
                for stage, verdict in product(plan.stages, get_args(Verdict)):
                    self.verdicts.labels(plan.name, stage, verdict)
                for kind in KINDS if plan.name == "emergency" else ():
                    self.emergencies.labels(bot.name, kind)
                    self.concerns.labels(bot.name, kind)

    def turn(self, trace: Trace, ledger: Ledger, steps: Iterable[tuple[str, float]] = ()) -> None:
        """Count a finished turn."""
        chatbot = trace.chatbot
        self.turns.labels(chatbot, trace.outcome if trace.error is None else "error").inc()
        if trace.filter == "shadow" and trace.error is None:
            self.shadow.labels(chatbot, trace.would or "unknown").inc()
        self.conversations.labels(trace.memory).inc()
        self.turn_seconds.labels(chatbot).observe(trace.ms / 1000)
        if trace.invalid_ids:
            self.invalid_ids.inc(trace.invalid_ids)
        if trace.outcome == "emergency" and trace.error is None:
            self.emergencies.labels(chatbot, _kind(trace)).inc()
        if trace.concern is not None and trace.error is None:
            self.concerns.labels(chatbot, trace.concern).inc()
        self._count_verdicts(trace.emergency)
        for attempt in trace.attempts:
            self._count_verdicts(attempt.judgements)
            if attempt.kind == "mended" and trace.filter != "shadow":
                self.mended.labels(chatbot).inc()
        for warning in trace.warnings_added:
            self.warnings_added.labels(chatbot, warning.rule).inc()
        if trace.warnings_shown:
            self.warnings_live.labels(chatbot).inc(len(trace.warnings_shown))
        for name, seconds in steps:
            self.step_seconds.labels(name).observe(seconds)
        self.count_forwarded(ledger)

    def count_request(self, route: str, status: int) -> None:
        """Count a finished request."""
        self.requests.labels(route, str(status)).inc()

    def count_forwarded(self, ledger: Ledger) -> None:
        """Count the model calls of a ledger. Forwarded requests, which are not turns, use this directly."""
        for call in ledger.calls:
            try:
                self._count_call(call)
            except (OverflowError, ValueError) as error:  # an invalid number from the upstream must not fail a reply
                log.error("not counted", error=type(error).__name__)

    def follow_bulkheads(self, bulkheads: Mapping[str, Bulkhead]) -> None:
        """Report queues and circuit breakers of these aliases instead of the previous ones."""
        for reading in (self._running, self._waiting, self._refused, self._open, self._not_sent):
            reading.forget()
        for alias, bulkhead in bulkheads.items():
            self._running.read(_of(bulkhead, "running"), alias)
            self._waiting.read(_of(bulkhead, "waiting"), alias)
            self._refused.read(_of(bulkhead, "refused_calls"), alias)
            if bulkhead.breaker is not None:
                self._open.read(_of(bulkhead.breaker, "open"), alias)
                self._not_sent.read(_of(bulkhead.breaker, "refused_calls"), alias)

    def refresh(self) -> None:
        """Refresh the external metrics. With several workers, each process must do this."""
        for reading in self._readings:
            reading.refresh()

    def values(self) -> dict[str, list[tuple[dict[str, str], float]]]:
        """Return the current counters and gauges by sample name, as pairs of labels and value."""
        self.refresh()
        values: dict[str, list[tuple[dict[str, str], float]]] = {}
        for family in self._all.collect():
            if family.type in ("counter", "gauge"):
                for sample in family.samples:
                    values.setdefault(sample.name, []).append((sample.labels, sample.value))
        return values

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        self.refresh()
        return generate_latest(self._all)

    def _reading(self, gauge: Gauge) -> ExternalMetric:
        reading = ExternalMetric(gauge)
        self._readings.append(reading)
        return reading

    def _count_verdicts(self, judgements: Sequence[Judgement]) -> None:
        for i, judgement in enumerate(judgements):
            self.verdicts.labels(judgement.judge, judgement.stage, judgement.verdict).inc()
            self.step_seconds.labels(f"{judgement.judge}.{judgement.stage}").observe(judgement.ms / 1000)
            if judgement.stage != "local" and any(before.judge == judgement.judge for before in judgements[:i]):
                self.escalations.labels(judgement.judge, judgement.stage).inc()

    def _count_call(self, call: Call) -> None:
        alias, step = call.alias, call.step
        self.calls.labels(alias, call.error or "").inc()
        self.tokens.labels(alias, step, "prompt").inc(call.usage.prompt_tokens)
        self.tokens.labels(alias, step, "completion").inc(call.usage.completion_tokens)
        if step != "forward":  # its duration depends on how fast the client reads
            self.call_seconds.labels(alias).observe(call.ms / 1000)
        if call.attempts > 1:
            self.tries.labels(alias).inc(call.attempts - 1)
        if call.cost:
            self.cost.labels(alias, step).inc(call.cost)


def _kind(trace: Trace) -> str:
    emergency_signs = signs(trace.emergency)
    return emergency_signs[0].kind if emergency_signs else UNKNOWN


def _of(source: object, name: str) -> Callable[[], float]:
    return lambda: float(getattr(source, name))
