"""Numbers that somebody else keeps."""

from prometheus_client import Gauge

from proxy.telemetry.external_metric import ExternalMetric


def test_what_was_lost_before_a_change_of_configuration_stays_counted() -> None:
    """Also what the old part of the program loses while it ends beside the new one; one that never served counts nothing."""
    gauge = Gauge("lost", "Lost.", registry=None)
    reading = ExternalMetric(gauge)
    kept = {"old": 3.0, "new": 0.0, "refused": 9.0}
    old, new, refused = (lambda name=name: kept[name] for name in kept)

    def shown() -> float:
        reading.refresh()
        return float(gauge.collect()[0].samples[0].value)

    reading.follow(old)
    assert shown() == 3
    reading.leave(refused)
    reading.follow(new)
    kept.update(old=4, new=2)
    assert shown() == 6
    reading.leave(old)
    kept.update(old=100, new=3)
    assert shown() == 7
