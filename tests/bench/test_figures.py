"""From samples to figures, targets and the table."""

import json
import math
from collections import Counter

import pytest

from bench.figures import TARGETS, Sample, Target, percentile, report, requests_figures, table
from bench.load import Result


def sample(rate: float, cpu_ms: float, failures: int = 0) -> Sample:
    """One round: `rate` requests in a second at 16 connections, each of which took 16/rate seconds."""
    many = Result(1.0, [16 / rate] * int(rate), Counter({"status 500": failures} if failures else {}))
    return Sample(many, cpu_ms, Result(1.0, [0.001] * 10), cpu_ms)


def figures() -> dict[str, float]:
    bare = [sample(1000, 0.1), sample(500, 0.2), sample(900, 0.11)]
    caf = [sample(700, 0.15), sample(350, 0.3), sample(900, 0.12)]
    return requests_figures({"direct": bare, "bare": bare, "passthrough": caf, "off": caf, "on": caf})


def test_ratios_are_those_of_one_round_to_the_same_round():
    """A machine that slows down for a while slows both: the ratio of medians would be 0.78."""
    assert figures()["passthrough_ratio"] == pytest.approx(0.7)
    assert figures()["passthrough_cpu_ratio"] == pytest.approx(1.5)


def test_failures_of_all_rounds_are_summed():
    """One failed request must not vanish in a median."""
    good = sample(100, 1)
    found = requests_figures({"bare": [good] * 3, "on": [good, sample(100, 1, failures=2), good]})
    assert found["on_failures"] == 2


def test_a_dead_reference_gives_no_ratio():
    """Nothing is infinitely better."""
    dead = Sample(Result(1.0), 0.0, Result(1.0), 0.0)
    found = requests_figures({"bare": [dead], "on": [sample(100, 1)]})
    assert math.isnan(found["on_ratio"])


def test_percentile_of_few_values_is_one_of_them():
    """It was measured, rather than a value between two that were."""
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile([3, 1, 2], 0.99) == 3


@pytest.mark.parametrize(("value", "met"), [(0.66, False), (0.67, True), (0.9, True)])
def test_targets_know_their_direction(value, met):
    """A rate must reach its target, a cost must stay below it; the target itself is met either way."""
    target = Target("passthrough_ratio", "", 0.67, least=True)
    assert target.is_met({"passthrough_ratio": value}) is met
    assert Target("passthrough_ratio", "", 0.67).is_met({"passthrough_ratio": value}) is (value <= 0.67)


def test_a_figure_that_could_not_be_measured_has_not_met_its_target():
    """A ratio of nothing to nothing is no success."""
    assert not any(target.is_met({target.figure: math.nan}) for target in TARGETS)


def test_the_table_marks_what_is_met_and_what_is_not():
    """Each figure with a target ends its line with how it stands to it."""
    lines = table(figures() | {"passthrough_ratio": 0.8, "on_cpu_ms": 2.5}).splitlines()
    assert any(line.startswith("pass-through") and line.endswith("  met") for line in lines)
    assert any("CPU of a turn" in line and line.endswith("NOT MET") for line in lines)


def test_the_table_sets_a_turn_beside_its_slowest_path_and_the_sum_of_its_calls():
    """With model judges these are what its time lies between."""
    text = table({"path_50_ms": 154.2, "path_50_slowest_ms": 150, "path_50_sum_ms": 250, "path_50_ratio": 1.03})
    (row,) = [line for line in text.splitlines() if line.startswith("a call takes 50 ms")]
    assert row.split()[-3:] == ["154.200", "150", "250"]
    assert any("at 50 ms" in line and line.endswith("  met") for line in text.splitlines())


def test_the_cpu_of_a_judged_turn_is_held_against_the_bare_one():
    """By the ratio within a round, with its target."""
    bare, judged = [sample(1000, 0.1), sample(500, 0.2)], [sample(300, 0.6), sample(200, 1.2)]
    text = table(requests_figures({"bare": bare, "judged": judged}))
    assert any(line.startswith("CAF, wrapped") and "6.000" in line for line in text.splitlines())
    assert any("judged turn" in line and line.endswith("NOT MET") for line in text.splitlines())


def test_the_table_leaves_out_what_was_not_measured():
    """A run of some parts prints their lines alone."""
    assert table({"start_s": 0.5}).count("\n") == 1
    assert table({}) == ""


def test_a_missed_target_is_the_exit_code(tmp_path):
    """Zero faults is right, and nothing else; the figures are kept either way."""
    target = Target("cross_talk", "conversations in which something did not belong", 0)
    assert report({"cross_talk": 0}, [target], tmp_path / "figures.json") == 0
    assert report({"cross_talk": 1}, [target], tmp_path / "figures.json") == 1
    assert json.loads((tmp_path / "figures.json").read_text()) == {"cross_talk": 1}
