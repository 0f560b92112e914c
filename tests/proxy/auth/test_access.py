"""Who is asking, and what they may do."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from proxy.auth import keys
from proxy.auth.access import keyless_access
from proxy.auth.loopback import is_loopback
from proxy.config.config import ConfigError
from tests.proxy.conftest import CRISIS, Body, Start, bot_settings, dialogue, text_of, warnings_in


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_who_sits_at_the_machine_needs_no_key(host: str) -> None:
    """The addresses that no other machine can reach."""
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.0.1", "caf.example.org", "", "localhost.example.org", "127.0.0.1.nip.io"]
)
def test_anything_else_may_be_reached_by_others(host: str) -> None:
    """An address that others can reach, and any name but localhost."""
    assert not is_loopback(host)


def test_key_is_told_apart_and_not_kept() -> None:
    """Two keys are two clients; the id does not hold the key."""
    ids = {keyless_access({"Authorization": f"Bearer sk-{n}"}).key_id for n in range(100)} | {keyless_access({}).key_id}
    assert len(ids) == 101
    assert not any("sk-" in key_id for key_id in ids)
    assert keyless_access({"Authorization": "Bearer \udcff"}).key_id


@pytest.mark.parametrize(("mode", "status"), [("off", 403), ("shadow", 403), ("on", 200), ("ON ", 200)])
async def test_filter_cannot_be_switched_off_without_permission(
    start: Start, tmp_path: Path, mode: str, status: int
) -> None:
    """A key without `unfiltered` may ask only for what is configured."""
    config, bearer = keyed(tmp_path)
    proxy = await start(config=config | {"server": {"host": "0.0.0.0"}})
    got, body = await proxy.post({"model": "bot", "messages": dialogue("Hi")}, bearer | {"X-CAF-Filter": mode})
    assert got == status
    if status == 403:
        assert (body["error"]["code"], body["error"]["param"]) == ("permission_denied", "X-CAF-Filter")
        assert not proxy.upstream.requests


@pytest.mark.parametrize("configured", ["off", "shadow"])
async def test_filter_cannot_be_switched_on_either_without_permission(
    start: Start, tmp_path: Path, configured: str
) -> None:
    """The mode is the operator's; asking for it as it is needs nothing."""
    config, bearer = keyed(tmp_path)
    proxy = await start(config=config, filter=configured)
    request = {"model": "bot", "messages": dialogue("Hi")}
    assert (await proxy.post(request, bearer | {"X-CAF-Filter": configured}))[0] == 200
    assert (await proxy.error(request, bearer | {"X-CAF-Filter": "on"}))[0] == 403


@pytest.mark.parametrize(
    "headers", [{"X-CAF-Filter": "off"}, {"X-CAF-Filter": "nonsense"}, {"X-Conversation-Id": "x" * 300}]
)
async def test_emergency_comes_before_any_refusal(start: Start, tmp_path: Path, headers: dict[str, str]) -> None:
    """A person in danger gets the text, whatever is wrong with the headers their client sends."""
    config, bearer = keyed(tmp_path)
    proxy = await start(config=config)
    status, body = await proxy.post({"model": "bot", "messages": dialogue(CRISIS)}, bearer | headers)
    assert (status, text_of(body)) == (200, "You matter. Call 112.")


async def test_permitted_client_may_switch_the_emergency_judge_off_with_the_filter(start: Start) -> None:
    """On loopback `off` is the study's other arm, in which no judge runs."""
    proxy = await start()
    assert text_of(await proxy.say(CRISIS, headers={"X-CAF-Filter": "off"})) == "Hello."


DIRECT = [{"Host": host} for host in ("127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "127.9.9.9")] + [
    {"Origin": origin} for origin in ("http://localhost:3000", "http://127.0.0.1", "https://[::1]:8")
]
INDIRECT = (
    [
        {"Host": host}
        for host in ("chat.example", "127.0.0.1.nip.io", "192.168.1.5:8080", "localhost.example", "[", "", "0.0.0.0")
    ]
    + [
        {"Origin": origin}
        for origin in ("https://page.example", "null", "file://", "http://localhost.page.example", "//[")
    ]
    + [{name: "127.0.0.1"} for name in ("X-Forwarded-For", "x-forwarded-host", "X-Real-IP", "Forwarded", "Via")]
    + [{"X-Forwarded-Proto": "https"}, {"X-Forwarded-Port": "443"}]
)


async def test_a_program_on_this_machine_may_switch_the_filter_off(start: Start) -> None:
    """It asks by the name of this machine, or is a page that comes from it."""
    proxy = await start()
    for headers in DIRECT:
        status, body = await proxy.post({"model": "bot", "messages": dialogue("Hi")}, headers | {"X-CAF-Filter": "off"})
        assert (status, body["caf"]["outcome"]) == (200, "unfiltered"), headers


async def test_nobody_else_may_where_there_are_no_keys(start: Start) -> None:
    """Strangers behind a reverse proxy on this machine and web pages under a name of their own may chat, and no more."""
    proxy = await start()
    ask = {"model": "bot", "messages": dialogue("Hi")}
    for headers in INDIRECT:
        proxy.upstream.requests.clear()
        status, error = await proxy.error(ask, headers | {"X-CAF-Filter": "off"})
        assert (status, error["code"], error["param"]) == (403, "permission_denied", "X-CAF-Filter"), headers
        assert not proxy.upstream.requests
        async with proxy.session.get(f"{proxy.url}/metrics", headers=headers) as response:
            assert response.status == 403, headers
        assert (await proxy.post(ask, headers))[0] == 200, headers


def keyed(folder: Path, *permissions: keys.Permission, **limits: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the configuration of a proxy with one key, and the header of whoever has it."""
    new = keys.create("clinic", permissions or ("chat",), **limits)
    known = list(keys.load(folder / "keys.json").values()) if (folder / "keys.json").exists() else []
    keys.save([*known, new.record], folder / "keys.json")
    return {"keys": {"file": "keys.json"}}, {"Authorization": f"Bearer {new.text}"}


HI = {"model": "bot", "messages": dialogue("Hi")}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic x"},
        {"Authorization": f"Bearer caf-00000000-{'a' * 43}"},
    ],
)
@pytest.mark.parametrize("said", ["Hi", CRISIS])
async def test_a_wrong_key_costs_no_call_and_learns_nothing(
    start: Start, tmp_path: Path, headers: dict[str, str], said: str
) -> None:
    """401 in OpenAI's form, for whatever is asked, before anything else is looked at."""
    config, _ = keyed(tmp_path)
    proxy = await start(config=config)
    status, error = await proxy.error({"model": "bot", "messages": dialogue(said)}, headers)
    assert (status, error["code"]) == (401, "invalid_api_key")
    assert not proxy.upstream.requests
    assert (await proxy.error(b"{", headers))[0] == 401
    assert (await proxy.get("/v1/models"))[0] == 401


async def test_a_valid_key_is_served(start: Start, tmp_path: Path) -> None:
    """The scheme's case does not matter; the key never travels on."""
    config, bearer = keyed(tmp_path)
    proxy = await start(config=config)
    assert (await proxy.post(HI, {"Authorization": bearer["Authorization"].replace("Bearer", "bearer")}))[0] == 200
    assert "caf-" not in str(proxy.upstream.headers)


async def test_a_key_knows_only_its_chatbots(start: Start, tmp_path: Path) -> None:
    """The others are not there for it: neither listed nor named in an error."""
    config, bearer = keyed(tmp_path, chatbots=["bot"])
    proxy = await start(config=config, chatbots={"bot": bot_settings(), "secret": bot_settings()})
    async with proxy.session.get(f"{proxy.url}/v1/models", headers=bearer) as response:
        assert [model["id"] for model in (await response.json())["data"]] == ["bot"]
    status, error = await proxy.error({**HI, "model": "secret"}, bearer)
    assert (status, error["code"]) == (404, "model_not_found")
    assert error["message"].endswith("expected one of: bot.")


async def test_a_limit_is_told_with_when_to_come_back(start: Start, tmp_path: Path) -> None:
    """429 with Retry-After, and no upstream call."""
    config, bearer = keyed(tmp_path, requests_per_minute=1)
    proxy = await start(config=config)
    assert (await proxy.post(HI, bearer))[0] == 200
    asked = len(proxy.upstream.requests)
    async with proxy.session.post(f"{proxy.url}/v1/chat/completions", json=HI, headers=bearer) as response:
        assert response.status == 429
        assert 1 <= int(response.headers["Retry-After"]) <= 60
        assert (await response.json())["error"]["code"] == "rate_limit_exceeded"
    assert len(proxy.upstream.requests) == asked


@pytest.mark.parametrize("limit", [{"requests_per_minute": 1}, {"tokens_per_minute": 1}, {"daily_budget": 0.000001}])
async def test_no_limit_stands_before_the_emergency_text(start: Start, tmp_path: Path, limit: dict[str, Any]) -> None:
    """A person in danger is not asked to come back in a minute."""
    config, bearer = keyed(tmp_path, **limit)
    proxy = await start(config=config, alias={"price": {"input": 1, "output": 1}})
    await proxy.post(HI, bearer)
    assert (await proxy.post(HI, bearer))[0] == 429
    status, body = await proxy.post({"model": "bot", "messages": dialogue(CRISIS)}, bearer)
    assert (status, text_of(body)) == (200, "You matter. Call 112.")


async def test_one_at_a_time(start: Start, tmp_path: Path) -> None:
    """A second request while the first is under way is refused; after it, not."""
    config, bearer = keyed(tmp_path, max_concurrent=1)
    proxy = await start(config=config)
    going, gate = asyncio.Event(), asyncio.Event()

    async def slow(body: Body) -> str:
        going.set()
        await gate.wait()
        return "[[cite: no_claims]]\nHello."

    proxy.upstream.answer = slow
    first = asyncio.create_task(proxy.post(HI, bearer))
    await going.wait()
    assert (await proxy.post(HI, bearer))[0] == 429
    gate.set()
    assert (await first)[0] == 200
    assert (await proxy.post(HI, bearer))[0] == 200


async def test_only_a_key_with_trace_sees_what_was_rejected(start: Start, tmp_path: Path) -> None:
    """Others get the rule's own words, and no draft."""
    config, plain = keyed(tmp_path)
    _, tracing = keyed(tmp_path, "chat", "trace")
    proxy = await start(config=config)
    proxy.upstream.answer = lambda body: "[[cite: no_claims]]\nTake 400 mg of magnesium every night, it cures voices."
    (_, hidden), (_, shown) = await proxy.post(HI, plain), await proxy.post(HI, tracing)
    assert hidden["caf"]["outcome"] == shown["caf"]["outcome"] == "refined"
    assert "magnesium" not in str(hidden)
    assert "magnesium" in shown["caf"]["draft"]
    assert any("magnesium" in judge["reason"] for judge in shown["caf"]["judges"])


async def test_two_tenants_with_the_same_words_share_nothing(start: Start, tmp_path: Path) -> None:
    """What one's conversation carries, another key with the identical history does not get."""
    config, one = keyed(tmp_path)
    _, other = keyed(tmp_path)
    proxy = await start(config=config)
    proxy.upstream.answer = lambda body: "[[cite: no_claims]]\nTake 400 mg of magnesium every night, it cures voices."
    _, first = await proxy.post(HI, one)
    proxy.upstream.answer = lambda body: "[[cite: no_claims]]\nHello."
    again = {"model": "bot", "messages": dialogue("Hi", text_of(first), "And now?")}
    for bearer, warned in ((one, True), (other, False)):
        proxy.upstream.requests.clear()
        await proxy.post(again, bearer)
        assert any(warnings_in(body) for body in proxy.upstream.requests) is warned


async def test_strangers_need_keys(start: Start) -> None:
    """A proxy that other machines can reach does not start without."""
    with pytest.raises(ConfigError, match="is not a loopback address and needs `keys`"):
        await start(config={"server": {"host": "0.0.0.0"}})


async def test_a_key_of_a_chatbot_that_is_not_there_locks_nobody_else_out(start: Start, tmp_path: Path) -> None:
    """It gets 404; the others are served."""
    config, misspelt = keyed(tmp_path, chatbots=["bott"])
    _, right = keyed(tmp_path)
    proxy = await start(config=config)
    assert (await proxy.error(HI, misspelt))[0] == 404
    assert (await proxy.post(HI, right))[0] == 200
