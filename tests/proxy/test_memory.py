"""Where conversations are kept: within bounds of number and age."""

import pytest

from proxy.conversation import Conversation
from proxy.memory import KEYS_PER_TURN, ProcessMemory
from tests.proxy.conftest import Start, text_of, warnings_in

ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night."
NUDGE = "Which supplements should I take, and how much?"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the memory, which a test sets."""
    now = [1_000.0]
    monkeypatch.setattr("proxy.memory.time.monotonic", lambda: now[0])
    return now


def state(name: str) -> Conversation:
    return Conversation(name)


async def test_state_is_found_under_each_of_its_keys() -> None:
    """All keys lead to the same state; a taken key gets the new one."""
    memory = ProcessMemory(10, 100)
    await memory.put(["a", "b"], state("1"))
    await memory.put(["b", "c"], state("2"))
    assert [found and found.id for found in [await memory.get(k) for k in "abcd"]] == ["1", "2", "2", None]


async def test_number_of_turns_is_bounded_and_the_longest_unused_goes_first() -> None:
    """A state that was read lately outlives one that was not."""
    memory = ProcessMemory(2, 100)
    for name in ("1", "2"):
        await memory.put([f"{name}{i}" for i in range(KEYS_PER_TURN)], state(name))
    assert await memory.get("10")
    await memory.put([f"3{i}" for i in range(KEYS_PER_TURN)], state("3"))
    assert len(memory) == 2 * KEYS_PER_TURN
    assert await memory.get("10")
    assert await memory.get("20") is None


async def test_state_unused_for_its_age_is_forgotten(clock: list[float]) -> None:
    """Age counts from the last use, and what is too old is not given out, even if nothing was put since."""
    memory = ProcessMemory(10, 100)
    await memory.put(["a"], state("1"))
    clock[0] += 90
    assert await memory.get("a")
    clock[0] += 90
    assert await memory.get("a")
    clock[0] += 101
    assert await memory.get("a") is None


async def test_what_is_too_old_is_let_go_of(clock: list[float]) -> None:
    """Old states do not wait for the memory to be full."""
    memory = ProcessMemory(1_000, 100)
    for name in range(50):
        await memory.put([str(name)], state(str(name)))
    clock[0] += 101
    await memory.put(["new"], state("new"))
    assert len(memory) == 1


async def test_expired_conversation_goes_on_as_a_fresh_one(start: Start, clock: list[float]) -> None:
    """Past memory.max_age_s there is no warning and a new id, and no error."""
    proxy = await start(config={"memory": {"max_age_s": 60}})
    proxy.upstream.answer = lambda body: ADVICE
    first = await proxy.say(NUDGE)
    clock[0] += 59
    known = await proxy.say(NUDGE, text_of(first), "And?")
    assert known["caf"]["conversation_id"] == first["caf"]["conversation_id"]
    clock[0] += 61
    after = await proxy.say(NUDGE, text_of(first), "And?")
    assert after["caf"]["conversation_id"] != first["caf"]["conversation_id"]
    assert not warnings_in(proxy.upstream.requests[-1])


async def test_forgotten_conversation_goes_on_as_a_fresh_one(start: Start) -> None:
    """Past memory.max_turns the longest unused conversation is forgotten, the others are not."""
    proxy = await start(config={"memory": {"max_turns": 2}})
    proxy.upstream.answer = lambda body: ADVICE
    first = [await proxy.say(f"{NUDGE} {i}") for i in range(4)]
    ids = [
        (await proxy.say(f"{NUDGE} {i}", text_of(body), "And?"))["caf"]["conversation_id"]
        == body["caf"]["conversation_id"]
        for i, body in reversed(list(enumerate(first)))
    ]
    assert ids[0]
    assert not ids[-1]
