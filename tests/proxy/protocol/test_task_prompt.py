"""A chat application asks for a title, tags or follow-ups of a conversation: a crisis quoted there calls nobody a second time."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.api.service import SERVICE
from proxy.protocol.task_prompt import asked_form
from proxy.state.danger_marks import MAX_MARKS, MAX_WORDS, blank_marked, mark_message, writer_key
from tests.proxy.api.test_completion import hook
from tests.proxy.conftest import ADVICE, CRISIS, Body, Proxy, Start, text_of
from tests.proxy.state.test_redis_conversations import stored_in
from tests.redis_server import RedisServer

OTHER_CRISIS = "I want to kill myself"
CONTACT = "Call 112 now."
Transcript = Callable[[str], str]
TRANSCRIPTS: dict[str, Transcript] = {
    "tags": lambda said: f"<chat_history>\nUSER: {said}\nASSISTANT: Please call somebody.\n</chat_history>",
    "a heading": lambda said: f"### Conversation\nUser: {said}\nAI: Please call somebody.\n",
    "bold names": lambda said: f"Conversation:\n**Human:** {said}\n**Assistant:** Please call somebody.\n",
    "messages": lambda said: (
        f"<messages>\n<user>{said}</user>\n<assistant>Please call somebody.</assistant>\n</messages>"
    ),
    "JSON": lambda said: (
        json.dumps([{"role": "user", "content": said}, {"role": "assistant", "content": "Please call."}]) + "\n"
    ),
    "German names": lambda said: f"Verlauf\n---\nBenutzer: {said}\nAssistent: Bitte ruf jemanden an.\n---\n",
    "lines": lambda said: f"user:\n{said}\n\nassistant:\nPlease call somebody.\n",
}
FORMS: dict[str, tuple[str, Any]] = {
    "a title": ('Name the talk in three words.\n## Output\nJSON: {"title": "three words"}', {"title": "Conversation"}),
    "a title by its key": (
        'Name this chat. Give a JSON object with a "title" key, no explanation.',
        {"title": "Conversation"},
    ),
    "title and language": (
        'Say as JSON what it is: {"language": "en", "title": "..."}',
        {"language": "", "title": "Conversation"},
    ),
    "tags": ('Sort it.\n## Output\nJSON: { "tags": ["one", "two"] }', {"tags": []}),
    "follow-ups": ('What might be asked next?\n## Output\nJSON: {"follow_ups": ["One?"]}', {"follow_ups": []}),
    "followUps": ('Two ideas to go on with, as JSON: {"followUps": ["a", "b"]}', {"followUps": []}),
    "queries": (
        'Is there anything to look up? Say {"queries": ["one"]} or {"queries": []}, JSON only.',
        {"queries": []},
    ),
    "a list": ("Three follow-up questions, as a JSON array of strings.", []),
    "a plain title": ("Give this chat a title of at most 5 words. No quotation marks.", "Conversation"),
    "a German title": ("## Aufgabe\nGib dem Chat einen Titel, höchstens fünf Wörter.", "Conversation"),
}
PLACES: dict[str, Callable[[str, str], str]] = {
    "before": lambda asked, quoted: f"### Task\n{asked}\n\n{quoted}",
    "behind": lambda asked, quoted: f"{quoted}\n\n### Task\n{asked}",
}
PROMPTS = {
    f"{form}, {transcript}, {place}": (PLACES[place](FORMS[form][0], TRANSCRIPTS[transcript]("{said}")), FORMS[form][1])
    for form, transcript, place in product(FORMS, TRANSCRIPTS, PLACES)
}
TITLE, _ = PROMPTS["a title, tags, before"]
PLAIN, _ = PROMPTS["a plain title, tags, before"]
WRAPPED = {
    "retrieval": "### Task:\nRespond to the query of the user by the context.\n<context><source name='Title of x'>Sleep.</source>"
    "</context>\n<user_query>\n{said}\n</user_query>",
    "a standalone question": "Rewrite the follow-up as a question of its own.\n\nChat History:\nHuman: Hi\nAssistant: Hello\n"
    "Follow Up Input: {said}\nStandalone question:",
    "the next words": "A chat with a title.\n\nUser: Hi\nAssistant: Hello\nUser: {said}\nAssistant:",
    "an answer in JSON": '### Output\nJSON: {{"answer": "...", "title": "..."}}\n\nUser: {said}\n',
    "an answer and its title": '### Task\nAnswer the question of the user. JSON: {{"title": "..."}}\nUser: {said}\nAssistant: Hm.',
    "a label": "User: {said}",
    "a diary": "Title: my life\n\nMe: {said}",
    "nothing": "{said}",
}
"""Programs' prompts, and people's messages, whose answer somebody waits for."""


def write(prompt: str, said: str) -> str:
    return prompt.replace("{said}", said)


def test_prompts_of_any_wording_are_known_by_their_shape() -> None:
    """A transcript and a form, in any order and language: the empty answer has that form."""
    answers = {name: asked_form(write(prompt, CRISIS), None) for name, (prompt, _) in PROMPTS.items()}
    wanted = {name: form if isinstance(form, str) else json.dumps(form) for name, (_, form) in PROMPTS.items()}
    assert answers == wanted


@pytest.mark.parametrize("prompt", WRAPPED.values(), ids=WRAPPED.keys())
def test_what_somebody_waits_for_is_no_such_prompt(prompt: str) -> None:
    """Prompts for retrieval, templates that end where the reply begins, people's own words."""
    assert asked_form(write(prompt, CRISIS).replace("{{", "{").replace("}}", "}"), None) is None


@asynccontextmanager
async def called_staff(start: Start, **settings: Any) -> AsyncIterator[tuple[Proxy, list[Any]]]:
    """Start a proxy whose webhook notes who was called for."""
    calls: list[Any] = []
    runner, url = await hook(calls, 200)
    proxy = await start(emergency={"contact": CONTACT, "webhook": url}, **settings)
    try:
        yield proxy, calls
    finally:
        await runner.cleanup()


async def settled(calls: list[Any]) -> int:
    """Return how often the staff were called, once all calls are made."""
    await asyncio.sleep(0.1)
    return len(calls)


async def test_a_crisis_that_was_heard_is_no_second_emergency(start: Start) -> None:
    """The prompts that follow it get their form, no model is asked, nobody is called, and nothing is refused."""
    async with called_staff(start) as (proxy, calls):
        assert (await proxy.say(CRISIS))["caf"]["outcome"] == "emergency"
        wrong = []
        for name, (prompt, form) in PROMPTS.items():
            body = await proxy.say(write(prompt, CRISIS))
            text, message = text_of(body), body["choices"][0]["message"]
            got = text if isinstance(form, str) else json.loads(text)
            if (got, message["refusal"], body["caf"]["outcome"], "concern" in body["caf"]) != (
                form,
                None,
                "fallback",
                False,
            ):
                wrong.append((name, text, body["caf"]))
        assert not wrong
        assert await settled(calls) == 1
        assert not proxy.upstream.requests


@pytest.mark.parametrize("form", FORMS)
async def test_a_crisis_that_was_not_heard_is_a_concern(start: Start, form: str) -> None:
    """The answer has its form; only a plain text has room for the contact. Nobody is called."""
    async with called_staff(start) as (proxy, calls):
        prompt, wanted = PROMPTS[f"{form}, tags, before"]
        body = await proxy.say(write(prompt, CRISIS))
        assert body["caf"]["concern"] == {"kind": "self_harm"}
        text = text_of(body)
        if isinstance(wanted, str):
            assert text == f"{wanted}\n\n{CONTACT}"
        else:
            assert json.loads(text) == wanted
        assert await settled(calls) == 0


async def test_heard_means_that_message_of_that_user(start: Start) -> None:
    """Another key, another user and another message are none; a mark is kept of the concern, too."""
    async with called_staff(start) as (proxy, calls):
        await proxy.say(CRISIS, user="kim")
        prompt = write(TITLE, CRISIS)
        assert "concern" not in (await proxy.say(prompt, user="kim"))["caf"]
        assert "concern" in (await proxy.say(prompt, user="lee"))["caf"]
        assert "concern" in (await proxy.say(prompt))["caf"]
        assert "concern" in (await proxy.say(prompt, user="kim", headers={"Authorization": "Bearer other"}))["caf"]
        assert "concern" in (await proxy.say(write(TITLE, OTHER_CRISIS), user="kim"))["caf"]
        assert "concern" in (await proxy.say(write(TITLE, f"{CRISIS}\nUSER: {OTHER_CRISIS}"), user="kim"))["caf"]
        await proxy.say(OTHER_CRISIS, user="kim")
        assert "concern" not in (await proxy.say(write(TITLE, f"{CRISIS}\nUSER: {OTHER_CRISIS}"), user="kim"))["caf"]
        assert await settled(calls) == 2


async def test_a_prompt_is_no_hearing(start: Start) -> None:
    """What was only quoted has been heard by nobody: it stays a concern, and is an emergency when the person says it."""
    async with called_staff(start) as (proxy, calls):
        for _ in range(2):
            assert "concern" in (await proxy.say(write(TITLE, CRISIS)))["caf"]
        assert (await proxy.say(CRISIS))["caf"]["outcome"] == "emergency"
        assert (await proxy.say(CRISIS))["caf"]["outcome"] == "emergency"
        assert await settled(calls) == 2


@pytest.mark.parametrize("prompt", WRAPPED.values(), ids=WRAPPED.keys())
async def test_who_waits_for_an_answer_gets_the_emergency_text(start: Start, prompt: str) -> None:
    """However the message is wrapped, and however often it was heard."""
    async with called_staff(start) as (proxy, calls):
        await proxy.say(CRISIS)
        body = await proxy.say(write(prompt, CRISIS).replace("{{", "{").replace("}}", "}"))
        assert (body["caf"]["outcome"], text_of(body)) == ("emergency", CONTACT)
        assert await settled(calls) == 2


async def test_it_is_the_same_in_a_stream_and_in_the_other_dialect(start: Start) -> None:
    """Whatever way the prompt comes."""
    proxy = await start()
    await proxy.say(CRISIS)
    events = (await proxy.stream(write(TITLE, CRISIS))).decode().split("\n\n")
    chunks = [json.loads(event[6:]) for event in events if event.startswith("data: {")]
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks) == '{"title": "Conversation"}'
    sent = {"model": "bot", "input": write(TITLE, CRISIS), "store": False}
    async with proxy.session.post(f"{proxy.url}/v1/responses", json=sent) as response:
        body = await response.json()
    assert body["output"][0]["content"][0]["text"] == '{"title": "Conversation"}'
    assert not proxy.upstream.requests


PAGE = (Path(__file__).parents[3] / "docs/frameworks.md").read_text(encoding="utf-8")


async def test_the_page_shows_request_and_answer(start: Start) -> None:
    """As they are on the wire, with `caf` cut to the outcome."""
    request, answer = (json.loads(block) for block in re.findall(r"^```\n(\{.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
    proxy = await start()
    await proxy.say(CRISIS)
    body = await proxy.say(*request["messages"])
    [choice], [wanted] = body["choices"], answer["choices"]
    assert {name: choice[name] for name in wanted} == wanted
    assert (body["caf"]["outcome"], "concern" in body["caf"]) == (answer["caf"]["outcome"], False)


SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}, "tags": {"type": "array"}}}


@pytest.mark.parametrize(
    ("response_format", "wanted"),
    [
        ({"type": "json_object"}, {"title": "Conversation"}),
        (
            {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}},
            {"title": "Conversation", "tags": []},
        ),
    ],
)
async def test_a_program_that_parses_gets_no_refusal(start: Start, response_format: Body, wanted: Body) -> None:
    """The form is that of the schema, if the request has one."""
    proxy = await start()
    await proxy.say(CRISIS)
    message = (await proxy.say(write(TITLE, CRISIS), response_format=response_format))["choices"][0]["message"]
    assert (json.loads(message["content"]), message["refusal"]) == (wanted, None)


@pytest.mark.parametrize(
    "instructions",
    [
        "### Task: Continue the conversation below as the assistant. Do not use titles or headings.",
        "Write the next turn of the assistant. Do not use HTML tags.",
        "Respond in plain text without HTML tags.",
        'Write the next message. Return JSON with "topic" and "language".',
        "You write short messages and avoid headlines.",
    ],
)
async def test_a_prompt_for_a_reply_is_none_of_these(start: Start, instructions: str) -> None:
    """A person waits for it, so somebody in danger gets the emergency text."""
    proxy = await start()
    body = await proxy.say(f"{instructions}\n\n### Conversation:\nUser: Hello\nAssistant: Hello.\nUser: {CRISIS}")
    assert body["caf"]["outcome"] == "emergency"


async def test_an_ordinary_title_is_the_chatbots(start: Start) -> None:
    """And where its draft is rejected, the fallback has the form of a title."""
    proxy = await start(judges=[{"name": "emergency", "stages": ["local"]}])
    proxy.upstream.answer = lambda body: "[[cite: no_claims]]\nSleep questions"
    assert text_of(await proxy.say(write(PLAIN, "How long do adults sleep?"))) == "Sleep questions"
    proxy = await start(refiner=None)
    proxy.upstream.answer = lambda body: ADVICE
    body = await proxy.say(write(TITLE, "Which supplements should I take?"))
    assert (text_of(body), body["caf"]["outcome"]) == ('{"title": "Conversation"}', "fallback")
    assert body["choices"][0]["message"]["refusal"] is None


SIGN = {"signs": [{"kind": "self_harm", "quote": "so tired of everything", "who": "user", "when": "now"}]}
TIRED = "I am so tired of everything"


@pytest.mark.parametrize("heard", [True, False])
async def test_models_that_see_a_quoted_crisis_call_nobody(start: Start, heard: bool) -> None:
    """They read the prompt without what was heard; what they see in the rest is a concern."""
    judges = [{"name": "emergency", "stages": ["swift", "chief"]}]

    def answer(body: Body) -> str:
        return json.dumps(SIGN if TIRED in str(body["messages"]) else {"signs": []})

    async with called_staff(start, judges=judges) as (proxy, calls):
        proxy.upstream.answer = lambda body: "Hello." if body["model"] == "up-chatbot" else answer(body)
        if heard:
            assert (await proxy.say(TIRED))["caf"]["outcome"] == "emergency"
        body = await proxy.say(write(TITLE, TIRED))
        assert (text_of(body), "concern" in body["caf"]) == ('{"title": "Conversation"}', not heard)
        assert await settled(calls) == heard


async def test_processes_share_what_they_heard(start: Start, redis: RedisServer) -> None:
    """By marks in Redis; when it does not answer, what is quoted counts as not heard, and is answered all the same."""
    config = stored_in(redis, on_error="degrade")
    one, other = await start(config=config), await start(config=config)
    await one.say(CRISIS)
    assert "concern" not in (await other.say(write(TITLE, CRISIS)))["caf"]
    redis.kill()
    body = await other.say(write(TITLE, CRISIS))
    assert (text_of(body), "concern" in body["caf"]) == ('{"title": "Conversation"}', True)
    assert (await other.say(CRISIS))["caf"]["outcome"] == "emergency"


WRITER = writer_key("key", "kim")


@given(st.text(max_size=80), st.text(max_size=80), st.text(min_size=1, max_size=80))
def test_a_message_is_known_again_between_any_others(before: str, behind: str, said: str) -> None:
    """Word for word, whatever stands beside it; of another writer it is not."""
    mark = mark_message(WRITER, said)
    if mark is None:
        return
    text = f"{before}\n{said}\n{behind}"
    blanked = blank_marked(WRITER, text, [mark])
    assert len(blanked) == len(text)
    assert blanked != text
    assert blank_marked(writer_key("key", "lee"), text, [mark]) == text
    assert blank_marked(WRITER, text, []) == text


def test_marks_are_bounded() -> None:
    """A novel has none."""
    assert mark_message(WRITER, "word " * MAX_WORDS) is not None
    assert mark_message(WRITER, "word " * (MAX_WORDS + 1)) is None
    assert mark_message(WRITER, "...") is None


async def test_the_newest_messages_are_known_again(start: Start, redis: RedisServer) -> None:
    """So many of one writer, in either store."""
    for config in ({}, stored_in(redis)):
        store = (await start(config=config)).app[SERVICE].conversations
        for number in range(MAX_MARKS + 5):
            await store.add_danger_marks(WRITER, [f"{number}:a:b"])
        assert [*await store.danger_marks(WRITER)] == [f"{number}:a:b" for number in range(5, MAX_MARKS + 5)]
