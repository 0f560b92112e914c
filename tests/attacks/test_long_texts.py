"""Long texts: how much of one is judged, and that nobody waits for it."""

import asyncio
import json
import random
import string
import threading
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.case import LONG_REPLY, Case, emergency_case, is_long, shorten
from judges.judge import MAX_CHARS, OBSERVERS, LocalJudge
from judges.observation import Crisis, RolePlay
from knowledge_base.library import Source
from proxy.auth import keys
from tests.proxy.conftest import NO_PROBLEMS, Body, Proxy, Start, eventually, text_of

CRISIS = "I am going to end my life tonight."
LIGATURE = "\ufdfa"
"""Normalised it has 18 characters."""
NO_SIGN = (Crisis(signs=[]), 0.0)


@pytest.mark.parametrize("place", ["user_message", "draft", "history"])
@pytest.mark.parametrize("text", [LIGATURE * 150_000, f"{LIGATURE} " * 60_000, "a" * 150_000, "é" * 60_000])
def test_what_is_judged_is_bounded_after_normalising(place: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many characters become of one, no judge reads more than the bound."""
    read: list[Case] = []
    monkeypatch.setitem(OBSERVERS, "emergency", lambda case: read.append(case) or NO_SIGN)
    case = emergency_case("hi", [text]) if place == "history" else Case(**{"user_message": "hi", place: text})
    LocalJudge("emergency").judge_now(case)
    [seen] = read
    texts = [seen.user_message, seen.draft, *(said.text for said in seen.history)]
    assert max(len(unicodedata.normalize("NFKD", one)) for one in texts) <= MAX_CHARS


@given(st.text(max_size=40), st.integers(0, 60), st.booleans())
def test_a_text_is_shortened_no_more_than_it_must_be(text: str, most: int, keep_end: bool) -> None:
    """What is left is the beginning or the end of it, and one more character would be too many."""
    left = shorten(text, most, keep_end=keep_end)
    assert text.endswith(left) if keep_end else text.startswith(left)
    assert len(unicodedata.normalize("NFKD", left)) <= most
    if left != text:
        more = text[-len(left) - 1 :] if keep_end else text[: len(left) + 1]
        assert sum(len(unicodedata.normalize("NFKD", character)) for character in more) > most


def test_the_end_of_a_message_is_what_is_read_of_it() -> None:
    """A crisis behind any number of ligatures is heard."""
    assert LocalJudge("emergency").judge_now(Case(f"{LIGATURE * 90_000}. {CRISIS}")).verdict == "reject"


@pytest.mark.parametrize("seed", range(4))
def test_random_words_raise_no_emergency(seed: int) -> None:
    """Letters alone are no sign, however many there are of them."""
    chance = random.Random(seed)
    words = ("".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 9))) for _ in range(15_000))
    assert LocalJudge("emergency").judge_now(Case(" ".join(words))).verdict != "reject"


@pytest.mark.parametrize("text", ["a" * (LONG_REPLY + 1), LIGATURE * (LONG_REPLY // 18 + 1), "Ich bin müde. " * 1000])
def test_length_tells_what_is_judged_in_the_thread(text: str) -> None:
    """The length of a text when it is normalised: of what is judged of the user without a reply, or of a reply."""
    assert is_long(Case(text))
    assert is_long(Case("hi", text))
    assert is_long(emergency_case("hi", [text]))
    assert is_long(Case("hi", "hello", cited=(Source("doc:1", "", "", text),)))
    assert not is_long(Case("hi", "hello", cited=(Source("section", "", "", text),)))
    assert not is_long(Case(CRISIS, "Please call somebody.", history=emergency_case("", [text]).history))


class Slow:
    """A judge that sits on long texts until it is let go; it notes in which thread each text is judged."""

    def __init__(self, name: str, found: Any) -> None:
        self._observe, self._found = OBSERVERS[name], found
        self.go_on, self.begun = threading.Event(), threading.Event()
        self.threads: list[tuple[bool, bool]] = []
        """Whether a text was long, and whether the event loop was free meanwhile."""

    def __call__(self, case: Case) -> Any:
        free = threading.current_thread() is not threading.main_thread()
        self.threads.append((is_long(case), free))
        if not is_long(case):
            return self._observe(case)
        self.begun.set()
        if free:
            self.go_on.wait(10)
        return self._found


@pytest.mark.parametrize("text", ["word " * 19_000, LIGATURE * 90_000])
@pytest.mark.parametrize("route", ["/v1/chat/completions", "/v1/responses"])
async def test_others_are_served_while_a_long_text_of_a_spent_key_is_judged(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, route: str
) -> None:
    """A short emergency and a probe of the process do not wait for it; then the key is told that it has nothing left."""
    made = keys.create("spent", requests_per_minute=1)
    keys.save([made.record], tmp_path / "keys.json")
    proxy = await start(config={"keys": {"file": "keys.json"}})
    headers = {"Authorization": f"Bearer {made.text}"}
    await proxy.say("What is psychosis?", headers=headers)
    slow = Slow("emergency", NO_SIGN)
    monkeypatch.setitem(OBSERVERS, "emergency", slow)
    messages = [{"role": "user", "content": text}]
    body = {"model": "bot", **({"input": messages} if "responses" in route else {"messages": messages})}

    async def send() -> int:
        async with proxy.session.post(proxy.url + route, json=body, headers=headers) as response:
            return response.status

    long = asyncio.create_task(send())
    await eventually(slow.begun.is_set)
    try:
        assert slow.threads == [(True, True)]
        assert (await proxy.get("/healthz"))[0] == 200
        assert (await proxy.say(CRISIS, headers=headers))["caf"]["outcome"] == "emergency"
        assert not long.done()
    finally:
        slow.go_on.set()
    assert await long == 429
    assert slow.threads == [(True, True), (False, False)]


async def test_a_long_crisis_of_a_spent_key_is_heard(start: Start, tmp_path: Path) -> None:
    """Judged in the thread, and answered like a short one."""
    made = keys.create("spent", requests_per_minute=1)
    keys.save([made.record], tmp_path / "keys.json")
    proxy = await start(config={"keys": {"file": "keys.json"}})
    headers = {"Authorization": f"Bearer {made.text}"}
    for _ in range(2):
        calm = "What helps people with schizophrenia to sleep well at night? " * 300
        assert "112" in text_of(await proxy.say(f"{calm}{CRISIS} {calm}", headers=headers))


@pytest.mark.parametrize("stages", [["local"], ["local", "swift"]])
@pytest.mark.parametrize("form", ["text", "json", "streamed"])
async def test_long_replies_are_judged_in_the_thread(
    start: Start, monkeypatch: pytest.MonkeyPatch, stages: list[str], form: str
) -> None:
    """Alone or as the first of several stages, as a document too, and in a stream that leaves as it is written."""
    judge = {"name": "role", "stages": stages}
    proxy = await start(judges=[judge], streaming="observe" if form == "streamed" else "hold", length={"hard": 9000})
    text = "Most adults need seven to nine hours of sleep. " * 300
    reply = json.dumps({"text": text}) if form == "json" else f"[[cite: sleep]]\n{text}"
    answers = {"up-chatbot": reply, "up-swift": NO_PROBLEMS}
    proxy.upstream.answer = lambda body: answers[body["model"]]
    slow = Slow("role", (RolePlay(played=[]), 0.0))
    slow.go_on.set()
    monkeypatch.setitem(OBSERVERS, "role", slow)
    await _ask(proxy, form)
    assert (True, True) in slow.threads
    assert (True, False) not in slow.threads


async def _ask(proxy: Proxy, form: str) -> None:
    if form == "streamed":
        await proxy.stream("How much sleep do I need?")
        return
    more: Body = {"response_format": {"type": "json_object"}} if form == "json" else {}
    await proxy.say("How much sleep do I need?", **more)
