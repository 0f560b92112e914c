"""A gauge that reads its values from functions."""

from collections.abc import Callable

from prometheus_client import Gauge


class ExternalMetric:
    """A gauge that is set from functions at each scrape.

    It replaces `Gauge.set_function`, whose values the library leaves out with several processes.
    """

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._sources: dict[tuple[str, ...], Callable[[], float]] = {}
        self._followed: list[Callable[[], float]] = []
        self._before = 0.0

    def follow(self, source: Callable[[], float]) -> None:
        """Add a function's count to the value without labels."""
        self._followed.append(source)
        self._sources[()] = lambda: self._before + sum(count() for count in self._followed)

    def leave(self, source: Callable[[], float]) -> None:
        """Stop following a function; its last count stays in the sum."""
        if source in self._followed:
            self._before += source()
            self._followed.remove(source)

    def read(self, source: Callable[[], float], *labels: str) -> None:
        """Read the value with these labels from a function."""
        self._sources[labels] = source

    def forget(self) -> None:
        """Set all values to 0 and stop reading them."""
        for labels in self._sources:
            self._child(labels).set(0)
        self._sources.clear()

    def refresh(self) -> None:
        """Set the gauge from its functions."""
        for labels, source in self._sources.items():
            self._child(labels).set(source())

    def _child(self, labels: tuple[str, ...]) -> Gauge:
        return self._gauge.labels(*labels) if labels else self._gauge
