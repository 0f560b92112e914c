"""Spans, as a real OTLP/HTTP receiver gets them."""

import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from proxy.config.config import ConfigError
from proxy.telemetry.tracing import open_telemetry
from tests.proxy.conftest import NO_PROBLEMS, Start, dialogue, eventually, judge_with, text_of

ROOT = Path(__file__).parents[3]
ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night, WORDOFUSER."
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SERVER, CLIENT = 2, 3


class Receiver:
    """An OpenTelemetry collector that keeps what it gets."""

    def __init__(self) -> None:
        self.raw: list[bytes] = []
        self.spans: dict[str, Any] = {}
        """By name, the last of each."""

    async def handle(self, request: web.Request) -> web.Response:
        raw = await request.read()
        self.raw.append(raw)
        got = ExportTraceServiceRequest.FromString(raw)
        for resource in got.resource_spans:
            self.resource = attributes(resource.resource)
            for scope in resource.scope_spans:
                self.spans |= {span.name: span for span in scope.spans}
        return web.Response(content_type="application/x-protobuf")


def attributes(of: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of.attributes}


@pytest.fixture
async def receiver(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Receiver]:
    """Start a receiver, and have proxies export to it."""
    found = Receiver()
    app = web.Application()
    app.router.add_post("/v1/traces", found.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{runner.addresses[0][1]}")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    yield found
    await runner.cleanup()


async def test_turn_has_a_span_with_its_steps_and_calls_below_it(start: Start, receiver: Receiver) -> None:
    """Who reads the trace sees which model was asked in which step, for how many tokens, and what came of it."""
    judges = [{"name": "emergency", "stages": ["local"]}, {"name": "role", "stages": ["swift"]}]
    proxy = await start(judges=judges, retrieval={"selector": "retriever"}, alias={"price": {"input": 1, "output": 2}})
    answers = {
        "up-swift": NO_PROBLEMS,
        "up-retriever": '{"parts": [{"part": "x", "ids": ["sleep"]}], "reason": "r"}',
    }
    proxy.upstream.answer = lambda body: answers.get(body["model"], "[[cite: sleep]]\nMost adults need seven hours.")
    body = await proxy.say("How much sleep do adults need?", headers={"traceparent": PARENT})
    await eventually(lambda: "invoke_agent bot" in receiver.spans)
    spans = receiver.spans
    turn = spans["invoke_agent bot"]
    told = attributes(turn)
    assert (turn.kind, turn.parent_span_id.hex(), turn.trace_id.hex()) == (SERVER, PARENT[36:52], PARENT[3:35])
    assert told["gen_ai.operation.name"] == "invoke_agent"
    assert told["gen_ai.agent.name"] == "bot"
    assert told["gen_ai.conversation.id"] == body["caf"]["conversation_id"]
    assert told["caf.turn.id"] == body["caf"]["turn_id"]
    assert told["caf.outcome"] == body["caf"]["outcome"] == "accepted"
    assert told["http.response.status_code"] == 200
    assert receiver.resource["service.name"] == "caf"
    calls = {"select": "chat up-retriever", "draft": "chat up-chatbot", "judge": "chat up-swift"}
    for step, name in calls.items():
        call = spans[name]
        assert spans[step].parent_span_id == turn.span_id, step
        assert call.parent_span_id == spans[step].span_id, step
        assert call.kind == CLIENT
        found = attributes(call)
        assert found["gen_ai.provider.name"] == "openai"
        assert found["gen_ai.operation.name"] == "chat"
        assert found["gen_ai.request.model"] == name.removeprefix("chat ")
        assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (10, 5)
        assert found["server.address"] == "127.0.0.1"
        assert round(found["caf.cost"] * 1e6) == 20
    assert attributes(spans["select"])["gen_ai.operation.name"] == "retrieval"
    verdicts = [attributes(event) for event in turn.events]
    labels = {f"{v['gen_ai.evaluation.name']}.{v['caf.stage']}": v["gen_ai.evaluation.score.label"] for v in verdicts}
    assert labels == {"emergency.local": "accept", "role.swift": "accept"}


async def test_upstream_is_told_the_span_of_its_own_call(start: Start, receiver: Receiver) -> None:
    """So that a trace goes on in a model server of one's own, below the call that it answers."""
    proxy = await start()
    await proxy.say("Hi", headers={"traceparent": PARENT, "tracestate": "vendor=WORDOFUSER"})
    await eventually(lambda: "invoke_agent bot" in receiver.spans)
    call = receiver.spans["chat up-chatbot"]
    headers = proxy.upstream.headers[0]
    assert headers["traceparent"] == f"00-{PARENT[3:35]}-{call.span_id.hex()}-01"
    assert "tracestate" not in headers


async def test_client_s_trace_goes_on_without_telemetry(start: Start) -> None:
    """A proxy that records nothing must not tear a trace in two; nor does a request hand its trace to the next."""
    proxy = await start()
    await proxy.say("Hi", headers={"traceparent": PARENT})
    await proxy.say("Hi")
    assert [headers.get("traceparent") for headers in proxy.upstream.headers] == [PARENT, None]


@pytest.mark.parametrize(
    "parent", ["", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "ff-" + PARENT[3:], "ü" * 55]
)
async def test_malformed_parent_begins_a_new_trace(start: Start, receiver: Receiver, parent: str) -> None:
    """What a stranger sends as a header is no reason for an error."""
    proxy = await start()
    await proxy.say("Hi", headers={"traceparent": parent})
    await eventually(lambda: "invoke_agent bot" in receiver.spans)
    assert receiver.spans["invoke_agent bot"].parent_span_id == b""


async def test_spans_hold_no_word_of_the_conversation(start: Start, receiver: Receiver) -> None:
    """Neither what was said nor what was rejected, nor ids that a client chose, nor what it wrote where a number should be."""
    proxy = await start(judges=judge_with("local"))
    proxy.upstream.answer = lambda body: ADVICE
    private = {
        "user": "USERNAME",
        "metadata": {"conversation_id": "WORDOFUSER"},
        "stop": "WORDOFUSER",
        "top_p": "WORDOFUSER",
    }
    headers = {"Authorization": "Bearer sk-KEY", "baggage": "a=WORDOFUSER", "tracestate": "v=WORDOFUSER"}
    await proxy.say("Which supplements, WORDOFUSER?", headers=headers, **private)
    await proxy.say("WORDOFUSER I am going to end my life tonight", headers=headers)
    await proxy.error({"model": "WORDOFUSER", "messages": dialogue("WORDOFUSER")}, headers)
    proxy.upstream.answer = lambda body: web.json_response({"error": {"message": "WORDOFUSER"}}, status=400)
    await proxy.error({"model": "bot", "messages": dialogue("WORDOFUSER")}, headers)
    await eventually(lambda: b"UpstreamRefused" in b"".join(receiver.raw))
    raw = b"".join(receiver.raw)
    assert b"caf.outcome" in raw
    assert b"refined" in raw
    for secret in (b"WORDOFUSER", b"magnesium", b"sk-KEY", b"USERNAME", b"end my life"):
        assert secret not in raw


async def test_failures_are_told_by_their_kind(start: Start, receiver: Receiver) -> None:
    """The call that failed, its step and its turn are errors; nothing else is."""
    proxy = await start()
    proxy.upstream.answer = lambda body: web.json_response({}, status=500)
    await proxy.error({"model": "bot", "messages": dialogue("Hi")})
    await eventually(lambda: "invoke_agent bot" in receiver.spans)
    failed = {name for name, span in receiver.spans.items() if span.status.code == 2}
    assert failed == {"invoke_agent bot", "draft", "chat up-chatbot"}
    assert attributes(receiver.spans["chat up-chatbot"])["error.type"] == "UpstreamUnavailable"


async def test_passthrough_is_a_span_that_its_upstream_knows(start: Start, receiver: Receiver) -> None:
    """There is one call in it, which is the turn."""
    proxy = await start(chatbots={"bot": {"kind": "passthrough", "model": "chatbot"}})
    await proxy.say("Hi", headers={"traceparent": PARENT})
    await eventually(lambda: "invoke_agent bot" in receiver.spans)
    turn = receiver.spans["invoke_agent bot"]
    assert proxy.upstream.headers[0]["traceparent"] == f"00-{PARENT[3:35]}-{turn.span_id.hex()}-01"


async def test_unreachable_collector_costs_no_turn(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Telemetry is for those who look on; the person who asked has no part in its failures."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    proxy = await start()
    assert text_of(await proxy.say("Hi"))


@pytest.mark.parametrize(
    ("environ", "on"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "caf"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"}, False),
    ],
)
def test_standard_variables_turn_it_on(environ: dict[str, str], on: bool) -> None:
    """As everywhere else where OpenTelemetry is."""
    assert (open_telemetry(environ) is not None) == on


@pytest.mark.parametrize(
    "environ",
    [
        {"OTEL_TRACES_EXPORTER": "zipkin"},
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
    ],
)
def test_what_is_not_here_is_refused_at_the_start(environ: dict[str, str]) -> None:
    """Spans that go nowhere would be missed on the day that they are needed."""
    with pytest.raises(ConfigError, match=re.compile("zipkin|grpc")):
        open_telemetry(environ)


def test_nothing_is_imported_that_nobody_asked_for() -> None:
    """Its libraries take a tenth of a second and some megabytes."""
    code = (
        "import sys, proxy.app; from proxy.telemetry.tracing import open_telemetry; open_telemetry({}); "
        "print(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
