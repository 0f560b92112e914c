"""Who is asking, and what they may do."""

import pytest

from proxy.access import is_loopback, keyless
from tests.proxy.conftest import Start, dialogue, text_of

CRISIS = "I am going to end my life tonight"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_grants_the_choice_of_the_filter(host: str) -> None:
    """Who sits at the machine may try everything."""
    assert is_loopback(host)
    assert keyless({}, host).unfiltered


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.0.1", "caf.example.org", "", "localhost.example.org", "127.0.0.1.nip.io"]
)
def test_anything_else_does_not(host: str) -> None:
    """An address that others can reach, and any name but localhost."""
    assert not is_loopback(host)
    assert not keyless({}, host).unfiltered


def test_key_is_told_apart_and_not_kept() -> None:
    """Two keys are two clients; the id does not hold the key."""
    ids = {keyless({"Authorization": f"Bearer sk-{n}"}, "").key_id for n in range(100)} | {keyless({}, "").key_id}
    assert len(ids) == 101
    assert not any("sk-" in key_id for key_id in ids)
    assert keyless({"Authorization": "Bearer \udcff"}, "").key_id


@pytest.mark.parametrize(("mode", "status"), [("off", 403), ("shadow", 403), ("on", 200), ("ON ", 200)])
async def test_filter_cannot_be_switched_off_from_elsewhere(start: Start, mode: str, status: int) -> None:
    """On an address that others can reach, a keyless client may ask only for what is configured."""
    proxy = await start(config={"server": {"host": "0.0.0.0"}})
    got, body = await proxy.post({"model": "bot", "messages": dialogue("Hi")}, {"X-CAF-Filter": mode})
    assert got == status
    if status == 403:
        assert (body["error"]["code"], body["error"]["param"]) == ("permission_denied", "X-CAF-Filter")
        assert not proxy.upstream.requests


@pytest.mark.parametrize("configured", ["off", "shadow"])
async def test_filter_cannot_be_switched_on_either_without_permission(start: Start, configured: str) -> None:
    """The mode is the operator's; asking for it as it is needs nothing."""
    proxy = await start(config={"server": {"host": "0.0.0.0"}}, filter=configured)
    request = {"model": "bot", "messages": dialogue("Hi")}
    assert (await proxy.post(request, {"X-CAF-Filter": configured}))[0] == 200
    assert (await proxy.error(request, {"X-CAF-Filter": "on"}))[0] == 403


@pytest.mark.parametrize(
    "headers", [{"X-CAF-Filter": "off"}, {"X-CAF-Filter": "nonsense"}, {"X-Conversation-Id": "x" * 300}]
)
async def test_emergency_comes_before_any_refusal(start: Start, headers: dict[str, str]) -> None:
    """A person in danger gets the text, whatever is wrong with the headers their client sends."""
    proxy = await start(config={"server": {"host": "0.0.0.0"}})
    status, body = await proxy.post({"model": "bot", "messages": dialogue(CRISIS)}, headers)
    assert (status, text_of(body)) == (200, "You matter. Call 112.")


async def test_permitted_client_may_switch_the_emergency_judge_off_with_the_filter(start: Start) -> None:
    """On loopback `off` is the study's other arm, in which no judge runs."""
    proxy = await start()
    assert text_of(await proxy.say(CRISIS, headers={"X-CAF-Filter": "off"})) == "Hello."
