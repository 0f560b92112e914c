"""A Prometheus gauge whose values are read from functions at each scrape."""

from collections.abc import Callable

from prometheus_client import Gauge


class ExternalMetric:
    """A gauge whose values are read from functions at each scrape.

    Replaces `Gauge.set_function`, which prometheus_client does not support with several processes.
    """

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._sources: dict[tuple[str, ...], Callable[[], float]] = {}
        self._followed: list[Callable[[], float]] = []
        self._before = 0.0

    def follow(self, source: Callable[[], float]) -> None:
        """Add the result of a function to the unlabelled value, now and at each later scrape."""
        self._followed.append(source)
        self._sources[()] = lambda: self._before + sum(count() for count in self._followed)

    def leave(self, source: Callable[[], float]) -> None:
        """Stop calling a function of `follow`. Its last result stays part of the value."""
        if source in self._followed:
            self._before += source()
            self._followed.remove(source)

    def read(self, source: Callable[[], float], *labels: str) -> None:
        """Set the value with these labels to the result of a function at each scrape."""
        self._sources[labels] = source

    def forget(self) -> None:
        """Set all values to 0 and remove all functions."""
        for labels in self._sources:
            self._child(labels).set(0)
        self._sources.clear()

    def refresh(self) -> None:
        """Call all functions and set the gauge to their results."""
        for labels, source in self._sources.items():
            self._child(labels).set(source())

    def _child(self, labels: tuple[str, ...]) -> Gauge:
        return self._gauge.labels(*labels) if labels else self._gauge
