"""The store of one process: limits of number and age."""

import hashlib

import pytest

from proxy.state.conversation import KEY_BYTES, Conversation
from proxy.state.conversation_store import KEYS_PER_TURN, LocalConversations
from tests.proxy.conftest import ADVICE, NUDGE, Start, text_of, warnings_in


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The store's clock, which a test sets."""
    now = [1_000.0]
    monkeypatch.setattr("proxy.state.conversation_store.time.monotonic", lambda: now[0])
    return now


def state(name: str) -> Conversation:
    return Conversation(name)


def key(name: object) -> bytes:
    """Return the key of a name."""
    return hashlib.blake2b(str(name).encode(), digest_size=KEY_BYTES).digest()


async def test_state_is_found_under_each_of_its_keys() -> None:
    """All keys find the same state; an existing key gets the new one."""
    memory = LocalConversations(10, 100)
    await memory.put([key("a"), key("b")], state("1"))
    await memory.put([key("b"), key("c")], state("2"))
    assert [found and found.id for found in [await memory.get(key(k)) for k in "abcd"]] == [
        "1",
        "2",
        "2",
        None,
    ]


def keys(name: int) -> list[bytes]:
    return [key(f"{name}-{i}") for i in range(KEYS_PER_TURN)]


@pytest.mark.parametrize("most", [1, 10])
async def test_number_of_turns_is_bounded(most: int) -> None:
    """The number never exceeds the limit, and the newest turns are kept."""
    memory = LocalConversations(most, 100)
    for name in range(3 * most):
        await memory.put(keys(name), state(str(name)))
        assert len(memory) <= most * KEYS_PER_TURN
        assert await memory.get(keys(name)[0])
    assert [bool(await memory.get(keys(name)[0])) for name in range(3 * most)] == [False] * 2 * most + [True] * most


async def test_the_longest_unused_goes_first() -> None:
    """A state that is read outlives unread ones, under the key that was read."""
    memory = LocalConversations(100, 100)
    for name in range(500):
        await memory.put(keys(name), state(str(name)))
        assert await memory.get(keys(0)[1])
    assert await memory.get(keys(1)[1]) is None
    assert await memory.get(keys(0)[0]) is None


async def test_fewer_turns_are_remembered_from_when_it_is_said() -> None:
    """After lowering the limit, the least recently used states are dropped as new turns arrive."""
    memory = LocalConversations(1_000, 100)
    for name in range(100):
        await memory.put(keys(name), state(str(name)))
    memory.limit(4, 100)
    for name in range(100, 110):
        await memory.put(keys(name), state(str(name)))
    assert len(memory) <= 4 * KEYS_PER_TURN
    assert await memory.get(keys(109)[0])


async def test_more_turns_are_remembered_from_when_it_is_said() -> None:
    """After raising the limit, existing states are kept."""
    memory = LocalConversations(1, 100)
    await memory.put(keys(0), state("0"))
    memory.limit(1_000, 100)
    for name in range(1, 100):
        await memory.put(keys(name), state(str(name)))
    assert all([await memory.get(keys(name)[0]) for name in range(100)])


@pytest.mark.parametrize(("before", "after"), [((1, 100), (1_000, 100)), ((10, 20), (10, 100))])
async def test_what_is_done_once_is_claimed_as_long_as_states_are_kept(
    clock: list[float], before: tuple[int, int], after: tuple[int, int]
) -> None:
    """New limits apply to claims as well, and existing claims are kept."""
    memory = LocalConversations(*before)
    assert await memory.claim(key("first"))
    memory.limit(*after)
    for name in range(20):
        assert await memory.claim(key(str(name)))
    clock[0] += 60
    assert not await memory.claim(key("first"))


async def test_same_bounds_again_leave_ages_as_they_were(clock: list[float]) -> None:
    """Reloading an unchanged configuration does not extend any state's life."""
    memory = LocalConversations(10, 100)
    await memory.put([key("a")], state("1"))
    clock[0] += 60
    memory.limit(10, 100)
    clock[0] += 60
    assert await memory.get(key("a")) is None


async def test_an_age_set_lower_holds_for_what_is_there(clock: list[float]) -> None:
    """The new age limit counts from the change."""
    memory = LocalConversations(10, 100)
    await memory.put([key("a")], state("1"))
    memory.limit(10, 20)
    clock[0] += 21
    assert await memory.get(key("a")) is None


@pytest.mark.parametrize("ident", ["c", "会話", "\ud800", ""])
async def test_forgotten_state_is_gone_from_wherever_it_was(ident: str) -> None:
    """All states of the conversation are deleted, and each key counts once."""
    memory = LocalConversations(60, 100)
    for turn in range(10):
        await memory.put([key("id"), key(turn)], state(ident))
        await memory.put([key("of another"), key(f"{turn} of another")], state(f"{ident} as well"))
    assert await memory.forget(ident) == 11
    assert await memory.forget(ident) == 0
    assert await memory.get(key("id")) is None
    assert await memory.get(key("of another"))


async def test_state_unused_for_its_age_is_forgotten(clock: list[float]) -> None:
    """Age counts from the last use. Expired states are not returned, even if nothing was stored since."""
    memory = LocalConversations(10, 100)
    await memory.put([key("a")], state("1"))
    clock[0] += 90
    assert await memory.get(key("a"))
    clock[0] += 90
    assert await memory.get(key("a"))
    clock[0] += 101
    assert await memory.get(key("a")) is None


async def test_expired_conversation_goes_on_as_a_fresh_one(start: Start, clock: list[float]) -> None:
    """After memory.max_age_s it continues without warnings, with a new id and no error."""
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
    """Above memory.max_turns the least recently used conversation is dropped, the others are not."""
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
