"""Many observations at once."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from proxy.telemetry.histogram import BatchHistogram

BOUNDS = (0.25, 0.5, 1, 4)
AMOUNTS = st.lists(st.sampled_from((-1.0, 0.0, 0.125, *map(float, BOUNDS), 2.0, 64.0)))


@given(st.lists(AMOUNTS))
def test_many_at_once_count_as_one_by_one(batches: list[list[float]]) -> None:
    """The same is exposed, whether amounts stand between the bounds of buckets or on them."""
    one, other = CollectorRegistry(), CollectorRegistry()
    singly = Histogram("seconds", "Time.", buckets=BOUNDS, registry=one)
    together = BatchHistogram("seconds", "Time.", buckets=BOUNDS, registry=other)
    for batch in batches:
        together.observe_all(batch)
        for amount in batch:
            singly.observe(amount)
    assert text(one) == text(other)


def text(registry: CollectorRegistry) -> list[str]:
    """Return what is exposed, but for when it was made."""
    return [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]
