"""Advice in calls of tools: of tools that nobody declared, in names, keys, numbers and escapes, beside harmless texts and calls.

A marker stands for the advice. A model that judges rejects what holds it: what it is not shown, it lets pass.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from proxy.api.service import SERVICE
from proxy.protocol.invisible import remove_invisible_from_json
from proxy.traces import redaction
from proxy.traces.trace import Trace
from tests.attacks.forms import CHAT_FORMS, FORMS, Got, ask, check
from tests.proxy.conftest import NO_PROBLEMS, Body, Proxy, Start, bot_settings, eventually, screening

MARKER = "take_900mg_quetiapine_tonight"
SAID = "How much sleep do adults need?"
SLEEP = "Most adults need seven to nine hours of sleep."
KINDS = {
    "guarded": {},
    "wrapped": {"kind": "wrapped"},
    "observe": {"streaming": "observe"},
}
ROLE = [{"name": "role", "stages": ["swift"]}]
ADDRESS = {"street": "Main Street", "number": 7}


def function(name: str) -> Body:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}


def custom(name: str) -> Body:
    return {"type": "custom", "custom": {"name": name}}


def call(name: Any, arguments: Any = "{}", ident: Any = "c1", **more: Any) -> Body:
    said = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": said}, **more}


def custom_call(name: str, given: str) -> Body:
    return {"id": "c1", "type": "custom", "custom": {"name": name, "input": given}}


def screened(reply: str) -> str:
    """Screen a reply: what holds the marker plays a part that the chatbot must not play."""
    return screening(("role", MARKER, 2)) if MARKER in reply else NO_PROBLEMS


class Model:
    """Writes a message, and judges: what holds the marker plays a part that the chatbot must not play."""

    def __init__(self, proxy: Proxy, *messages: Body, cites: bool = True) -> None:
        self.messages = [{"role": "assistant", "content": None, **message} for message in messages]
        for message in self.messages:
            if message["content"] and cites:
                message["content"] = f"[[cite: sleep]]\n{message['content']}"
        self.cases: list[str] = []
        """The replies it was shown to judge."""
        self.verdict: str | None = None
        """What it says in place of a judgement."""
        proxy.upstream.answer = self._answer
        proxy.upstream.respond = None

    def _answer(self, body: Body) -> Any:
        if body["model"] == "up-swift":
            self.cases.append(json.loads(body["messages"][1]["content"])["reply"])
            return self.verdict or screened(self.cases[-1])
        return [json.loads(json.dumps(message)) for message in self.messages]


async def asked(proxy: Proxy, form: str, **fields: Any) -> Got:
    """Ask, and have OpenAI's types read the answer."""
    got = await ask(proxy, form, SAID, **fields)
    assert not got.failed, got
    check(got)
    return got


def fallback_of(proxy: Proxy) -> str:
    return proxy.app[SERVICE].chatbots["bot"].fallback("")


def watched(proxy: Proxy) -> list[Trace]:
    found: list[Trace] = []
    proxy.app[SERVICE].watch = found.append
    return found


# Calls that nobody asked for.

TOOLS = {"tools": [function("f")]}
UNDECLARED: dict[str, tuple[Body, Body]] = {
    "nothing declared": ({}, {"tool_calls": [call(MARKER)]}),
    "no tools": ({"tools": []}, {"tool_calls": [call("f", {"text": MARKER})]}),
    "another tool": (TOOLS, {"tool_calls": [call(MARKER)]}),
    "another case": (TOOLS, {"tool_calls": [call("F", {"text": MARKER})]}),
    "a space": (TOOLS, {"tool_calls": [call("f ", {MARKER: 1})]}),
    "trusted, and not declared": (TOOLS, {"tool_calls": [call("trusted", {"text": MARKER})]}),
    "several": (TOOLS, {"tool_calls": [call(MARKER), call("g", MARKER, "c2"), custom_call("f", MARKER)]}),
    "no name": (TOOLS, {"tool_calls": [{"id": MARKER, "type": "function", "function": {"arguments": MARKER}}]}),
    "no text as name": (TOOLS, {"tool_calls": [call(["f", MARKER])]}),
    "no function": (TOOLS, {"tool_calls": [{"id": "c1", "type": "function", "function": [MARKER], "x": MARKER}]}),
    "nothing at all": (TOOLS, {"tool_calls": [{MARKER: MARKER}]}),
    "a function of the older kind": (TOOLS, {"function_call": {"name": "f", "arguments": MARKER}}),
    "a custom tool of that name": (TOOLS, {"tool_calls": [custom_call("f", MARKER)]}),
}  # fmt: skip
CHAT_UNDECLARED: dict[str, tuple[Body, Body]] = {
    "a function of a custom tool's name": ({"tools": [custom("f")]}, {"tool_calls": [call("f", {"text": MARKER})]}),
    "a tool of a function's name": ({"functions": [{"name": "f"}]}, {"tool_calls": [call("f", {"text": MARKER})]}),
    "another function": ({"functions": [{"name": "f"}]}, {"function_call": {"name": MARKER, "arguments": "{}"}}),
}
CASES = [
    *((form, fields, message) for form in FORMS for fields, message in UNDECLARED.values()),
    *((form, fields, message) for form in CHAT_FORMS for fields, message in CHAT_UNDECLARED.values()),
]


@pytest.mark.parametrize("mode", ["on", "off", "shadow"])
@pytest.mark.parametrize("kind", KINDS)
async def test_calls_that_nobody_declared_do_not_leave(start: Start, kind: str, mode: str) -> None:
    """Without a text beside them the reply is what it is after a draft without a text; with one it is that text."""
    proxy = await start(filter=mode, trusted_tools=["trusted"], **KINDS[kind])
    for form, fields, message in CASES:
        Model(proxy, message)
        got = await asked(proxy, form, **fields)
        assert MARKER not in got
        assert got.calls == []
        assert {*got.texts, *got.refusals} == {fallback_of(proxy)}
        assert bool(got.refusals) == any(fields.values())  # a client that waits for calls is told
        Model(proxy, {**message, "content": SLEEP}, cites=kind != "wrapped")
        got = await asked(proxy, form, **fields)
        assert MARKER not in got
        assert got.texts[0].startswith(SLEEP)
        assert (got.refusals, got.calls) == ([], [])


@pytest.mark.parametrize("form", FORMS)
async def test_a_declared_call_is_not_lost_with_others(start: Start, form: str) -> None:
    """Only what nobody declared is dropped."""
    proxy = await start(trusted_tools=["f"])
    Model(proxy, {"tool_calls": [call(MARKER), call("f", ADDRESS), call("g", MARKER, "c2")]})
    got = await asked(proxy, form, **TOOLS)
    assert MARKER not in got
    assert got.calls == [("f", json.dumps(ADDRESS))]
    assert got.whole["caf"]["outcome"] == "unfiltered"


# Calls of declared tools.

ESCAPED = "".join(f"\\u{ord(character):04x}" for character in MARKER)
MANY = {"text": "\n".join(["Fresh air is good."] * 40 + [MARKER])}
HIDDEN: dict[str, str] = {
    "a text": json.dumps({"text": MARKER}),
    "a key": json.dumps({MARKER: 1}),
    "a key within": json.dumps({"a": [{"b": {MARKER: None}}]}),
    "a list": json.dumps({"texts": ["Hello.", [MARKER]]}),
    "a document that is a text": json.dumps(MARKER),
    "escapes": f'{{"text": "{ESCAPED}"}}',
    "escapes in a key": f'{{"{ESCAPED}": true}}',
    "the end of a long text": json.dumps(MANY),
    "depth": "[" * 60 + json.dumps(MARKER) + "]" * 60,
    "no JSON": f"text={MARKER}",
    "no JSON, but to some": f"{{'text': '{MARKER}'}}",
    "no JSON, but to Python": f'{{"a": NaN, "text": "{ESCAPED}"}}',
    "no JSON, with escapes": f'{{"text": "{ESCAPED}"',
    "half a character": f'{{"a": "\\ud83d", "text": "{ESCAPED}"}}',
    "a key twice, the first": f'{{"text": "{MARKER}", "text": "Hello."}}',
    "a key twice, the last": f'{{"text": "Hello.", "text": "{MARKER}"}}',
    "a key twice, within": f'{{"a": {{"text": "{MARKER}", "\\u0074ext": "Hello."}}}}',
    "white space": f'\n\t {{ "text" :\r\n "{MARKER}" }} ',
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hidden", HIDDEN)
async def test_advice_in_arguments_is_a_refusal(start: Start, kind: str, hidden: str) -> None:
    """However it is written; the refusal is the fallback message, and there is no text, as there was none."""
    proxy = await start(judges=ROLE, **KINDS[kind])
    for form in FORMS:
        Model(proxy, {"tool_calls": [call("f", HIDDEN[hidden])]})
        got = await asked(proxy, form, **TOOLS)
        assert MARKER not in got
        assert ESCAPED not in got
        assert (got.texts, got.refusals, got.calls) == ([], [fallback_of(proxy)], [])
        assert got.whole["caf"]["outcome"] == "fallback"
        if form in CHAT_FORMS:
            assert got.whole["choices"][0]["finish_reason"] == "stop"


LEGACY = {"functions": [{"name": "f"}]}
ELSEWHERE: list[tuple[Body, Body]] = [
    ({"tools": [custom("f")]}, {"tool_calls": [custom_call("f", f"Hello.\n{MARKER}")]}),
    (LEGACY, {"function_call": {"name": "f", "arguments": json.dumps({"text": MARKER})}}),
    ({"tools": [function(MARKER)]}, {"tool_calls": [call(MARKER)]}),
    (TOOLS, {"tool_calls": [call("f", ADDRESS), call("f", {"text": MARKER}, "c2")]}),
    (
        TOOLS | LEGACY,
        {"tool_calls": [call("f", ADDRESS)], "function_call": {"name": "f", "arguments": f'["{MARKER}"]'}},
    ),
]


@pytest.mark.parametrize("form", CHAT_FORMS)
async def test_advice_in_any_kind_of_call_is_a_refusal(start: Start, form: str) -> None:
    """In what custom tools are given, in functions of the older kind, in the name itself, in one call of several."""
    proxy = await start(judges=ROLE)
    for fields, message in ELSEWHERE:
        model = Model(proxy, message)
        got = await asked(proxy, form, **fields)
        assert MARKER not in got
        assert (got.refusals, got.calls) == ([fallback_of(proxy)], [])
        assert len(model.cases) == 1


@pytest.mark.parametrize("form", FORMS)
async def test_local_judges_hear_advice_in_calls(start: Start, form: str) -> None:
    """The shipped judges, without a model."""
    proxy = await start()
    for advice in ("Take 900 mg of quetiapine tonight.", "Stop taking your medication.", "quetiapine 900 mg", MARKER):
        for arguments in ({"text": advice}, {advice: ""}, {"steps": [{"what": advice, "when": "now"}]}):
            Model(proxy, {"tool_calls": [call("f", arguments)]})
            got = await asked(proxy, form, **TOOLS)
            assert advice not in got
            assert (got.refusals, got.calls) == ([fallback_of(proxy)], [])


DOCUMENTS = {
    '{"street": "Main \\u0053treet", "number": 7}': ["street", "Main Street", "number", "7"],
    '{"b": [1.50, -2e3, true, null, "x\\ny"], "a": {}}': ["b", "1.50", "-2e3", "x\ny", "a"],
    '"Hello."': ["Hello."],
    "12345678901234567890123": ["12345678901234567890123"],
    "{}": [],
    "": [],
}  # fmt: skip


def told(texts: list[str]) -> re.Pattern[str]:
    """Return what is said to a judge where these texts are, in this order."""
    return re.compile(".*".join(map(re.escape, texts)), re.DOTALL)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("document", DOCUMENTS)
async def test_judges_read_names_keys_texts_and_numbers_in_their_order(start: Start, form: str, document: str) -> None:
    """What they accept leaves as it came."""
    proxy = await start(judges=ROLE)
    model = Model(proxy, {"tool_calls": [call("f", document)]})
    got = await asked(proxy, form, **TOOLS)
    (case,) = model.cases
    assert told(["f", *DOCUMENTS[document]]).match(case)
    assert (got.calls, got.texts, got.refusals) == ([("f", document)], [], [])
    assert got.whole["caf"]["outcome"] == "accepted"


@pytest.mark.parametrize("form", FORMS)
async def test_several_calls_are_one_case(start: Start, form: str) -> None:
    """One question to each judge, whatever the number of calls; those of trusted tools are not in it."""
    proxy = await start(judges=ROLE, trusted_tools=["t"])
    calls = [call("f", ADDRESS), call("t", {"text": MARKER}, "c2"), call("g", {"city": "Paris"}, "c3")]
    model = Model(proxy, {"tool_calls": calls})
    got = await asked(proxy, form, tools=[function(name) for name in "fgt"])
    (case,) = model.cases
    assert told(["f", "street", "Main Street", "number", "7", "g", "city", "Paris"]).match(case)
    assert MARKER not in case
    assert [name for name, _ in got.calls] == ["f", "t", "g"]
    assert got.whole["caf"]["outcome"] == "accepted"


@pytest.mark.parametrize("form", FORMS)
async def test_calls_of_trusted_tools_leave_when_others_are_rejected(start: Start, form: str) -> None:
    """With the refusal that tells of the others."""
    proxy = await start(judges=ROLE, trusted_tools=["t"])
    Model(proxy, {"tool_calls": [call("f", {"text": MARKER}), call("t", ADDRESS, "c2")]})
    got = await asked(proxy, form, tools=[function("f"), function("t")])
    assert MARKER not in got
    assert (got.calls, got.refusals) == ([("t", json.dumps(ADDRESS))], [fallback_of(proxy)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
async def test_a_text_stays_when_the_calls_beside_it_are_rejected(start: Start, form: str, kind: str) -> None:
    """As it would have been without them, with the refusal behind it."""
    proxy = await start(judges=ROLE, **KINDS[kind])
    Model(proxy, {"content": SLEEP}, cites=kind != "wrapped")
    alone = await asked(proxy, form, **TOOLS)
    Model(proxy, {"content": SLEEP, "tool_calls": [call("f", {"text": MARKER})]}, cites=kind != "wrapped")
    got = await asked(proxy, form, **TOOLS)
    assert MARKER not in got
    assert (got.texts, got.refusals, got.calls) == (alone.texts, [fallback_of(proxy)], [])
    assert got.whole["caf"]["outcome"] == "fallback"


@pytest.mark.parametrize("form", FORMS)
async def test_calls_leave_when_the_text_beside_them_is_replaced(start: Start, form: str) -> None:
    """Each is judged for itself, and the outcome is the worst of both."""
    proxy = await start(judges=ROLE, refiner=None)
    model = Model(proxy, {"content": MARKER, "tool_calls": [call("f", ADDRESS)]})
    got = await asked(proxy, form, **TOOLS)
    assert MARKER not in got
    assert got.calls == [("f", json.dumps(ADDRESS))]
    assert got.whole["caf"]["outcome"] == "fallback"
    assert len(model.cases) == 2


@pytest.mark.parametrize("form", FORMS)
async def test_a_document_beside_rejected_calls_is_refused(start: Start, form: str) -> None:
    """A client that parses it must know; the document itself was accepted."""
    proxy = await start(judges=ROLE)
    document = json.dumps({"answer": SLEEP})
    Model(proxy, {"content": document, "tool_calls": [call("f", {"text": MARKER})]}, cites=False)
    got = await asked(proxy, form, **TOOLS, response_format={"type": "json_object"})
    assert MARKER not in got
    assert (got.texts, got.refusals, got.calls) == ([document], [fallback_of(proxy)], [])


@pytest.mark.parametrize("form", CHAT_FORMS)
async def test_each_choice_is_judged_for_itself(start: Start, form: str) -> None:
    """One is delivered, one refused, one dropped, one text."""
    proxy = await start(judges=ROLE)
    calls = [call("f", ADDRESS)], [call("f", {"text": MARKER})], [call(MARKER)]
    Model(proxy, *({"tool_calls": one} for one in calls), {"content": SLEEP})
    got = await asked(proxy, form, **TOOLS, n=4)
    assert MARKER not in got
    choices = sorted(got.whole["choices"], key=lambda choice: choice["caf"]["outcome"])
    assert [choice["caf"]["outcome"] for choice in choices] == ["accepted", "accepted", "fallback", "fallback"]
    assert (got.calls, got.refusals) == ([("f", json.dumps(ADDRESS))], [fallback_of(proxy)] * 2)


@pytest.mark.parametrize("form", FORMS)
async def test_calls_that_could_not_be_judged_follow_the_policy(start: Start, form: str) -> None:
    """Closed: refused. Open: delivered as unjudged."""
    for policy, calls, refusals, outcome in (("closed", 0, 1, "fallback"), ("open", 1, 0, "unjudged")):
        proxy = await start(judges=[{**ROLE[0], "on_error": policy}])
        model = Model(proxy, {"tool_calls": [call("f", ADDRESS)]})
        model.verdict = "I would rather not say."
        got = await asked(proxy, form, **TOOLS)
        assert (len(got.calls), len(got.refusals)) == (calls, refusals)
        assert got.whole["caf"]["outcome"] == outcome


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", ["off", "shadow"])
async def test_unfiltered_calls_leave_and_shadow_tells(start: Start, form: str, mode: str) -> None:
    """With the filter off no judge is asked; in shadow they are asked afterwards."""
    proxy = await start(judges=ROLE, filter=mode)
    traces = watched(proxy)
    model = Model(proxy, {"tool_calls": [call("f", {"text": MARKER})]})
    got = await asked(proxy, form, **TOOLS)
    assert [name for name, _ in got.calls] == ["f"]
    assert got.whole["caf"]["outcome"] == "unfiltered"
    await eventually(lambda: traces)
    assert traces[0].would == (None if mode == "off" else "fallback")
    assert len(model.cases) == (mode == "shadow")


async def test_a_trace_tells_what_was_dropped(start: Start) -> None:
    """By name and reason; where texts are not stored, without the name."""
    proxy = await start(judges=ROLE)
    traces = watched(proxy)
    Model(proxy, {"tool_calls": [call("f", {"text": MARKER}), call("unknown")]})
    await asked(proxy, "chat", **TOOLS)
    (trace,) = traces
    assert [(one.choice, one.name, one.why) for one in trace.dropped_calls] == [
        (0, "unknown", "undeclared"),
        (0, "f", "rejected"),
    ]
    assert (trace.tool_calls, trace.outcome) == (0, "fallback")
    assert [one.kind for one in trace.attempts] == ["tool_calls"]
    assert MARKER in trace.attempts[0].text
    kept = redaction.redact(trace)
    assert [one.why for one in kept.dropped_calls] == ["undeclared", "rejected"]
    assert MARKER not in str(kept)
    assert "unknown" not in str(kept)


async def test_a_rejected_call_warns_the_chatbot(start: Start) -> None:
    """As a rejected reply does, where the conversation has an id."""
    proxy = await start(judges=ROLE)
    Model(proxy, {"content": SLEEP, "tool_calls": [call("f", {"text": MARKER})]})
    body = await proxy.say(SAID, tools=TOOLS["tools"])
    assert [warning["rule"] for warning in body["caf"]["warnings"]] == ["role"]
    message = body["choices"][0]["message"]
    await proxy.say(SAID, {"role": "assistant", "content": message["content"]}, "And?")
    sent = next(one for one in reversed(proxy.upstream.requests) if one["model"] == "up-chatbot")
    assert "[warning]" in json.dumps(sent)
    assert MARKER not in json.dumps(sent)


# What judges are shown is all that a client can read.

LEAVES = (
    st.sampled_from([MARKER, "Hello.", "", "é", "\n", '"'])
    | st.text(max_size=6)
    | st.integers()
    | st.booleans()
    | st.none()
)
DOCUMENT = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(st.tuples(st.sampled_from([MARKER, "a", "b"]) | st.text(max_size=4), inner), max_size=3).map(tuple)
    ),
    max_leaves=8,
)
"""A tuple of pairs is an object, whose keys may come twice."""


@st.composite
def written(draw: st.DrawFn) -> str:
    """Write a document as JSON, with escapes here and there."""

    def text(value: str) -> str:
        plain = [json.dumps(character, ensure_ascii=False)[1:-1] for character in value]
        escaped = ["".join(f"\\u{unit:04x}" for unit in units(character)) for character in value]
        return '"' + "".join(draw(st.sampled_from(pair)) for pair in zip(plain, escaped, strict=True)) + '"'

    def write(value: Any) -> str:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, tuple):
            return "{" + ", ".join(f"{text(key)}: {write(inner)}" for key, inner in value) + "}"
        return "[" + ",".join(map(write, value)) + "]" if isinstance(value, list) else json.dumps(value)

    return write(draw(DOCUMENT))


def units(character: str) -> Iterator[int]:
    raw = character.encode("utf-16-be")
    return (int.from_bytes(raw[at : at + 2]) for at in range(0, len(raw), 2))


def parts(document: str) -> tuple[list[str], bool]:
    """Return the keys, texts and numbers of a document, and whether an object in it has a key twice."""
    found: list[str] = []
    twice = False

    def pairs(given: list[tuple[str, Any]]) -> None:
        nonlocal twice
        twice |= len(dict(given)) < len(given)
        for key, value in given:
            found.append(key)
            leaf(value)

    def leaf(value: Any) -> None:
        if isinstance(value, list):
            for inner in value:
                leaf(inner)
        elif value is not None and not isinstance(value, bool):
            found.append(str(value))

    leaf(json.loads(document, object_pairs_hook=pairs))
    return found, twice


async def test_whatever_a_client_can_read_in_arguments_was_shown_to_the_judges(start: Start) -> None:
    """Random documents: delivered as they came if nothing in them is advice and no key comes twice, else refused."""
    proxy = await start(judges=ROLE)
    loop = asyncio.get_running_loop()
    seen = {True: 0, False: 0}

    async def attempt(document: str) -> None:
        texts, twice = parts(document)
        model = Model(proxy, {"tool_calls": [call("f", document)]})
        got = await asked(proxy, "chat", **TOOLS)
        stays = not twice and MARKER not in "\n".join(texts)
        assert got.calls == ([("f", document)] if stays else [])
        assert stays or MARKER not in got
        assert twice or all(text.strip() in model.cases[0] for text in texts)
        seen[stays] += 1

    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(written())
    def fuzz(document: str) -> None:
        assume(not remove_invisible_from_json(document)[1])  # what leaves of those is tested elsewhere
        asyncio.run_coroutine_threadsafe(attempt(document), loop).result(20)

    await asyncio.to_thread(fuzz)
    assert all(seen.values())


# Streams of the upstream's.


def chunk(delta: Body, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "x", "choices": [choice]}).encode() + b"\n\n"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_calls_that_come_in_pieces_are_judged_as_a_whole(start: Start, form: str, size: int) -> None:
    """Nothing of them leaves before."""
    proxy = await start(judges=ROLE, streaming="observe")
    arguments = json.dumps({"text": MARKER})
    pieces = [arguments[at : at + size] for at in range(0, len(arguments), size)]

    async def respond(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if body["model"] == "up-swift":
            reply = json.loads(body["messages"][1]["content"])["reply"]
            message = {"role": "assistant", "content": screened(reply)}
            return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(
            chunk({"tool_calls": [{"index": 0, **call("f", "")}, {"index": 1, **call(MARKER, "{}"), "id": "call_2"}]})
        )
        for piece in pieces:
            await response.write(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}))
        await response.write(chunk({}, "tool_calls") + b"data: [DONE]\n\n")
        return response

    proxy.upstream.respond = respond
    got = await asked(proxy, form, **TOOLS)
    assert MARKER not in got
    assert (got.texts, got.refusals, got.calls) == ([], [fallback_of(proxy)], [])


async def test_a_passthrough_chatbot_forwards_calls_as_they_are(start: Start) -> None:
    """It forwards and nothing else."""
    proxy = await start(chatbots={"bot": {"kind": "passthrough", "model": "chatbot"}, "guarded": bot_settings()})
    Model(proxy, {"tool_calls": [call(MARKER, ident=MARKER)]})
    body = await proxy.say(SAID)
    assert body["choices"][0]["message"]["tool_calls"] == [call(MARKER, ident=MARKER)]
