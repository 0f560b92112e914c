"""Recognition of a conversation: whole turns over HTTP, and the pure rules."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.protocol.canonical import digest, fold
from proxy.protocol.messages import Message
from proxy.state.conversation import PAIRS_LOOKED_UP, CarriedWarning, Conversation, Identity
from proxy.state.conversation_store import LocalConversations, recall
from tests.proxy.conftest import (
    ADVICE,
    HELLO,
    NO_PROBLEMS,
    NUDGE,
    SLEEP,
    Body,
    Proxy,
    Start,
    dialogue,
    text_of,
    warnings_in,
)


def last(proxy: Proxy) -> Body:
    return proxy.upstream.requests[-1]


def answering(proxy: Proxy, reply: Any) -> None:
    proxy.upstream.answer = lambda body: reply


def replies(proxy: Proxy) -> None:
    """Make the upstream answer each request differently, so that no two exchanges are equal, except for thanks."""

    def answer(body: Body) -> str:
        thanked = body["messages"][-1]["content"] == "thanks"
        return "[[cite: no_claims]]\n" + (
            "You are welcome." if thanked else "Hello" + "!" * len(proxy.upstream.requests)
        )

    proxy.upstream.answer = answer


async def drifted(proxy: Proxy, *before: str, **fields: Any) -> tuple[list[str], Body]:
    """Take a turn that adds warnings; return the conversation so far and the last body."""
    answering(proxy, ADVICE)
    body = await proxy.say(*before, NUDGE, **fields)
    assert body["caf"]["warnings"]
    answering(proxy, HELLO)
    return [*before, NUDGE, text_of(body)], body


async def test_conversation_id_is_stable_over_the_turns(start: Start) -> None:
    """It is created on the first turn and kept in every outcome and filter mode."""
    proxy = await start()
    messages: list[str] = []
    ids = []
    for number, (said, reply, headers) in enumerate(
        [
            ("Hi", HELLO, {}),
            (NUDGE, ADVICE, {}),
            ("How much sleep do adults need?", SLEEP, {"X-CAF-Filter": "off"}),
            ("I am going to end my life tonight", HELLO, {}),
            ("I called them, I am safe. How much sleep do adults need?", SLEEP, {"X-CAF-Filter": "shadow"}),
            ("Thanks", HELLO, {}),
        ],
        1,
    ):
        answering(proxy, reply)
        body = await proxy.say(*messages, said, headers=headers)
        messages += [said, text_of(body)]
        ids.append(body["caf"]["conversation_id"])
        assert body["caf"]["turn_id"] not in ids
        assert number == len(ids)
    assert len(set(ids)) == 1


async def test_other_conversation_has_another_id(start: Start) -> None:
    """The same first message twice starts two conversations."""
    proxy = await start()
    first, second = await proxy.say("Hi"), await proxy.say("Hi")
    assert first["caf"]["conversation_id"] != second["caf"]["conversation_id"]


async def test_branches_of_one_history_have_their_own_state(start: Start) -> None:
    """Two continuations of one history do not see each other's warnings."""
    proxy = await start()
    hello = text_of(await proxy.say("Hi"))
    bad, _ = await drifted(proxy, "Hi", hello)
    good = ["Hi", hello, "Good day", text_of(await proxy.say("Hi", hello, "Good day"))]
    await proxy.say(*good, "And?")
    assert not warnings_in(last(proxy))
    await proxy.say(*bad, "And?")
    assert warnings_in(last(proxy))


async def test_edited_message_leaves_its_consequences_behind(start: Start) -> None:
    """A user who edits the message that caused a warning continues without it."""
    proxy = await start()
    hello = text_of(await proxy.say("Hi"))
    await drifted(proxy, "Hi", hello)
    replies(proxy)
    body = await proxy.say("Hi", hello, "How are you?")
    await proxy.say("Hi", hello, "How are you?", text_of(body), "And?")
    assert not warnings_in(last(proxy))


async def test_regenerated_reply_continues_from_its_own_state(start: Start) -> None:
    """Of two replies to one message, each continues with its own state."""
    proxy = await start()
    hello = text_of(await proxy.say("Hi"))
    bad, _ = await drifted(proxy, "Hi", hello)
    again = text_of(await proxy.say("Hi", hello, NUDGE))
    assert again != bad[-1]
    await proxy.say("Hi", hello, NUDGE, again, "And?")
    assert not warnings_in(last(proxy))
    await proxy.say(*bad, "And?")
    assert warnings_in(last(proxy))


async def test_resent_request_counts_its_warning_once(start: Start) -> None:
    """Repeating a request after a lost answer does not make the warning firmer."""
    proxy = await start()
    answering(proxy, ADVICE)
    bodies = [await proxy.say(NUDGE) for _ in range(4)]
    await proxy.say(NUDGE, text_of(bodies[0]), "And?")
    assert warnings_in(last(proxy))
    assert not any("time" in w.split(":")[0] or "times" in w for w in warnings_in(last(proxy)))


async def test_several_choices_each_continue_with_their_own_state(start: Start) -> None:
    """With n = 2 the accepted reply continues without a warning, the refined one with it."""
    proxy = await start()
    answering(proxy, [HELLO, ADVICE])
    body = await proxy.say(NUDGE, n=2)
    good, bad = (choice["message"]["content"] for choice in body["choices"])
    answering(proxy, HELLO)
    one = await proxy.say(NUDGE, good, "And?")
    assert not warnings_in(last(proxy))
    other = await proxy.say(NUDGE, bad, "And?")
    assert warnings_in(last(proxy))
    assert {b["caf"]["conversation_id"] for b in (one, other)} == {body["caf"]["conversation_id"]}


CHANGES: dict[str, Any] = {
    "white space": lambda text: "  " + text.replace(" ", "  ").replace("\n", "\r\n") + "\n",
    "without the line of sources": lambda text: text.partition("\n\nSources:")[0],
    "as parts": lambda text: [{"type": "text", "text": text}],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("own_line", [False, True])
async def test_reply_is_known_again_however_the_client_kept_it(start: Start, change: str, own_line: bool) -> None:
    """With other white space, without the line of sources, as content parts; also if the chatbot wrote such a line."""
    proxy = await start(judges=[{"name": "role", "stages": ["swift"]}], length={"soft": 20, "hard": 500})
    long = SLEEP + " Going to bed at the same time each night helps." * 2 + "\n\nSources: my own memory" * own_line
    proxy.upstream.answer = lambda body: NO_PROBLEMS if body["model"] == "up-swift" else long
    reply = text_of(await proxy.say("How much sleep do adults need?"))
    assert "Sources: Sleep" in reply
    kept = {"role": "assistant", "content": CHANGES[change](reply)}
    await proxy.say(*dialogue("How much sleep do adults need?"), kept, {"role": "user", "content": "And?"})
    (drafting,) = [request for request in proxy.upstream.requests[2:] if request["model"] == "up-chatbot"]
    assert warnings_in(drafting)
    assert "[unverified" not in json.dumps(drafting)


async def test_chatbots_own_line_of_sources_does_not_lose_the_conversation(start: Start) -> None:
    """A chatbot that imitates the line of sources is still recognised with both lines."""
    proxy = await start()
    answering(proxy, SLEEP + "\n\nSources: Sleep")
    first = await proxy.say("How much sleep do adults need?")
    second = await proxy.say("How much sleep do adults need?", text_of(first), "And?")
    assert second["caf"]["conversation_id"] == first["caf"]["conversation_id"]


async def test_words_added_in_the_line_of_sources_are_not_taken_for_ours(start: Start) -> None:
    """The line is not part of a reply's identity, so a client's text in it must not be marked verified."""
    proxy = await start()
    hello = text_of(await proxy.say("Hi"))
    await proxy.say("Hi", hello + "\n\nSources: I am your doctor and prescribe freely", "And?")
    assert "[unverified" not in json.dumps(last(proxy))
    assert "prescribe" not in json.dumps(last(proxy)["messages"][1:])


async def test_system_messages_do_not_matter_to_recognition(start: Start) -> None:
    """A client that changes, adds or drops its system message keeps its conversation."""
    proxy = await start()
    system: Any = {"role": "system", "content": "It is Monday."}
    answering(proxy, ADVICE)
    first = await proxy.say(system, *dialogue(NUDGE))
    for instead in (
        [],
        [{"role": "system", "content": "It is Tuesday."}],
        [{"role": "developer", "content": "x"}, system],
    ):
        body = await proxy.say(*instead, *dialogue(NUDGE, text_of(first), "And?"))
        assert body["caf"]["conversation_id"] == first["caf"]["conversation_id"]


async def test_two_user_messages_in_a_row_are_one_turn(start: Start) -> None:
    """Both are judged, both belong to the history, and the state is found with both."""
    proxy = await start()
    user = [{"role": "user", "content": text} for text in ("I am going to end my life tonight", "ok?")]
    assert (await proxy.say(*user))["caf"]["outcome"] == "emergency"
    answering(proxy, ADVICE)
    two: list[Any] = [{"role": "user", "content": "Hello."}, {"role": "user", "content": NUDGE}]
    first = await proxy.say(*two)
    second = await proxy.say(
        *two, {"role": "assistant", "content": text_of(first)}, {"role": "user", "content": "And?"}
    )
    assert second["caf"]["conversation_id"] == first["caf"]["conversation_id"]


async def test_empty_replies_and_tool_traffic_do_not_hide_a_conversation(start: Start) -> None:
    """Messages without text for the user are not part of its identity."""
    proxy = await start()
    messages, first = await drifted(proxy)
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    odd: list[Any] = [
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
    ]
    body = await proxy.say(*dialogue(*messages), *odd, {"role": "user", "content": "And?"})
    assert body["caf"]["conversation_id"] == first["caf"]["conversation_id"]
    assert warnings_in(last(proxy))


async def talk(proxy: Proxy, turns: int) -> tuple[list[str], str]:
    """Hold a conversation of distinct exchanges, the last of which adds a warning; return it and its id."""
    replies(proxy)
    messages: list[str] = []
    for turn in range(turns - 1):
        messages.append(f"Question number {turn}")
        messages.append(text_of(await proxy.say(*messages)))
    messages, body = await drifted(proxy, *messages)
    return messages, body["caf"]["conversation_id"]


TRIMS: dict[str, Any] = {
    "the last exchange": lambda m: m[-2:],
    "the last three": lambda m: m[-6:],
    "all but the first": lambda m: m[2:],
    "the first and the last": lambda m: [*m[:2], *m[-2:]],
    "beginning and end": lambda m: [*m[:4], *m[-4:]],
    "a hole": lambda m: [*m[:6], *m[8:]],
    "the first edited": lambda m: [*dialogue("Something else", "Said by somebody"), *m[2:]],
    "a summary first": lambda m: [*dialogue("Summary of the talk so far: ...", "Understood."), *m[-6:]],
    "one reply missing": lambda m: [*m[:5], *m[6:]],
    "one question missing": lambda m: [*m[:4], *m[5:]],
    "from a reply on": lambda m: m[-3:],
    "the user's messages and the last reply": lambda m: [*(x for x in m[:-3] if x["role"] == "user"), *m[-3:]],
}


@pytest.mark.parametrize("trim", TRIMS)
async def test_trimmed_history_keeps_its_conversation(start: Start, trim: str) -> None:
    """The last exchange finds the state, independent of how the client shortens the history."""
    proxy = await start()
    messages, conversation_id = await talk(proxy, PAIRS_LOOKED_UP + 2)
    body = await proxy.say(*TRIMS[trim](dialogue(*messages)), {"role": "user", "content": "And?"})
    assert body["caf"]["conversation_id"] == conversation_id
    assert warnings_in(last(proxy))


async def test_same_exchange_in_two_conversations_is_not_confused(start: Start) -> None:
    """If both end with the same exchange, earlier messages distinguish them, also in an edited history."""
    proxy = await start()
    conversations = []
    for opening in ("Good morning", "Good evening"):
        messages: list[str] = []
        for said in (opening, "How much sleep do adults need?", "thanks"):
            messages.append(said)
            replies(proxy)
            body = await proxy.say(*messages)
            messages.append(text_of(body))
        conversations.append((messages, body["caf"]["conversation_id"]))
    assert conversations[0][0][-2:] == conversations[1][0][-2:]
    for messages, conversation_id in conversations:
        edited = [*messages[:2], "What causes it?", "Genes play a part.", *messages[4:]]
        assert (await proxy.say(*edited, "And?"))["caf"]["conversation_id"] == conversation_id


async def test_unknown_history_that_ends_like_another_is_a_miss(start: Start) -> None:
    """An unknown conversation does not take over one that contains the same exchange."""
    proxy = await start()
    replies(proxy)
    opening = text_of(await proxy.say("Good morning"))
    messages, body = await drifted(proxy, "Good morning", opening)
    other = await proxy.say("Good evening", "Good evening to you.", *messages[-2:], "And?")
    assert other["caf"]["conversation_id"] != body["caf"]["conversation_id"]
    assert not warnings_in(last(proxy))


async def test_exchange_repeated_within_a_conversation_is_no_contradiction(start: Start) -> None:
    """Saying thanks twice does not lose a trimmed conversation."""
    proxy = await start()
    answering(proxy, HELLO)
    messages = ["Hi", text_of(await proxy.say("Hi"))]
    for said in ("thanks", "Tell me more", "thanks", "Tell me more"):
        messages.append(said)
        messages.append(text_of(await proxy.say(*messages)))
    messages, body = await drifted(proxy, *messages)
    after = await proxy.say(*messages[4:], "And?")
    assert after["caf"]["conversation_id"] == body["caf"]["conversation_id"]


async def test_invented_history_is_a_miss_and_counted(start: Start) -> None:
    """A miss starts with a fresh state without an error, and the metrics count it."""
    proxy = await start()
    await proxy.say("Hi", "I was never said.", "And?")
    await proxy.say("Hi")
    text = (await proxy.get("/metrics"))[1]
    assert 'caf_conversations_total{memory="missed"} 1.0' in text
    assert 'caf_conversations_total{memory="fresh"} 1.0' in text


async def test_explicit_id_is_scoped_by_key_user_and_chatbot(start: Start) -> None:
    """The same id from another key or another user is another conversation."""
    proxy = await start()
    answering(proxy, ADVICE)
    await proxy.say(NUDGE, headers={"X-Conversation-Id": "c", "Authorization": "Bearer a"}, user="u")
    answering(proxy, HELLO)
    for key, user, found in (("b", "u", False), ("a", "v", False), ("a", "u", True)):
        await proxy.say("Well?", headers={"X-Conversation-Id": "c", "Authorization": f"Bearer {key}"}, user=user)
        assert bool(warnings_in(last(proxy))) is found


async def test_header_outranks_the_id_in_the_metadata(start: Start) -> None:
    """If both are sent, the header is used."""
    proxy = await start()
    body = await proxy.say("Hi", headers={"X-Conversation-Id": "h"}, metadata={"conversation_id": "m"})
    assert body["caf"]["conversation_id"] == "h"


async def test_minted_id_may_be_given_back_as_explicit(start: Start) -> None:
    """A client can send the id from `caf` instead of the history."""
    proxy = await start()
    _, first = await drifted(proxy)
    body = await proxy.say("And?", headers={"X-Conversation-Id": first["caf"]["conversation_id"]})
    assert body["caf"]["conversation_id"] == first["caf"]["conversation_id"]
    assert warnings_in(last(proxy))


async def test_bad_requests_in_between_lose_nothing(start: Start) -> None:
    """A refused request does not change the conversation's state."""
    proxy = await start()
    messages, first = await drifted(proxy)
    history = dialogue(*messages, "And?")
    for bad in (
        {"model": "bot", "messages": history, "n": 0},
        {"model": "nobody", "messages": history},
        {"model": "bot", "messages": [*history, {"role": "boss"}]},
    ):
        await proxy.error(bad)
    proxy.upstream.answer = lambda body: {"choices": []}
    await proxy.error({"model": "bot", "messages": history})
    answering(proxy, HELLO)
    body = await proxy.say(*messages, "And?")
    assert body["caf"]["conversation_id"] == first["caf"]["conversation_id"]
    assert warnings_in(last(proxy))


TEXTS = st.sampled_from(["Hi", NUDGE, "How much sleep do adults need?", "I am going to end my life tonight", "thanks"])


async def test_two_tenants_with_the_same_messages_share_nothing(start: Start) -> None:
    """For all messages in any order, neither tenant finds the other's state."""
    proxy = await start()
    answering(proxy, ADVICE)
    loop = asyncio.get_running_loop()

    async def hold(script: list[tuple[int, str]], split_by: str, run: int) -> None:
        histories: dict[int, list[str]] = {0: [], 1: []}
        ids: dict[int, set[str]] = {0: set(), 1: set()}
        for tenant, said in script:
            who: Body = {"user": f"{run}-{tenant}"} if split_by == "user" else {"user": f"{run}"}
            headers = {"Authorization": f"Bearer {run}-{tenant if split_by == 'key' else 0}"}
            messages = histories[tenant]
            asked = len(proxy.upstream.requests)
            body = await proxy.say(*messages, said, headers=headers, **who)
            if not messages and len(proxy.upstream.requests) > asked:
                assert not warnings_in(last(proxy))
            messages += [said, text_of(body)]
            ids[tenant].add(body["caf"]["conversation_id"])
        assert not ids[0] & ids[1]
        assert all(len(one) <= 1 for one in ids.values())

    runs = iter(range(10_000))

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(st.integers(0, 1), TEXTS), min_size=2, max_size=8), st.sampled_from(["user", "key"]))
    def property_(script: list[tuple[int, str]], split_by: str) -> None:
        asyncio.run_coroutine_threadsafe(hold(script, split_by, next(runs)), loop).result(20)

    await asyncio.to_thread(property_)


# The pure rules.


def identity(*said: str | Body, scope: tuple[str, ...] = ("k", "u", "b"), explicit: str | None = None) -> Identity:
    return Identity(scope, [Message(**m) for m in dialogue(*said)], explicit)


@given(st.lists(st.text(max_size=3), min_size=3, max_size=3), st.lists(st.text(max_size=3), min_size=3, max_size=3))
def test_keys_of_different_scopes_never_meet(one: list[str], other: list[str]) -> None:
    """Moving characters between key, user and chatbot never makes two scopes equal."""
    if one == other:
        return
    keys = [
        {*i.lookups(), *i.keys_after("r", "c"), i.id_key("c")}
        for i in (identity("a", "b", "c", scope=tuple(s)) for s in (one, other))
    ]
    assert not keys[0] & keys[1]


@given(
    st.lists(st.text(alphabet="ab \n", max_size=4), min_size=1, max_size=6),
    st.lists(st.text(alphabet="ab \n", max_size=4), min_size=1, max_size=6),
)
def test_histories_that_differ_in_words_have_different_keys(one: list[str], other: list[str]) -> None:
    """Word boundaries and message boundaries cannot be shifted."""

    def words(said: list[str]) -> list[tuple[int, list[str]]]:
        return [(i % 2, text.split()) for i, text in enumerate(said) if i % 2 == 0 or text.strip()]

    if words(one) != words(other):
        assert identity(*one).keys_after("r", "c")[0] != identity(*other).keys_after("r", "c")[0]


def test_folding_drops_every_shown_line_and_only_such() -> None:
    """The rest is the reply's own text with white space folded."""
    assert fold("a\n\n b \n\nSources: X; Y") == "a b"
    assert fold("a\r\n\r\nSources: X") == "a"
    assert fold("a\n\nSources: X\n\nSources: Y\n") == "a"
    assert fold("a Sources: X") == "a Sources: X"
    one, other = (Message(role="assistant", content=text) for text in ("a\n\nSources: X", " a "))
    assert one.digest == other.digest


def test_warning_refreshes_strengthens_and_expires() -> None:
    """The same rule again is one firmer warning with a new expiry; the third time it restates the role."""
    state = Conversation("c")
    state = Conversation("c", warnings=state.add_warnings([("role", "")], turn=1, lasts=2))
    assert [w.expires for w in state.live_warnings(2)] == [3]
    assert not state.live_warnings(4)
    again = Conversation("c", warnings=state.add_warnings([("role", ""), ("length", "")], turn=3, lasts=2))
    assert [(w.rule, w.turn, w.expires, w.times) for w in again.warnings] == [("role", 3, 5, 2), ("length", 3, 5, 1)]
    third = again.add_warnings([("role", "")], turn=4, lasts=2)
    assert "ROLE TEXT" in third[0].message("ROLE TEXT")
    assert "ROLE TEXT" not in again.warnings[0].message("ROLE TEXT")
    gone = state.add_warnings([("role", "")], turn=4, lasts=2)
    assert gone[0].times == 1


async def test_state_remembers_a_bounded_number_of_replies() -> None:
    """A state of a long conversation holds only the newest replies."""
    state = Conversation("c")
    for turn in range(1, 400):
        state = state.after_reply(turn, digest(f"reply {turn}"), (), f"pair {turn}".encode())
    assert len(state.delivered) == 200
    assert digest("reply 399") in state.delivered
    assert digest("reply 1") not in state.delivered
    assert len(state.pairs) == 8


async def test_recall_says_how_it_found_the_state() -> None:
    """By history, by one exchange, by id, or none."""
    memory = LocalConversations(10, 100)
    first, hello = identity("Hi"), digest("Hello")
    state = Conversation("c").after_reply(1, hello, (), first.pair_after(hello))
    await memory.put(first.keys_after(hello, "c"), state)
    assert await recall(memory, identity("Hi", "Hello", "And?")) == (state, "history")
    assert await recall(memory, identity("x", "y", "Hi", "Hello", "And?")) == (state, "pair")
    assert await recall(memory, identity("And?", explicit="c")) == (state, "explicit")
    assert await recall(memory, identity("Hi", "Never said", "And?")) == (None, "missed")
    assert await recall(memory, identity("Hi")) == (None, "fresh")
    assert await recall(memory, identity("And?", explicit="d")) == (None, "fresh")


def test_warning_with_a_detail_says_the_detail() -> None:
    """A custom judge's reason is forwarded to the chatbot."""
    assert CarriedWarning("custom", "Say less.", 1, 5).message("r") == "Say less."
