"""Hippocrates as served by its own configuration: HTTP in front, a real WebAPI behind."""

import asyncio
import json
import re
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import duckdb
import openai
import pytest
import yaml
from aiohttp import web

from assistants import registry
from assistants.hippocrates.assistant import Hippocrates, open_assistant
from assistants.hippocrates.cdm import Counts, show_counts
from assistants.hippocrates.webapi import Sent, WebApi
from models.errors import ModelSettingsError
from models.scripted import Scripted
from models.settings import ModelSettings
from proxy.api.service import SERVICE
from proxy.app import create_app
from proxy.config.config import parse_config
from proxy.traces.trace import Trace
from tests.assistants.hippocrates.conftest import FILES
from tests.assistants.hippocrates.doubles import OPENED, Watched
from tests.proxy.auth.test_access import keyed
from tests.proxy.conftest import Body, Proxy, Upstream, text_of

CONFIG = Path("assistants/hippocrates/config.yaml").resolve()
BLEED = ["gastrointestinal hemorrhage", "365", "none", "none", "none", "none", "end of observation"]
RESEARCH = Path("scenarios/hippocrates/research_questions.yaml").resolve()
CODE = re.compile(r"confirm ([a-z]{6})")
NUMBER = re.compile(r"\d[\d,]*")


class Chat:
    """A conversation with a proxy that serves Hippocrates."""

    def __init__(self, proxy: Proxy, assistant: Watched, **fields: Any) -> None:
        self.proxy, self.assistant, self.fields = proxy, assistant, fields
        self.messages: list[Body] = []

    async def post(self, messages: list[Body], **fields: Any) -> Body:
        body = {"model": "hippocrates", "messages": messages, **self.fields, **fields}
        headers = body.pop("headers", None)
        status, answer = await self.proxy.post(body, headers)
        assert status == 200, answer
        return answer

    async def say(self, *texts: str, **fields: Any) -> str:
        """Say messages one after another; return the reply to the last."""
        for text in texts:
            self.messages.append({"role": "user", "content": text})
            answer = await self.post(self.messages, **fields)
            self.messages.append({"role": "assistant", "content": text_of(answer)})
        return text_of(answer)


Open = Callable[..., Awaitable[Chat]]


@pytest.fixture
async def talk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Open]:
    """Serve the shipped configuration, with some options of the assistant changed, and with a model where one is given."""
    monkeypatch.setitem(registry.OURS, "hippocrates", "tests.assistants.hippocrates.doubles:open_assistant")  # type: ignore[arg-type]
    async with AsyncExitStack() as stack:

        async def begin(config: Body | None = None, planner: Scripted | None = None, **options: Any) -> Chat:
            data = yaml.safe_load(CONFIG.read_text())
            data["models"]["hippocrates"] |= options
            if planner is not None:
                data["models"]["planner"] = {"engine": "embedded", "model": "planner", "max_attempts": 1}
                data["models"]["hippocrates"]["models"] = {"planner": "planner"}
            data["chatbots"]["hippocrates"]["knowledge_base"] = str(CONFIG.parent / "knowledge_base")
            data["privacy"] = {"store": "none"}
            engines = {**registry.ENGINES, "embedded": lambda _: planner}
            app = create_app(parse_config(data | (config or {}), tmp_path / "config.yaml"), engines)
            runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            session = await stack.enter_async_context(aiohttp.ClientSession())
            proxy = Proxy(f"http://127.0.0.1:{runner.addresses[0][1]}", session, Upstream(), app)
            return Chat(proxy, OPENED[-1])

        yield begin


async def definitions(chat: Chat, atlas: str) -> list[Body]:
    """Return what WebAPI has."""
    async with chat.proxy.session.get(f"{atlas}/cohortdefinition/") as response:
        return await response.json()


async def proposal(chat: Chat, *texts: str) -> str:
    """Describe a cohort to its end, and return the code that stands for sending it."""
    text = await chat.say(*(texts or BLEED))
    found = CODE.search(text)
    assert found, text
    return found[1]


def values(text: str) -> set[str]:
    return {found.replace(",", "").rstrip(".") for found in NUMBER.findall(text)}


# --- ordinary turns


async def test_ordinary_replies_are_delivered_as_they_were_written(talk: Open) -> None:
    """The local judges change none of a hundred, and each number that is delivered stands in a document or was said by the user."""
    dialogues = yaml.safe_load((Path(__file__).parent / "turns.yaml").read_text())
    assert sum(map(len, dialogues)) > 95
    chat = await talk(webapi="http://127.0.0.1:9/WebAPI")
    for dialogue in dialogues:
        chat.messages = []
        for text in dialogue:
            chat.messages.append({"role": "user", "content": text})
            answer = await chat.post(chat.messages)
            assert answer["caf"]["outcome"] in ("accepted", "warned"), (text, answer)
            chat.messages.append({"role": "assistant", "content": text_of(answer)})
            draft = chat.assistant.drafts[-1]
            assert text_of(answer).startswith(draft.text), text
            if {*draft.citations} - {one.id for one in draft.documents}:  # a section of the knowledge base
                continue
            said = " ".join(one["content"] for one in chat.messages if one["role"] == "user")
            assert values(draft.text) <= values(" ".join([said, *(one.text for one in draft.documents)])), text


QUESTIONS = [
    ["databases with gastrointestinal hemorrhage"],
    ["databases with celecoxib and osteoarthritis in Portugal"],
    [*BLEED],
    ["first celecoxib", "none", "none", "Gastrointestinal hemorrhage", "none", "18 or older", "none", "30 days"],
    ["peptic ulser"],
]


@pytest.mark.parametrize("texts", QUESTIONS)
async def test_a_changed_count_is_never_delivered(talk: Open, texts: list[str]) -> None:
    """Each number of a draft in turn, counts and concept ids alike, in every other value than that of its document."""
    chat = await talk()
    await chat.say(*texts)
    draft = chat.assistant.drafts[-1]
    before = chat.messages[:-1]
    places = [
        found
        for found in NUMBER.finditer(draft.text)
        if not found[0].strip(",").isdigit() or int(found[0].strip(",")) > 30
    ]
    assert places
    for place in places:
        changed = f"{int(place[0].replace(',', '')) + 7000:,}" + ("," if place[0].endswith(",") else "")
        chat.assistant.alter = lambda text, place=place, changed=changed: (
            text[: place.start()] + changed + text[place.end() :]
        )
        answer = await chat.post(before)
        assert changed.rstrip(",") not in text_of(answer)
        assert answer["caf"]["outcome"] not in ("accepted", "warned")


async def test_databases_are_counted_without_small_cells_and_in_detail_for_those_who_may(
    talk: Open, tmp_path: Path
) -> None:
    """Counts of each concept need the permission `trace`."""
    config, plain = keyed(tmp_path)
    _, trusted = keyed(tmp_path, "chat", "trace")
    chat = await talk(config)
    question = "databases with asthma"
    shown = await chat.say(question, headers=plain)
    assert "fewer than 5" in shown
    assert not re.search(r": [1-4]\.", shown)
    assert "By concept" not in shown
    chat.messages = []
    detail = await chat.say(question, headers=trusted)
    assert "By concept: Asthma (317009)" in detail
    assert not re.search(r"\) [1-4]\b", detail)


async def test_a_cohort_is_counted_on_demo_data_that_is_called_so(talk: Open) -> None:
    """479 persons, and without a WebAPI nothing is offered to be sent."""
    chat = await talk()
    text = await chat.say(*BLEED)
    assert "479 persons" in text
    assert "demo" in text
    assert not CODE.search(text)
    assert "not set up" in await chat.say("send")
    expression = json.loads(
        text_of(await chat.post([*chat.messages, {"role": "user", "content": "json"}])).strip("`\n")
    )
    assert expression["PrimaryCriteria"]["ObservationWindow"] == {"PriorDays": 365, "PostDays": 0}


@pytest.mark.parametrize(
    ("persons", "shown"),
    [
        ((0,), ["no persons"]),
        ((3,), ["fewer than 5 persons"]),
        ((1000, 4, 0), ["1,000 persons", "fewer than 5 persons", "no persons"]),
        ((482, 481, 479), ["the same, or fewer than 5 more", "the same, or fewer than 5 more", "479 persons"]),
        ((500, 482, 479), ["500 persons", "the same, or fewer than 5 more", "479 persons"]),
    ],
)
def test_no_count_shows_few_persons(persons: tuple[int, ...], shown: list[str]) -> None:
    """Nor does the difference of two that stand below one another."""
    steps = [(f"rule {place}", count) for place, count in enumerate(persons)]
    lines = show_counts(Counts(steps), is_demo=False)
    listed = [line for line in lines if line.startswith("- ")] or lines
    assert [one in line for one, line in zip(shown, listed, strict=True)] == [True] * len(shown)


async def test_a_complete_cohort_says_what_can_be_done_with_it(talk: Open) -> None:
    """Also one with an error, which cannot be sent; and how a long list of databases is made shorter."""
    chat = await talk()
    told = "Answer “json” for the definition, “databases for this cohort”, or “start again”."
    assert (await chat.say(*BLEED)).splitlines()[-1].startswith(told)
    searched = await chat.say("databases for this cohort")
    assert "The first 10 are listed here. Narrow the search by a country.\n" in searched
    assert searched.splitlines()[-1].startswith(told)
    chat.messages = []
    rules = ["ibuprofen, 90 days before", "none", "ibuprofen", "none"]
    *_, error, last = (await chat.say("celecoxib", "365", *rules, "none", "none", "30 days")).splitlines()
    assert error == "With an error the cohort is not sent."
    assert last.startswith(told)
    assert "Say “every event”" not in chat.messages[1]["content"]


# --- sending


@pytest.mark.parametrize("stream", [False, True])
async def test_a_confirmed_cohort_is_sent_once(talk: Open, atlas: str, stream: bool) -> None:
    """What WebAPI holds then is the JSON that was shown; a request that is sent again sends nothing."""
    chat = await talk(webapi=atlas)
    chat.fields = {"headers": {"Authorization": "Bearer none"}}  # the openai SDK sends one
    code = await proposal(chat)
    expression = json.loads(
        text_of(await chat.post([*chat.messages, {"role": "user", "content": "json"}])).strip("`\n")
    )
    before = await definitions(chat, atlas)
    chat.messages.append({"role": "user", "content": f"confirm {code}"})

    async def confirm() -> str:
        if not stream:
            return text_of(await chat.post(chat.messages))
        client = openai.AsyncOpenAI(base_url=f"{chat.proxy.url}/v1", api_key="none", max_retries=0)
        parts = await client.chat.completions.create(model="hippocrates", messages=chat.messages, stream=True)  # type: ignore[arg-type]
        text = "".join([part.choices[0].delta.content or "" async for part in parts if part.choices])
        await client.close()
        return text

    told = await confirm()
    sent = re.search(r"Sent: cohort definition (\d+) ", told)
    assert sent, told
    assert "not done again" in await confirm()
    after = await definitions(chat, atlas)
    assert len(after) == len(before) + 1
    async with chat.proxy.session.get(f"{atlas}/cohortdefinition/{sent[1]}") as response:
        stored = await response.json()
    assert json.loads(stored["expression"]) == expression
    chat.messages.append({"role": "assistant", "content": told})
    assert "Sent" not in await chat.say(f"confirm {code}")  # that reply did not show the code
    assert len(await definitions(chat, atlas)) == len(after)


async def test_nothing_is_sent_that_was_not_confirmed_as_it_is(talk: Open, atlas: str, tmp_path: Path) -> None:
    """For two choices, after a rejected draft, with the filter off, without a confirmation, with another code, or after an edit."""
    chat = await talk(webapi=atlas)
    code = await proposal(chat)
    before = await definitions(chat, atlas)
    confirmation = [*chat.messages, {"role": "user", "content": f"confirm {code}"}]
    await chat.post(confirmation, n=2)
    await chat.post(confirmation, headers={"X-CAF-Filter": "off"})
    await chat.post(confirmation[-1:])
    await chat.post([*chat.messages, {"role": "user", "content": "confirm qwrtzp"}])
    await chat.post([*chat.messages, {"role": "user", "content": "yes, send it"}])
    edited = [{**one, "content": "30"} if one["content"] == "365" else one for one in confirmation]
    assert "as it is now" in text_of(await chat.post(edited))
    chat.assistant.alter = lambda text: "You should take 400 mg of celecoxib daily. It cures 93 of 100 patients."
    await chat.post(confirmation)
    assert await definitions(chat, atlas) == before


async def test_sending_needs_the_permission(talk: Open, atlas: str, tmp_path: Path) -> None:
    """Without `act` nothing is proposed, and a confirmation sends nothing."""
    config, plain = keyed(tmp_path)
    _, allowed = keyed(tmp_path, "chat", "act")
    chat = await talk(config, webapi=atlas)
    chat.fields = {"headers": allowed}
    code = await proposal(chat)
    before = await definitions(chat, atlas)
    other = Chat(chat.proxy, chat.assistant, headers=plain)
    assert not CODE.search(await other.say(*BLEED))
    assert "`act`" in await other.say(f"confirm {code}")
    assert await definitions(chat, atlas) == before
    assert "Sent: cohort definition" in await chat.say(f"confirm {code}")


async def test_an_edited_message_changes_the_cohort(talk: Open, atlas: str) -> None:
    """And another code stands for it; so does one that a branch leads to."""
    chat = await talk(webapi=atlas)
    first = await proposal(chat)
    other = await talk(webapi=atlas)
    second = await proposal(other, BLEED[0], "30", *BLEED[2:])
    assert first != second
    assert "at least 30 days" in other.messages[-1]["content"]


async def slow(request: web.Request) -> web.Response:
    await asyncio.sleep(2)
    return web.json_response(0)


async def denied(request: web.Request) -> web.Response:
    return web.Response(status=401, text="token abc expired")


@pytest.mark.parametrize(
    ("handler", "says"), [(None, "Cannot connect"), (slow, "did not answer"), (denied, "rejected the token")]
)
async def test_a_failing_webapi_loses_nothing_of_the_study(talk: Open, handler: Any, says: str) -> None:
    """The message says what is wrong, and the same cohort can be confirmed again."""
    async with AsyncExitStack() as stack:
        url = "http://127.0.0.1:9/WebAPI"
        if handler is not None:
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", handler)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            url = f"http://127.0.0.1:{runner.addresses[0][1]}/WebAPI"
        chat = await talk(webapi=url, webapi_timeout_s=0.2)
        code = await proposal(chat)
        told = await chat.say(f"confirm {code}")
        assert says in told
        assert "you can ask for it again" in told
        assert "abc" not in told
        assert "127.0.0.1" not in told
        assert await proposal(chat, "send") == code


async def test_a_fault_of_ours_is_not_told(talk: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words may hold anything."""

    async def fail(self: WebApi, name: str, expression: object) -> Sent:
        raise ValueError("a secret")

    monkeypatch.setattr(WebApi, "send", fail)
    chat = await talk(webapi="http://127.0.0.1:9/WebAPI")
    told = await chat.say(f"confirm {await proposal(chat)}")
    assert "you can ask for it again" in told
    assert "secret" not in told


async def test_a_code_of_another_cohort_shows_the_one_there_is(talk: Open) -> None:
    """With the code that stands for it."""
    chat = await talk(webapi="http://127.0.0.1:9/WebAPI")
    code = await proposal(chat)
    chat.messages = [*chat.messages[: 2 * (len(BLEED) - 1)], {"role": "user", "content": "60 days"}]
    text = await chat.say(f"confirm {code}")
    assert "does not stand for the cohort as it is now" in text
    assert "Persons leave 60 days after the entry event starts." in text
    found = CODE.search(text)
    assert found
    assert found[1] != code


# --- clients


TOOL = {
    "type": "function",
    "function": {
        "name": "choose_concepts",
        "parameters": {"type": "object", "properties": {"words": {"type": "string"}}},
    },
}


async def test_concepts_are_chosen_by_a_tool_where_the_client_has_it(talk: Open) -> None:
    """With the openai SDK. Ids that were not offered are not taken."""
    chat = await talk()
    async with openai.AsyncOpenAI(base_url=f"{chat.proxy.url}/v1", api_key="none") as client:

        async def ask(messages: list[Any]) -> Any:
            reply = await client.chat.completions.create(model="hippocrates", messages=messages, tools=[TOOL])  # type: ignore[list-item]
            return reply.choices[0].message

        messages: list[Any] = [{"role": "user", "content": "peptic ulser"}]
        asked = await ask(messages)
        (call,) = asked.tool_calls
        offered = json.loads(call.function.arguments)
        assert offered["words"] == "peptic ulser"
        assert [one["concept_id"] for one in offered["candidates"]] == [4027663]
        messages.append(asked.model_dump(exclude_none=True))

        def chosen(*ids: int) -> list[Any]:
            return [*messages, {"role": "tool", "tool_call_id": call.id, "content": json.dumps({"concepts": [*ids]})}]

        assert "Peptic ulcer (4027663, Condition)" in (await ask(chosen(4027663))).content
        invented = await ask(chosen(99999))
        assert invented.tool_calls
        assert "99999" not in (invented.content or "")
        more = [*chosen(4027663), {"role": "assistant", "content": "?"}, {"role": "user", "content": "365"}]
        assert "Which other record" in (await ask(more)).content
    plain = await chat.say("peptic ulser")
    assert "1. Peptic ulcer (4027663, Condition, SNOMED)" in plain
    assert "Peptic ulcer (4027663, Condition)" in await chat.say("1")


class ToolClient:
    """A client of the openai SDK that declares tools, and answers their calls."""

    def __init__(self, client: openai.AsyncOpenAI, *tools: str, **fields: Any) -> None:
        self.client, self.fields = client, fields
        self.fields["tools"] = [{"type": "function", "function": {"name": name}} for name in tools]
        self.messages: list[Any] = []
        self.call: Any = None

    async def say(self, *texts: str) -> str:
        for text in texts:
            told = await self.post({"role": "user", "content": text})
        return told

    async def answer(self, **result: Any) -> str:
        """Answer the call of the last reply."""
        return await self.post({"role": "tool", "tool_call_id": self.call.id, "content": json.dumps(result)})

    async def post(self, message: Body) -> str:
        self.messages.append(message)
        create = self.client.chat.completions.create
        reply = (await create(model="hippocrates", messages=self.messages, **self.fields)).choices[0].message
        self.messages.append(reply.model_dump(exclude_none=True))
        (self.call,) = reply.tool_calls or [None]
        return reply.content or ""

    @property
    def name(self) -> str:
        return self.call.function.name if self.call else ""

    @property
    def arguments(self) -> Body:
        return json.loads(self.call.function.arguments)


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., ToolClient]]:
    """Connect the openai SDK to a proxy, with some tools."""
    async with AsyncExitStack() as stack:

        async def begin(chat: Chat, *tools: str, headers: Body | None = None, **fields: Any) -> ToolClient:
            client = openai.AsyncOpenAI(base_url=f"{chat.proxy.url}/v1", api_key="none", default_headers=headers)
            return ToolClient(await stack.enter_async_context(client), *tools, **fields)

        yield begin


async def test_a_cohort_is_confirmed_and_sent_by_tools_where_the_client_has_them(
    talk: Open, atlas: str, connect: Any
) -> None:
    """First that it is what was meant, then that it be sent; the JSON of both calls is what WebAPI holds then."""
    chat = await talk(webapi=atlas)
    client = await connect(chat, "confirm_cohort", "send_to_atlas")
    before = await definitions(chat, atlas)
    text = await client.say(*BLEED)
    assert "479 persons" in text
    assert not CODE.search(text)
    assert client.name == "confirm_cohort"
    confirmed = client.arguments
    assert "gastrointestinal hemorrhage" in confirmed["description"]
    text = await client.answer(confirmed=True)
    assert client.name == "send_to_atlas"
    assert {**confirmed, **client.arguments} == confirmed
    assert f"confirm {confirmed['code']}" in text
    assert await definitions(chat, atlas) == before
    told = await client.answer(confirmed=True)
    sent = re.search(r"Sent: cohort definition (\d+) ", told)
    assert sent, told
    async with chat.proxy.session.get(f"{atlas}/cohortdefinition/{sent[1]}") as response:
        assert json.loads((await response.json())["expression"]) == confirmed["expression"]
    del client.messages[-2:]
    assert "not done again" in await client.post(
        {"role": "tool", "tool_call_id": client.messages[-1]["tool_calls"][0]["id"], "content": '{"confirmed": true}'}
    )
    assert len(await definitions(chat, atlas)) == len(before) + 1


async def test_a_tool_that_the_client_lacks_is_asked_in_text(talk: Open, atlas: str, connect: Any) -> None:
    """One alone, none, or none that may be chosen."""
    chat = await talk(webapi=atlas)
    only_send = await connect(chat, "send_to_atlas")
    assert CODE.search(await only_send.say(*BLEED))
    assert only_send.name == "send_to_atlas"
    assert "Sent: cohort definition" in await only_send.answer(confirmed=True)
    only_confirm = await connect(chat, "confirm_cohort")
    await only_confirm.say(*BLEED)
    asked = await only_confirm.answer(confirmed=True)
    assert only_confirm.name == ""
    found = CODE.search(asked)
    assert found
    assert "Sent: cohort definition" in await only_confirm.say(f"confirm {found[1]}")
    for tools, fields in ((("other",), {}), (("confirm_cohort", "send_to_atlas"), {"tool_choice": "none"})):
        plain = await connect(chat, *tools, **fields)
        assert CODE.search(await plain.say(*BLEED))
        assert plain.name == ""
    nowhere = await connect(await talk(), "confirm_cohort", "send_to_atlas")
    await nowhere.say(*BLEED)
    assert "not set up" in await nowhere.answer(confirmed=True)


async def test_a_tool_sends_nothing_that_was_not_confirmed_as_it_is(
    talk: Open, atlas: str, connect: Any, tmp_path: Path
) -> None:
    """After a no, an answer that is none, an edit, a reply that was rejected or is not ours, or without `act`."""
    config, plain = keyed(tmp_path)
    _, allowed = keyed(tmp_path, "chat", "act")
    chat = await talk(config, webapi=atlas)
    before = await definitions(chat, atlas)

    async def proposed(headers: Body = allowed) -> ToolClient:
        client = await connect(chat, "send_to_atlas", headers=headers)
        await client.say(*BLEED)
        return client

    for answer in ({"confirmed": False}, {}, {"confirmed": "true"}):
        assert "not confirmed" in await (await proposed()).answer(**answer)
    edited = await proposed()
    edited.messages[BLEED.index("365") * 2]["content"] = "30"
    assert "as it is now" in await edited.answer(confirmed=True)
    assert edited.name == "send_to_atlas"
    altered = await proposed()
    altered.messages[-1]["content"] += " Changed."
    assert "was not done" in await altered.answer(confirmed=True)
    invented = await proposed()
    invented.messages = [*(one for one in invented.messages if one["role"] == "user"), invented.messages[-1]]
    del invented.messages[-1]["content"]
    assert "was not done" in await invented.answer(confirmed=True)
    rejected = await connect(chat, "send_to_atlas", headers=allowed)
    await rejected.say(*BLEED[:-1])
    chat.assistant.alter = lambda text: "You should take 400 mg of celecoxib daily. It cures 93 of 100 patients."
    assert not CODE.search(await rejected.say(BLEED[-1]))
    chat.assistant.alter = None
    assert "was not done" in await rejected.answer(confirmed=True)
    forbidden = await proposed(plain)
    assert forbidden.call is None
    borrowed = (await proposed()).messages
    forbidden.messages = borrowed
    forbidden.call = openai.types.chat.ChatCompletionMessageFunctionToolCall.model_validate(
        borrowed[-1]["tool_calls"][0]
    )
    assert "`act`" in await forbidden.answer(confirmed=True)
    assert await definitions(chat, atlas) == before


async def test_the_trace_tells_what_was_done(talk: Open) -> None:
    """How the message was read, and how many databases were found."""
    chat = await talk()
    traces: list[Trace] = []
    chat.proxy.app[SERVICE].watch = traces.append
    await chat.say("databases with asthma")
    assert [note.step for note in traces[-1].notes] == ["read", "databases"]


# --- alarming words


async def test_research_is_seldom_an_emergency_and_a_crisis_is_heard(talk: Open) -> None:
    """Of a hundred messages of researchers two get the emergency text, of thirty first-person crises one does not."""
    rows = yaml.safe_load(RESEARCH.read_text())
    chat = await talk()
    fired: Counter[str] = Counter()
    for row in rows:
        answer = await chat.post([{"role": "user", "content": row["text"]}])
        fired[row["kind"]] += answer["caf"]["outcome"] == "emergency"
    kinds = Counter(row["kind"] for row in rows)
    assert kinds["research"] >= 100
    assert fired["research"] <= 2
    assert fired["crisis"] >= kinds["crisis"] - 1


# --- bad input


def opened(**options: Any) -> Hippocrates:
    return open_assistant(ModelSettings(engine="assistant", name="hippocrates", options=options))


def test_bad_options_are_told_when_the_proxy_starts(tmp_path: Path, eunomia: Path) -> None:
    """By the name of the option, with what is wrong and what to do."""
    (tmp_path / "empty").mkdir()
    catalogue = tmp_path / "catalogue"
    catalogue.mkdir()
    for name, text in FILES.items():
        (catalogue / name).write_text(text.splitlines()[0] + "\n")
    cdm = tmp_path / "cdm.duckdb"
    shutil.copy(eunomia, cdm)
    with duckdb.connect(str(cdm)) as connection:
        connection.execute("DROP TABLE person")
    (tmp_path / "text.duckdb").write_text("no database")
    for options, told in [
        ({"catalogue": str(tmp_path / "empty")}, "catalogue: .*countries"),
        ({"catalogue": str(catalogue)}, "catalogue: .*no database has counts"),
        ({"cdm": str(cdm)}, "cdm: .*no table 'person'"),
        ({"cdm": str(tmp_path / "nowhere.duckdb")}, "cdm: .*does not exist"),
        ({"cdm": str(tmp_path / "text.duckdb")}, "cdm: .*DuckDB file"),
        ({"vocabulary": str(tmp_path / "empty")}, "vocabulary: .*athena"),
        ({"webapi": "ftp://atlas"}, "webapi: .*http"),
        ({"webapi": "http://user:secret@atlas"}, "webapi_token_env"),
        ({"webapi": "http://atlas/WebAPI?token=secret"}, "webapi: .*webapi_token_env"),
        ({"webapi": "http://atlas/WebAPI#secret"}, "webapi: .*webapi_token_env"),
        ({"webapi": "http://atlas", "webapi_token_env": "NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE is not set"),
        ({"catalog": "x"}, "catalog: "),
    ]:
        with pytest.raises(ModelSettingsError, match=f"(?s){told}"):
            opened(**options)


def test_a_model_for_a_part_that_is_not_there_is_refused() -> None:
    """By its name: nothing would ever ask it."""
    settings = ModelSettings(engine="assistant", name="hippocrates", models={"planer": "gpt"})
    with pytest.raises(ModelSettingsError, match=r"models: unknown role .planer. \(expected .planner.\)"):
        open_assistant(settings)


async def test_a_cdm_without_a_table_loses_nothing_of_the_study(
    talk: Open, tmp_path: Path, eunomia: Path, atlas: str
) -> None:
    """The cohort cannot be counted, which is told without the file's path; it can be sent all the same."""
    cdm = tmp_path / "cdm.duckdb"
    shutil.copy(eunomia, cdm)
    with duckdb.connect(str(cdm)) as connection:
        connection.execute("DROP TABLE condition_occurrence")
    chat = await talk(cdm=str(cdm), webapi=atlas)
    text = await chat.say(*BLEED)
    assert "could not be counted: the CDM database has no table 'condition_occurrence'" in text
    assert str(tmp_path) not in text
    assert CODE.search(text)


async def test_a_vocabulary_in_another_version_is_told(talk: Open, folder: Path) -> None:
    """With what may be wrong for it; the databases are found all the same."""
    results = folder / "achilles_results.csv"
    results.write_text(results.read_text().replace(",101,", ",317009,"))
    chat = await talk(catalogue=str(folder))
    text = await chat.say("databases with asthma")
    assert "another version of the vocabulary" in text
    assert "Seoul claims" in text
