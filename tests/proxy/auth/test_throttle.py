"""How often an address may fail to send a valid key."""

import pytest

from proxy.auth import throttle
from proxy.auth.throttle import Throttle


@pytest.mark.parametrize("address", ["10.0.0.1", "2001:db8::1", "::ffff:10.0.0.1", "no address", None])
def test_it_may_fail_so_often_in_a_minute(address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is to stay away until its minute is over, and begins anew."""
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    counted = Throttle(3)
    assert [counted.count_failure(address) for _ in range(4)] == [0, 0, 0, 60]
    now += 45
    assert counted.count_failure(address) == 15
    now += 15
    assert [counted.count_failure(address) for _ in range(4)] == [0, 0, 0, 60]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
    ],
)
def test_addresses_of_one_client_count_together(one: str, other: str, same: bool) -> None:
    """A network has 64 bits of an IPv6 address to itself, and would else have as many tries as it likes."""
    counted = Throttle(1)
    counted.count_failure(one)
    assert (counted.count_failure(other) > 0) is same


def test_it_remembers_so_many_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """More take the places of those that have been counted longest; an address that fails again keeps its own."""
    monkeypatch.setattr(throttle, "MAX_ADDRESSES", 3)
    counted = Throttle(1)
    for address in ("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.2", "10.0.0.4"):
        counted.count_failure(address)
    assert counted.count_failure("10.0.0.2") > 0
    assert counted.count_failure("10.0.0.1") == 0
