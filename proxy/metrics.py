"""What Prometheus is told. One registry for each app; names begin with caf_."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from models.usage import Ledger
from proxy.trace import Trace

SECONDS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 60, 120)


class Metrics:
    """The counters and histograms of one app."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(name, what, labels, registry=self.registry)

        self.requests = counter("caf_requests", "HTTP requests by route and status.", "route", "status")
        self.turns = counter("caf_turns", "Turns by chatbot and outcome.", "chatbot", "outcome")
        self.verdicts = counter("caf_verdicts", "Verdicts of judges by stage.", "judge", "stage", "verdict")
        self.conversations = counter("caf_conversations", "How conversations were recognised.", "memory")
        self.calls = counter("caf_model_calls", "Model calls by alias and error (empty for none).", "model", "error")
        self.tokens = counter("caf_tokens", "Tokens by alias and kind.", "model", "kind")
        self.cost = counter("caf_cost", "Cost of model calls in the prices' currency, by alias.", "model")
        self.invalid_ids = counter("caf_invalid_source_ids", "Ids of sections that a selection model made up.")
        self.traces_dropped = Gauge(
            "caf_traces_dropped", "Traces that could not be kept since the start.", registry=self.registry
        )
        self.turn_seconds = Histogram(
            "caf_turn_seconds", "Time of a turn.", ["chatbot"], buckets=SECONDS, registry=self.registry
        )

    def turn(self, trace: Trace, ledger: Ledger) -> None:
        """Count a finished turn."""
        self.turns.labels(trace.chatbot, trace.outcome if trace.error is None else "error").inc()
        self.conversations.labels(trace.memory).inc()
        self.turn_seconds.labels(trace.chatbot).observe(trace.ms / 1000)
        self.invalid_ids.inc(trace.invalid_ids)
        for judgement in (*trace.emergency, *(j for attempt in trace.attempts for j in attempt.judgements)):
            self.verdicts.labels(judgement.judge, judgement.stage, judgement.verdict).inc()
        for call in ledger.calls:
            self.calls.labels(call.alias, call.error or "").inc()
            self.tokens.labels(call.alias, "prompt").inc(call.usage.prompt_tokens)
            self.tokens.labels(call.alias, "completion").inc(call.usage.completion_tokens)
            if call.cost:
                self.cost.labels(call.alias).inc(call.cost)

    def text(self) -> bytes:
        """Return the exposition format."""
        return generate_latest(self.registry)
