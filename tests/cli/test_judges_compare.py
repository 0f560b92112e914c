"""`caf judges compare`: two prompts, stages or models on the same cases."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Caf
from tests.cli.upstream import COST, Upstream, lay_out, serving, write_prompt

COMPARE = ("judges", "compare", "--data", "cases.yaml")


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[Upstream]:
    with serving() as one:
        lay_out(tmp_path, one.address)
        one.verdicts = {
            "r1": "reject",
            "swift: r3": "accept", "chief: r3": "warn", "other: r3": "reject",
            "swift: r4": "warn",
            "r5": "accept",
        }  # fmt: skip
        yield one


def test_figures_of_both_and_what_changed_are_printed(inside: Caf, upstream: Upstream) -> None:
    """One line for recall, one for specificity, one for both, and the cases."""
    ended = inside(*COMPARE, "swift", "chief", "--judge", "tone")
    assert (ended.code, ended.err) == (0, "")
    lines = [line.split() for line in ended.out.splitlines()]
    assert ["recall", "3", ".33", ".67", "+.33", "0", "1", "1"] in lines
    assert ["specificity", "3", ".67", "1.00", "+.33", "0", "1", "1"] in lines
    assert ["all", "right", "6", "+.33", "0", "2", "0.5"] in lines
    assert "A is swift, B is chief; differences are B minus A" in ended.out
    assert ended.out.endswith("changed (2)\ntone  c3  reject: accept -> warn\ntone  c4  accept: warn -> accept\n")


def test_outcome_as_json(inside: Caf, upstream: Upstream) -> None:
    """One object, with everything for all cases and for both kinds."""
    ended = inside(*COMPARE, "swift", "chief@other", "--judge", "tone", "--json")
    found = json.loads(ended.out)
    assert (found["first"], found["second"]) == ("swift", "chief@other")
    tone = found["judges"]["tone"]
    assert (tone["first"]["recall"], tone["second"]["recall"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert {part: tone[part]["n"] for part in ("all", "violating", "harmless")} == {
        "all": 6,
        "violating": 3,
        "harmless": 3,
    }
    assert tone["all"] | {"difference": None} == {
        "n": 6, "only_first": 0, "only_second": 2, "difference": None, "difference_interval": None, "p": 0.5,
    }  # fmt: skip
    assert [(c["id"], c["first"], c["second"]) for c in found["changed"]] == [
        ("c3", "accept", "reject"), ("c4", "warn", "accept"),
    ]  # fmt: skip


def test_judge_comes_from_the_prompts(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """One prompt is enough to know, and two must be of the same judge."""
    write_prompt(tmp_path / "new.md", text="Be kind.")
    write_prompt(tmp_path / "manners.md", name="manners")
    assert "\ntone\n" in inside(*COMPARE, "chief", "new.md").out
    ended = inside(*COMPARE, "new.md", "manners.md")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("caf: the prompts belong to different judges: tone, manners")
    ended = inside(*COMPARE, "new.md", "manners.md", "--judge", "tone")
    assert ended.err == "caf: manners.md: the prompt belongs to the judge 'manners', not to 'tone'\n"


def test_same_answers_are_not_given_to_both(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """A prompt compared with itself is asked twice, and both are remembered."""
    assert inside(*COMPARE, "swift", "tone.swift.md", "--judge", "tone").code == 0
    assert len(upstream.requests) == 12
    assert inside(*COMPARE, "swift", "tone.swift.md", "--judge", "tone").code == 0
    assert len(upstream.requests) == 12


def test_eval_and_compare_share_their_answers(inside: Caf, upstream: Upstream) -> None:
    """What was measured once is not paid again to be compared."""
    inside("judges", "eval", "--data", "cases.yaml", "--stage", "swift", "--judge", "tone")
    inside(*COMPARE, "swift", "chief", "--judge", "tone")
    assert [r["model"] for r in upstream.requests] == ["swift"] * 6 + ["chief"] * 6


def test_a_comparison_on_held_out_cases_is_counted_once(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """Both sides are one look, for which `caf judges eval` counts as well."""
    cases = tmp_path / "cases.yaml"
    dev = inside(*COMPARE, "swift", "chief", "--judge", "tone")
    assert (dev.code, dev.err) == (0, "")
    cases.write_text(cases.read_text().replace("family: f\n", "family: f\nsplit: holdout\n"))
    told = "this holdout has been used {} for tone; each further use makes its figure more optimistic\n"
    assert inside(*COMPARE, "swift", "chief", "--judge", "tone").err == told.format("1 time")
    assert inside(*COMPARE, "swift", "chief", "--judge", "tone", "--fresh", "--json").err == told.format("2 times")
    evaluation = ("judges", "eval", "--data", "cases.yaml", "--stage", "swift", "--judge", "tone")
    assert inside(*evaluation).err == told.format("3 times")


def test_budget_is_spent_on_both_alike(inside: Caf, upstream: Upstream) -> None:
    """What one of them answered alone would be no comparison."""
    ended = inside(*COMPARE, "swift", "chief", "--judge", "tone", "--budget", 7 * COST, "--concurrency", 2, "--json")
    assert ended.code == 1
    assert ended.err.endswith("cases were not asked, because of the budget\n")
    assert len(upstream.requests) <= 7
    asked = [r["model"] for r in upstream.requests]
    assert abs(asked.count("swift") - asked.count("chief")) <= 2
    assert json.loads(ended.out)["judges"]["tone"]["all"]["n"] == min(asked.count("swift"), asked.count("chief")) > 0


def test_local_stages_are_compared_without_any_model(inside: Caf) -> None:
    """The shipped judges with themselves, on the shipped scenarios: nothing changes, for any judge."""
    ended = inside("judges", "compare", "local", "cascade", "--limit", "10", "--json")
    found = json.loads(ended.out)
    assert set(found["judges"]) == {"emergency", "source_fidelity", "transparency", "role"}
    assert (found["changed"], {one["all"]["p"] for one in found["judges"].values()}) == ([], {1})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["swift"], "Missing argument 'B'"),
        (["swift", "both"], "invalid subject 'both': expected local, swift, chief, cascade or"),
        (["swift", "gone.md"], "gone.md: cannot read the judge's prompt"),
        (["swift", "local", "--judge", "tone"], "tone: only built-in judges have a local stage"),
        (["swift", "chief@gpt", "--judge", "tone"], "no model alias 'gpt'"),
    ],
    ids=str,
)
def test_wrong_usage_is_told_before_anything_is_asked(
    inside: Caf, upstream: Upstream, arguments: list[str], said: str
) -> None:
    """Exit code 2, and no answer paid for."""
    ended = inside(*COMPARE, *arguments)
    assert ended.code == 2
    assert said in ended.err
    assert upstream.requests == []
