"""The circuit breaker, with a fake clock."""

import pytest

from models.breaker import Breaker
from models.errors import (
    CircuitOpen,
    OutOfTime,
    Overloaded,
    UpstreamBusy,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from models.settings import BreakerSettings

OUTAGES = [UpstreamUnavailable(status=503), UpstreamTimeout(), UpstreamGarbled()]


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def breaker(clock):
    return Breaker("judge", BreakerSettings(failures=3, open_s=10), clock)


def fail(breaker, times=1, error=OUTAGES[0]):
    for _ in range(times):
        breaker.record_end(breaker.admit(), error)


@pytest.mark.parametrize("error", OUTAGES)
def test_it_opens_after_so_many_failures_in_a_row(breaker, error):
    """The breaker opens at exactly the configured number of failures. The error has the remaining time."""
    fail(breaker, 2, error)
    assert breaker.admit() is False
    fail(breaker, 1, error)
    with pytest.raises(CircuitOpen) as raised:
        breaker.admit()
    assert raised.value.retry_after == 10
    assert (breaker.open, breaker.refused_calls) == (True, 1)


@pytest.mark.parametrize("answer", [None, UpstreamRefused(400), UpstreamRefused(401), UpstreamBusy(5)])
def test_any_answer_shows_that_it_lives(breaker, answer):
    """A success, a refusal or a rate limit resets the count."""
    fail(breaker, 2)
    breaker.record_end(breaker.admit(), answer)
    fail(breaker, 2)
    assert not breaker.open


@pytest.mark.parametrize("nothing", [OutOfTime(), Overloaded(), KeyboardInterrupt()])
def test_what_says_nothing_about_the_upstream_is_not_counted(breaker, nothing):
    """A turn without time and a cancelled call are neither failures nor successes of the upstream."""
    fail(breaker, 2)
    breaker.record_end(breaker.admit(), nothing)
    assert breaker.failures == 2


@pytest.mark.parametrize("answer", [None, UpstreamRefused(400), UpstreamBusy()])
def test_one_probe_closes_it(breaker, clock, answer):
    """After the pause, one call is admitted and others still fail. If that call succeeds, all calls are admitted."""
    fail(breaker, 3)
    clock.now = 10
    probe = breaker.admit()
    assert probe
    with pytest.raises(CircuitOpen):
        breaker.admit()
    breaker.record_end(probe, answer)
    assert breaker.admit() is False
    fail(breaker, 2)
    assert not breaker.open


def test_a_probe_that_fails_opens_it_anew(breaker, clock):
    """One failure of the probe opens the breaker for the full time."""
    fail(breaker, 3)
    clock.now = 10
    fail(breaker)
    clock.now = 19
    with pytest.raises(CircuitOpen) as raised:
        breaker.admit()
    assert raised.value.retry_after == 1
    clock.now = 20
    assert breaker.admit()


def test_a_probe_that_is_cancelled_leaves_the_next_call_to_probe(breaker, clock):
    """A cancelled probe gives no information and must not block further probes."""
    fail(breaker, 3)
    clock.now = 10
    breaker.record_end(breaker.admit(), KeyboardInterrupt())
    assert breaker.admit()


@pytest.mark.parametrize("late", [None, OUTAGES[0]])
def test_calls_from_before_it_opened_change_nothing(breaker, clock, late):
    """A late failure does not extend the pause, a late success does not end it, and neither ends a probe."""
    before = [breaker.admit(), breaker.admit()]
    fail(breaker, 3)
    clock.now = 5
    breaker.record_end(before[0], late)
    clock.now = 9
    with pytest.raises(CircuitOpen):
        breaker.admit()
    clock.now = 10
    probe = breaker.admit()
    breaker.record_end(before[1], late)
    with pytest.raises(CircuitOpen):
        breaker.admit()
    breaker.record_end(probe, None)
    assert not breaker.open
