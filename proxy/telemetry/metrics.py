"""What Prometheus is told. One registry for each app; names begin with caf_.

Labels are names of ours: routes, chatbots, aliases, judges, steps, kinds. Never what a client or a model wrote: it would say
who somebody is, and a metric for each is more than a Prometheus can hold.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, product
from typing import Any, Literal, TypeVar, get_args

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.values import MutexValue, ValueClass

from judges.observation import Sign
from judges.review import signs
from judges.verdict import Judgement, Verdict
from models.guard import Guard
from models.usage import Call, Ledger
from proxy.config.blueprint import Blueprint
from proxy.telemetry.histogram import BatchHistogram
from proxy.telemetry.reading import Reading
from proxy.telemetry.together import Together
from proxy.traces.trace import Outcome, Trace

SECONDS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 60, 120)
SHORT = (0.0001, 0.00025, 0.0005, *SECONDS)
"""For steps: a local judge takes less than a millisecond."""

SHARED = ValueClass is not MutexValue
"""Whether several processes count together: PROMETHEUS_MULTIPROC_DIR was set when the library was imported."""

UNKNOWN = "unknown"
"""The kind of an emergency whose judge named no sign."""
KINDS: tuple[str, ...] = (*get_args(Sign.model_fields["kind"].annotation), UNKNOWN)


Refusal = Literal["full", "idle", "late"]
"""Why a connection is refused: there is no room for it; another needed the room, and it had no request; its head took too long."""

log = structlog.get_logger()

Metric = TypeVar("Metric", Counter, BatchHistogram)


class Metrics:
    """The counters and histograms of one app; with PROMETHEUS_MULTIPROC_DIR, of all processes that share that folder."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._readings: list[Reading] = []
        self._children: dict[tuple[object, ...], Any] = {}
        self._sums = defaultdict[tuple[Any, ...], float](float)
        """By how much counters are to go up, by counter and labels: most of what is counted in a moment is the same."""
        self._times = defaultdict[tuple[Any, ...], list[float]](list)
        """What histograms are to be told, in seconds, by histogram and label."""
        self._together = Together[Callable[[], None]](self._count)

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(name, what, labels, registry=self.registry)

        def histogram(name: str, what: str, label: str, buckets: Sequence[float]) -> BatchHistogram:
            return BatchHistogram(name, what, [label], buckets=buckets, registry=self.registry)

        def sum_of(name: str, what: str, *labels: str) -> Reading:
            return self._reading(Gauge(name, what, labels, registry=self.registry, multiprocess_mode="sum"))

        def now(name: str, what: str, *labels: str) -> Reading:
            return self._reading(Gauge(name, what, labels, registry=self.registry, multiprocess_mode="livesum"))

        self.requests = counter("caf_requests", "HTTP requests by route and status.", "route", "status")
        self.turns = counter("caf_turns", "Turns by chatbot and outcome.", "chatbot", "outcome")
        self.shadow = counter(
            "caf_shadow_turns", "Turns in shadow by what the filter would have made of them.", "chatbot", "would"
        )
        self.emergencies = counter("caf_emergencies", "Emergency replies by kind.", "chatbot", "kind")
        self.concerns = counter(
            "caf_concerns", "Replies that ended with the emergency contact, by kind of danger.", "chatbot", "kind"
        )
        self.mended = counter("caf_mended", "Replies whose small faults code mended, without a model.", "chatbot")
        self.verdicts = counter("caf_verdicts", "Verdicts of judges by stage.", "judge", "stage", "verdict")
        self.escalations = counter(
            "caf_escalations",
            "Cases that an earlier stage of the judge handed on, by the stage asked.",
            "judge",
            "stage",
        )
        self.warnings_added = counter("caf_warnings_added", "Warnings that arose, or arose again.", "chatbot", "rule")
        self.warnings_live = counter(
            "caf_warnings_live", "Warnings that turns carried: by caf_turns, those live in a turn.", "chatbot"
        )
        self.conversations = counter("caf_conversations", "How conversations were recognised.", "memory")
        self.calls = counter("caf_model_calls", "Model calls by alias and error (empty for none).", "model", "error")
        self.tries = counter("caf_model_retries", "Tries of model calls after the first.", "model")
        self.tokens = counter("caf_tokens", "Tokens by alias, step and kind.", "model", "step", "kind")
        self.cost = counter("caf_cost", "Cost of model calls in the prices' currency.", "model", "step")
        self.invalid_ids = counter("caf_invalid_source_ids", "Ids of sections that a selection model made up.")
        self.turn_seconds = histogram("caf_turn_seconds", "Time of a turn.", "chatbot", SECONDS)
        self.step_seconds = histogram("caf_step_seconds", "Time of a step of a turn.", "step", SHORT)
        self.call_seconds = histogram(
            "caf_model_call_seconds", "Time of a model call, with its retries.", "model", SECONDS
        )
        self.connections = now("caf_connections", "Connections of clients that are open.")
        self.refused_connections = counter(
            "caf_connections_refused", "Connections that were refused or closed without a whole request.", "reason"
        )
        self.audit_dropped = sum_of("caf_audit_dropped", "Audit records that could not be kept since the start.")
        self.traces_dropped = sum_of("caf_traces_dropped", "Traces that could not be kept since the start.")
        self.memory_failures = sum_of(
            "caf_memory_failures", "Reads and writes of states, kept responses and limits that failed."
        )
        self._running = now("caf_model_running", "Calls under way, where `max_concurrent` is set.", "model")
        self._waiting = now("caf_model_queue", "Calls that wait for a place.", "model")
        self._refused = sum_of("caf_model_queue_refused", "Calls that found no place since the start.", "model")
        self._open = now("caf_circuit_open", "Processes whose circuit breaker is open.", "model")
        self._not_sent = sum_of("caf_circuit_refused", "Calls that an open circuit held back since the start.", "model")
        if SHARED:
            self._all = CollectorRegistry()
            MultiProcessCollector(self._all)  # type: ignore[no-untyped-call]
        else:
            self._all = self.registry
            ProcessCollector(registry=self.registry)

    def refused_connection(self, reason: Refusal) -> None:
        """Count a connection that was refused, or closed without a whole request."""
        self._of(self.refused_connections, reason).inc()

    def expect(self, chatbots: Iterable[Blueprint]) -> None:
        """Show a 0 for whatever turns of these chatbots may come to.

        Alarms ask for an increase, and a series that begins with 1 has none: the first emergency would raise no alarm.
        """
        for reason in get_args(Refusal):
            self._of(self.refused_connections, reason)
        for bot in chatbots:
            if bot.settings.kind == "passthrough":  # has no turns
                continue
            self._of(self.mended, bot.name)
            for outcome in (*get_args(Outcome), "error"):
                self._of(self.turns, bot.name, outcome)
            for plan in bot.plans:
                for stage, verdict in product(plan.stages, get_args(Verdict)):
                    self._of(self.verdicts, plan.name, stage, verdict)
                for kind in KINDS if plan.name == "emergency" else ():
                    self._of(self.emergencies, bot.name, kind)
                    self._of(self.concerns, bot.name, kind)

    def turn(self, trace: Trace, ledger: Ledger, steps: Iterable[tuple[str, float]] = ()) -> None:
        """Count a finished turn."""
        self._later(partial(self._turn, trace, tuple(ledger.calls), tuple(steps)))

    def _turn(self, trace: Trace, calls: Iterable[Call], steps: Iterable[tuple[str, float]]) -> None:
        chatbot = trace.chatbot
        sums = self._sums
        sums[self.turns, chatbot, trace.outcome if trace.error is None else "error"] += 1
        if trace.filter == "shadow" and trace.error is None:
            sums[self.shadow, chatbot, trace.would or "unknown"] += 1
        sums[self.conversations, trace.memory] += 1
        self._times[self.turn_seconds, chatbot].append(trace.ms / 1000)
        if trace.invalid_ids:
            self.invalid_ids.inc(trace.invalid_ids)
        if trace.outcome == "emergency" and trace.error is None:
            sums[self.emergencies, chatbot, _kind(trace)] += 1
        if trace.concern is not None and trace.error is None:
            sums[self.concerns, chatbot, trace.concern] += 1
        self._judged(trace.emergency)
        for attempt in trace.attempts:
            self._judged(attempt.judgements)
            if attempt.kind == "mended" and trace.filter != "shadow":
                sums[self.mended, chatbot] += 1
        for warning in trace.warnings_added:
            sums[self.warnings_added, chatbot, warning.rule] += 1
        if trace.warnings_shown:
            sums[self.warnings_live, chatbot] += len(trace.warnings_shown)
        for name, seconds in steps:
            self._times[self.step_seconds, name].append(seconds)
        for call in calls:
            self._called(call)

    def answered(self, route: str, status: int) -> None:
        """Count a finished request."""
        self._later(partial(self._answered, route, status))

    def _answered(self, route: str, status: int) -> None:
        self._sums[self.requests, route, str(status)] += 1

    def forwarded(self, ledger: Ledger) -> None:
        """Count the calls of what was forwarded. It is no turn: nothing was decided."""
        for call in ledger.calls:
            self._later(partial(self._called, call))

    def guard(self, guards: Mapping[str, Guard]) -> None:
        """Show the queues and circuit breakers of these aliases, in place of those before a change of configuration."""
        for reading in (self._running, self._waiting, self._refused, self._open, self._not_sent):
            reading.forget()
        for alias, guard in guards.items():
            self._running.read(_of(guard, "running"), alias)
            self._waiting.read(_of(guard, "waiting"), alias)
            self._refused.read(_of(guard, "refused"), alias)
            if guard.breaker is not None:
                self._open.read(_of(guard.breaker, "open"), alias)
                self._not_sent.read(_of(guard.breaker, "refused"), alias)

    def refresh(self) -> None:
        """Count what waits, and take over the numbers that others keep.

        Where processes count together each must do so, whoever is asked.
        """
        self._together.flush()
        for reading in self._readings:
            reading.refresh()

    def text(self) -> bytes:
        """Return the exposition format."""
        self.refresh()
        return generate_latest(self._all)

    def _reading(self, gauge: Gauge) -> Reading:
        reading = Reading(gauge)
        self._readings.append(reading)
        return reading

    def _later(self, count: Callable[[], None]) -> None:
        """Count in a moment. Where processes count together at once: one that is asked tells what all have counted."""
        if SHARED:
            self._count([count])
        else:
            self._together.add(count)

    def _count(self, counts: Iterable[Callable[[], None]]) -> None:
        for count in counts:
            try:
                count()
            except Exception as error:  # a number that is none: the others' counts are not to be lost with it
                log.error("not counted", error=type(error).__name__)
        sums, self._sums = self._sums, defaultdict(float)
        times, self._times = self._times, defaultdict(list)
        for (metric, *labels), more in chain(sums.items(), times.items()):
            try:
                child = self._of(metric, *labels)
                if isinstance(more, list):
                    child.observe_all(more)
                else:
                    child.inc(more)
            except Exception as error:
                log.error("not counted", error=type(error).__name__)

    def _judged(self, judgements: Sequence[Judgement]) -> None:
        for i, one in enumerate(judgements):
            self._sums[self.verdicts, one.judge, one.stage, one.verdict] += 1
            self._times[self.step_seconds, f"{one.judge}.{one.stage}"].append(one.ms / 1000)
            if one.stage != "local" and any(before.judge == one.judge for before in judgements[:i]):
                self._sums[self.escalations, one.judge, one.stage] += 1

    def _called(self, call: Call) -> None:
        alias, step, sums = call.alias, call.step, self._sums
        sums[self.calls, alias, call.error or ""] += 1
        sums[self.tokens, alias, step, "prompt"] += call.usage.prompt_tokens
        sums[self.tokens, alias, step, "completion"] += call.usage.completion_tokens
        if step != "forward":  # whose time is the client's, who may read slowly
            self._times[self.call_seconds, alias].append(call.ms / 1000)
        if call.attempts > 1:
            sums[self.tries, alias] += call.attempts - 1
        if call.cost:
            sums[self.cost, alias, step] += call.cost

    def _of(self, metric: Metric, *labels: str) -> Metric:
        """Return a metric's child, which the library takes longer to find than to count with. Labels are few, as said above."""
        key = (metric, *labels)
        child: Metric | None = self._children.get(key)
        if child is None:
            child = self._children[key] = metric.labels(*labels)
        return child


def _kind(trace: Trace) -> str:
    found = signs(trace.emergency)
    return found[0].kind if found else UNKNOWN


def _of(kept: object, name: str) -> Callable[[], float]:
    return lambda: float(getattr(kept, name))
