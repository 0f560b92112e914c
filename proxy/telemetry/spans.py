"""OpenTelemetry spans: one for each turn, and below it one for each step and each model call.

invoke_agent BOT ── select ── chat MODEL
                 ├── draft ── chat MODEL
                 ├── judge ── chat MODEL, one for each stage that calls a model
                 ├── refine ── chat MODEL
                 └── events: one `gen_ai.evaluation.result` for each verdict

Names follow the semantic conventions for generative AI 1.41, which are not stable yet. Names that these do not define begin with
`caf.`. A span holds no conversation text, no client header and no id that a client chose. This module is imported only when the
environment enables OpenTelemetry; see `tracing.py`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from opentelemetry import context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from yarl import URL

from models.settings import ModelSettings
from models.turn_scope import TRACE_HEADERS
from models.usage import Call
from proxy.telemetry.logs import FIELDS
from proxy.traces.trace import Trace

TURNS = frozenset(("/v1/chat/completions", "/v1/responses", "/v1/embeddings"))
"""Routes whose requests are turns."""
OPERATIONS = {"select": "retrieval", "embed": "embeddings"}
"""Steps for which the conventions define an operation name."""
_BOUND = {
    "turn_id": "caf.turn.id",
    "filter": "caf.filter",
    "outcome": "caf.outcome",
    "memory": "caf.memory",
    "error": "error.type",
}
"""Fields of the log line, and the names of their span attributes."""
_PROPAGATOR = TraceContextTextMapPropagator()


class Telemetry:
    """Creates and exports spans. It observes model calls as a `models.usage.Watch`."""

    def __init__(self) -> None:
        resource = Resource.create()  # from OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
        if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
            resource = resource.merge(Resource({"service.name": "caf"}))
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._tracer = self._provider.get_tracer("caf")

    def start(self) -> None:
        """Start exporting in a separate thread from a bounded queue. If the collector is down, spans are lost but no turn fails."""
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))

    def close(self) -> None:
        """Export the queued spans. Blocks."""
        self._provider.shutdown()

    @property
    def middleware(self) -> Middleware:
        """The aiohttp middleware that creates a span for each turn."""

        @web.middleware
        async def trace_request(request: web.Request, handler: Handler) -> web.StreamResponse:
            route = request.match_info.route.resource
            path = route.canonical if route is not None else ""
            if request.method != "POST" or path not in TURNS:
                return await handler(request)
            # Only traceparent: tracestate and baggage are free text, which would reach the collector and upstreams.
            parent = _PROPAGATOR.extract({"traceparent": request.headers.get("traceparent", "")}, context.Context())
            span = self._tracer.start_span(
                "invoke_agent", parent, SpanKind.SERVER, {"http.request.method": "POST", "http.route": path}
            )
            leave = _enter(span)
            status = 499  # unless there is a response: the client disconnected
            try:
                response = await handler(request)
                status = response.status
                return response
            finally:
                leave()
                _set_result(span, path, request.get(FIELDS, {}), status)
                span.end()

        return trace_request

    def step(self, name: str) -> Callable[[str | None], None]:
        """Begin the span of a step, and return the function that ends it with an optional error."""
        span = self._tracer.start_span(name, attributes={"caf.step": name})
        if name in OPERATIONS:
            span.set_attribute("gen_ai.operation.name", OPERATIONS[name])
        leave = _enter(span)

        def end(error: str | None) -> None:
            leave()
            _fail(span, error)
            span.end()

        return end

    def call(self, call: Call, request: Mapping[str, Any], settings: ModelSettings) -> Callable[[], None]:
        """Begin the span of a model call, pass its context to the upstream, and return the function that ends it."""
        remote = settings.engine in ("openai", "litellm")
        model = str(request.get("model"))
        kind = SpanKind.CLIENT if remote else SpanKind.INTERNAL
        span = self._tracer.start_span(
            f"chat {model}", kind=kind, attributes=_request_attributes(call, model, request, settings)
        )
        leave = _enter(span)

        def end() -> None:
            leave()
            span.set_attribute("gen_ai.usage.input_tokens", call.usage.prompt_tokens)
            span.set_attribute("gen_ai.usage.output_tokens", call.usage.completion_tokens)
            span.set_attribute("caf.usage.estimated", call.usage.estimated)
            span.set_attribute("caf.attempts", call.attempts)
            if call.cost is not None:
                span.set_attribute("caf.cost", call.cost)
            _fail(span, call.error)
            span.end()

        return end

    def record_verdicts(self, trace: Trace) -> None:
        """Add a turn's verdicts to its span, without their reasons, which may quote people."""
        span = get_current_span()
        if not span.is_recording():  # not sampled, or judged in shadow after the reply was sent
            return
        for judgement in trace.judgements:
            name = {"gen_ai.evaluation.name": judgement.judge, "gen_ai.evaluation.score.label": judgement.verdict}
            span.add_event(
                "gen_ai.evaluation.result",
                {**name, "caf.stage": judgement.stage, "caf.rule": judgement.rule or "", "caf.ms": judgement.ms},
            )


def _enter(span: Span) -> Callable[[], None]:
    """Make a span current and pass it to upstreams. Return the function that reverts both."""
    headers: dict[str, str] = {}
    now = set_span_in_context(span)
    _PROPAGATOR.inject(headers, now)
    entered, told_before = context.attach(now), TRACE_HEADERS.set(headers)

    def leave() -> None:
        TRACE_HEADERS.reset(told_before)
        context.detach(entered)

    return leave


def _request_attributes(call: Call, model: str, request: Mapping[str, Any], settings: ModelSettings) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _provider(settings, model),
        "gen_ai.request.model": model,
        "caf.model": call.alias,
        "caf.step": call.step,
    }
    numbers = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_tokens", "n": "choice.count"}
    for name, attribute in numbers.items():
        value = request.get(name)
        # Client fields are not validated: there may be a text instead of a number.
        if isinstance(value, int | float) and not isinstance(value, bool) and (name != "n" or value != 1):
            attributes[f"gen_ai.request.{attribute}"] = value
    if settings.base_url is not None:
        url = URL(settings.base_url)
        attributes |= {"server.address": url.host or "", "server.port": url.port or 0}
    return attributes


def _provider(settings: ModelSettings, model: str) -> str:
    if settings.engine == "litellm":
        return model.partition("/")[0] if "/" in model else "openai"
    return "openai" if settings.engine == "openai" else f"caf.{settings.engine}"


def _set_result(span: Span, path: str, fields: Mapping[str, Any], status: int) -> None:
    """Set a turn's attributes and status from its log line."""
    span.set_attribute("http.response.status_code", status)
    operation = "embeddings" if path == "/v1/embeddings" else "invoke_agent"
    span.set_attribute("gen_ai.operation.name", operation)
    name = fields.get("chatbot") or fields.get("model")
    if name:  # a configured name: unknown ones never get here
        span.update_name(f"{operation} {name}")
        span.set_attribute("gen_ai.agent.name" if operation == "invoke_agent" else "gen_ai.request.model", name)
    if fields.get("conversation_id"):
        span.set_attribute("gen_ai.conversation.id", fields["conversation_id"])
    for field, attribute in _BOUND.items():
        if fields.get(field) is not None:
            span.set_attribute(attribute, fields[field])
    if status == 499:
        span.set_attribute("error.type", "cancelled")
    elif status >= 500 or (status < 400 and fields.get("error")):  # or a stream that broke off
        _fail(span, str(fields.get("error", status)))


def _fail(span: Span, error: str | None) -> None:
    if error is not None:
        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR))
