"""`caf judges eval`: measured, resumed, within a budget, and told in every form."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Caf, Ended
from tests.cli.upstream import COST, Upstream, lay_out, serving, write_prompt

EVAL = ("judges", "eval", "--data", "cases.yaml", "--stage", "swift", "--judge", "tone")
RIGHT = {"r1": "reject", "r3": "warn", "r5": "reject"}


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[Upstream]:
    with serving() as one:
        lay_out(tmp_path, one.address)
        one.verdicts = dict(RIGHT)
        yield one


def data(ended: Ended) -> dict:
    assert ended.err == ""
    return json.loads(ended.out)


# Figures


def test_figures_and_misjudged_cases_are_printed(caf: Caf, upstream: Upstream) -> None:
    """What somebody wants to see first: how good it is, and where it is wrong."""
    upstream.verdicts |= {"r1": "accept", "r2": "warn"}
    ended = caf(*EVAL)
    assert ended.code == 0
    line = next(line for line in ended.out.splitlines() if line.startswith("tone "))
    assert line.split()[:5] == ["tone", "3+3", ".67", ".67", ".67"]
    assert "misjudged (2)" in ended.out
    assert "tone  c1  reject -> accept (swift, 0.00)" in ended.out
    assert "tone  c2  accept -> warn (swift, 0.50)\n    sounds like warn" in ended.out


def test_json_has_exactly_this_shape(inside: Caf, upstream: Upstream) -> None:
    """One object, and nothing else on standard output."""
    found = data(inside(*EVAL, "--json"))
    assert set(found) == {"judges", "cases"}
    assert set(found["judges"]) == {"tone"}
    tone = found["judges"]["tone"]
    assert (tone["n"], tone["recall"], tone["specificity"], tone["precision"], tone["roc_auc"]) == (6, 1, 1, 1, 1)
    assert (tone["unjudged"], tone["cost_per_case"]) == (0, pytest.approx(COST))
    assert tone["ms_p50"] > 0
    assert [(c["id"], c["judge"], c["expected"], c["verdict"], c["score"]) for c in found["cases"]][:2] == [
        ("c0", "tone", "accept", "accept", 0), ("c1", "tone", "reject", "reject", 1),
    ]  # fmt: skip
    assert found["cases"][3] | {"ms": 0} == {
        "id": "c3", "judge": "tone", "family": "f", "expected": "reject", "verdict": "warn", "score": 0.5, "stage": "swift",
        "repeat": 0, "skipped": False, "reason": "sounds like warn", "ms": 0,
    }  # fmt: skip


def test_page_is_written(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """And said where, beside the figures."""
    upstream.verdicts["r1"] = "accept"
    ended = inside(*EVAL, "--html", "page.html")
    assert (ended.code, ended.err) == (0, "wrote page.html\n")
    page = (tmp_path / "page.html").read_text()
    assert "<title>Judges: swift</title>" in page
    assert ">c1</span>" in page


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("gone/page.html", "gone/page.html: cannot be written: No such file or directory"),
        ("taken", "taken: cannot be written: Is a directory"),
        ("cases.yaml/page.html", "cases.yaml/page.html: cannot be written: Not a directory"),
    ],
)
def test_page_that_cannot_be_written_is_told_before_anything_is_asked(
    inside: Caf, upstream: Upstream, tmp_path: Path, path: str, said: str
) -> None:
    """Answers cost money, and figures that are not shown are lost."""
    (tmp_path / "taken").mkdir()
    before = sorted(tmp_path.rglob("*"))
    ended = inside(*EVAL, "--html", path)
    assert (ended.code, ended.out, ended.err) == (2, "", f"caf: {said}\n")
    assert upstream.requests == []
    assert sorted(tmp_path.rglob("*")) == before


def test_page_that_is_there_stays_until_there_is_a_new_one(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """Looking whether it can be written writes nothing."""
    (tmp_path / "page.html").write_text("mine")
    assert inside(*EVAL, "--html", "page.html", "--tag", "t9").code == 2
    assert (tmp_path / "page.html").read_text() == "mine"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_unjudged_counts_against_recall_and_specificity(inside: Caf, upstream: Upstream) -> None:
    """A model that answers nonsense is no good judge of anything."""
    upstream.raw = "I would rather not say."
    tone = data(inside(*EVAL, "--json"))["judges"]["tone"]
    assert (tone["recall"], tone["specificity"], tone["unjudged"], tone["skipped"]) == (0, 0, 6, 0)
    assert len(upstream.requests) == 12  # each with a repair round


def test_configured_cascade_of_the_shipped_scenarios_is_the_default(inside: Caf) -> None:
    """`caf judges eval` alone measures what `make serve` serves, on the dev split, without key or network."""
    found = data(inside("judges", "eval", "--json", "--limit", "20"))
    assert set(found["judges"]) == {"emergency", "source_fidelity", "transparency", "role"}
    assert {one["n"] for one in found["judges"].values()} == {20}
    assert all(set(one["stages"]) == {"local"} for one in found["judges"].values())


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (["--tag", "t0", "--tag", "t1"], ["c0", "c1", "c3", "c4"]),
        (["--split", "dev", "--family", "f", "--limit", "1"], ["c0"]),
    ],
)
def test_cases_can_be_chosen(inside: Caf, upstream: Upstream, options: list[str], ids: list[str]) -> None:
    """By tag, family, split and number."""
    assert [c["id"] for c in data(inside(*EVAL, *options, "--json"))["cases"]] == ids


def test_choice_that_fits_nothing_is_wrong_usage(inside: Caf, upstream: Upstream) -> None:
    """Rather than a table of dashes."""
    for options in (["--tag", "t9"], ["--split", "holdout"], ["--family", "g"]):
        ended = inside(*EVAL, *options)
        assert ended.code == 2
        assert "no case matches" in ended.err


# Rows of somebody's own


def test_rows_with_only_response_and_sources_are_judged_and_listed(inside: Caf, tmp_path: Path) -> None:
    """No label, no figure: what the judge made of each is what was wanted."""
    (tmp_path / "rows.jsonl").write_text(
        '{"response": "Adults need eight hours of sleep.", "sources": "Adults need eight hours of sleep."}\n'
        '{"response": "Bananas cure insomnia within 3 days.", "sources": ["Adults need eight hours of sleep."]}\n'
    )
    options = ("judges", "eval", "--data", "rows.jsonl", "--stage", "local", "--judge", "source_fidelity")
    ended = inside(*options)
    assert ended.code == 0
    first, second = ended.out.splitlines()
    assert first.startswith("source_fidelity  rows-1  accept  0.")
    assert second.startswith("source_fidelity  rows-2  reject  ")
    found = data(inside(*options, "--json"))
    assert found["judges"]["source_fidelity"]["n"] == 0
    assert [(c["expected"], c["verdict"]) for c in found["cases"]] == [(None, "accept"), (None, "reject")]


def test_rows_with_expectations_are_measured(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """Beside rows without any, which are listed."""
    (tmp_path / "cases.yaml").rename(tmp_path / "old.yaml")
    (tmp_path / "rows.jsonl").write_text(
        '{"response": "r1", "expect": {"tone": ["warn", "reject"]}}\n{"response": "r2", "expect": {"tone": "accept"}}\n'
        '{"id": "mine", "response": "r5"}\n'
    )
    ended = inside(
        "judges", "eval", "--data", "rows.jsonl", "--stage", "swift", "--judge", "tone", "--answers", "a.jsonl"
    )
    assert "tone   1+1" in ended.out
    assert ended.out.endswith("tone  mine  reject  1.00\n")


def test_bad_rows_are_refused_by_line_and_field(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """All of them, before anything is asked."""
    (tmp_path / "rows.jsonl").write_text('{"response": "x"}\n{"response": 5}\n{"respnse": "x", "response": "y"}\nno\n')
    ended = inside("judges", "eval", "--data", "rows.jsonl", "--stage", "swift", "--judge", "tone")
    assert ended.code == 2
    assert ended.err.splitlines() == [
        "caf: rows.jsonl:2: response: invalid value 5: expected a text",
        "caf: rows.jsonl:3: respnse: is not a known key; did you mean 'response'?",
        "caf: rows.jsonl:4: invalid JSON at column 1: Expecting value",
    ]
    assert upstream.requests == []


def test_faults_of_scenarios_are_told_with_file_id_and_field(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """Those of the file and those that only the knowledge base shows."""
    path = tmp_path / "cases.yaml"
    path.write_text(path.read_text().replace("id: c0,", "id: c0, citations: [gone],"))
    ended = inside(*EVAL)
    assert ended.code == 2
    assert ended.err.startswith("caf: cases.yaml: c0: citations: no section 'gone' in the knowledge base; ")
    path.write_text(path.read_text().replace("tone: reject", "tone: bad"))
    ended = inside(*EVAL)
    assert [line.split(": ")[1:4] for line in ended.err.splitlines()] == [
        ["cases.yaml", f"c{n}", "expect.tone"] for n in (1, 3, 5)
    ]


def test_expectations_for_a_judge_that_nobody_has_are_told(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """They would count for nobody, unnoticed. Judges of other chatbots, and built-in ones that none has, are known."""
    config = tmp_path / "config.yaml"
    text = config.read_text()
    config.write_text(
        f"{text}  other:\n    model: bot\n    role: Answers.\n    refiner: null\n    emergency: {{contact: Call 112.}}\n"
        "    judges: [manners.md]\n"
    )
    write_prompt(tmp_path / "manners.md", name="manners")
    path = tmp_path / "cases.yaml"
    path.write_text(path.read_text().replace("{tone: reject}", "{tone: reject, manners: warn, transparency: warn}"))
    assert inside(*EVAL).code == 0
    upstream.requests.clear()
    path.write_text(path.read_text().replace("manners", "maners"))
    ended = inside(*EVAL, "--fresh")
    assert (ended.code, ended.out, upstream.requests) == (2, "", [])
    assert ended.err == (
        "caf: cases.yaml: c1: expect.maners: unknown judge "
        "(configured or built in: source_fidelity, transparency, role, emergency, tone, manners); "
        "did you mean 'manners'?; in 3 scenarios\n"
    )


# What is held out


def uses(folder: Path) -> dict[str, list[int]]:
    file = folder / "data" / "holdout-uses.json"
    return (
        {judge: [*counts.values()] for judge, counts in json.loads(file.read_text()).items()} if file.exists() else {}
    )


@pytest.fixture
def held(upstream: Upstream, tmp_path: Path) -> None:
    """Hold out c4 and c5 of the six cases, in a family of their own."""
    first, rest = (tmp_path / "cases.yaml").read_text().split("  - {id: c4", 1)
    (tmp_path / "cases.yaml").write_text(first)
    (tmp_path / "held.yaml").write_text(f"family: h\nsplit: holdout\nscenarios:\n  - {{id: c4{rest}")


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize(
    "options",
    [
        ["--split", "holdout"],
        ["--split", "all"],
        [],
        ["--fresh"],
        ["--tag", "t2"],
        ["--limit", "1", "--family", "h"],
        ["--json"],
    ],
    ids=" ".join,
)
def test_every_run_that_reads_held_out_cases_is_counted(
    inside: Caf, upstream: Upstream, tmp_path: Path, options: list[str]
) -> None:
    """However they came in, also where only some of them did; the same holdout has one count, told in one line."""
    given = (*EVAL, "--data", "held.yaml")
    for count, times in ((1, "1 time"), (2, "2 times")):
        ended = inside(*given, *options)
        assert ended.code == 0
        assert ended.err == (
            f"this holdout has been used {times} for tone; each further use makes its figure more optimistic\n"
        )
        assert uses(tmp_path) == {"tone": [count]}
    assert inside(*given).code == 0
    assert uses(tmp_path) == {"tone": [3]}


@pytest.mark.usefixtures("held")
def test_dev_cases_are_no_look_at_the_holdout(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """Neither are held-out ones that nobody has labelled: they have no figure."""
    (tmp_path / "rows.jsonl").write_text('{"response": "r1", "split": "holdout"}\n')
    for options in ([], ["--data", "held.yaml", "--split", "dev"], ["--data", "rows.jsonl"]):
        ended = inside(*EVAL, *options)
        assert (ended.code, ended.err) == (0, "")
    assert uses(tmp_path) == {}


def test_local_judges_are_counted_too(inside: Caf, tmp_path: Path) -> None:
    """They have thresholds and weights, which are chosen as well. All judges of a run are told in the one line."""
    ended = inside("judges", "eval", "--stage", "local", "--split", "holdout", "--limit", "1")
    assert ended.code == 0
    assert ended.err.startswith(
        "this holdout has been used 1 time for emergency, 1 time for source_fidelity, 1 time for "
    )
    assert ended.err.count("\n") == 1
    assert uses(tmp_path) == {name: [1] for name in ("emergency", "role", "source_fidelity", "transparency")}


@pytest.mark.usefixtures("held")
def test_a_look_that_cannot_be_counted_is_none(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """Nothing is asked, so nothing is seen."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "holdout-uses.json").write_text("[]")
    ended = inside(*EVAL, "--data", "held.yaml")
    assert (ended.code, ended.out, upstream.requests) == (2, "", [])
    assert ended.err == (
        "caf: data/holdout-uses.json: invalid file of holdout uses; correct or remove the file; the file is in the folder of the "
        "file that --answers names\n"
    )


# What is kept


def test_second_run_asks_nothing(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """The answers are kept, and the figures come out the same; --fresh asks anyway and keeps nothing."""
    first = data(inside(*EVAL, "--json"))
    assert len(upstream.requests) == 6
    second = data(inside(*EVAL, "--json"))
    assert len(upstream.requests) == 6
    assert second["judges"]["tone"]["ms_p50"] is None
    assert [c | {"ms": None} for c in first["cases"]] == second["cases"]
    kept = (tmp_path / "data" / "judge-answers.jsonl").read_bytes()
    assert data(inside(*EVAL, "--json", "--fresh"))["judges"]["tone"]["ms_p50"] > 0
    assert len(upstream.requests) == 12
    assert (tmp_path / "data" / "judge-answers.jsonl").read_bytes() == kept


def test_prompt_with_a_model_that_no_judge_is_configured_for_is_kept_too(inside: Caf, upstream: Upstream) -> None:
    """What decides is who is asked, not what the configuration asks by itself."""
    for _ in range(2):
        assert inside(*EVAL, "--model", "other").code == 0
    assert {r["model"] for r in upstream.requests} == {"other"}
    assert len(upstream.requests) == 6


def test_killed_run_resumes_without_asking_a_recorded_answer_again(
    inside: Caf, upstream: Upstream, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Killed while the fourth answer is on its way, the last line torn: the next run asks for what is missing."""
    upstream.hang_after = 3
    process = subprocess.Popen(
        [*COMMAND, *EVAL, "--concurrency", "1"], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 30
    while len(upstream.requests) < 4 and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    file = tmp_path / "data" / "judge-answers.jsonl"
    assert len(file.read_text().splitlines()) == 3
    file.write_bytes(file.read_bytes()[:-30])

    upstream.hang_after = None
    upstream.requests.clear()
    assert data(inside(*EVAL, "--json"))["judges"]["tone"]["recall"] == 1
    assert [json.loads(r["messages"][1]["content"])["reply"] for r in upstream.requests] == ["r2", "r3", "r4", "r5"]
    assert inside(*EVAL).code == 0
    assert len(upstream.requests) == 4


def test_repeats_ask_again_and_report_flips(inside: Caf, upstream: Upstream) -> None:
    """Three answers to each case; one judge of two minds shows."""
    tone = data(inside(*EVAL, "--repeats", "2", "--json"))["judges"]["tone"]
    assert (len(upstream.requests), tone["n"], tone["flips"]) == (12, 12, 0)
    upstream.verdicts["r1"] = "accept"
    tone = data(inside(*EVAL, "--repeats", "3", "--json"))["judges"]["tone"]
    assert (len(upstream.requests), tone["n"]) == (18, 18)
    assert tone["flips"] == pytest.approx(1 / 6)


# Within bounds


@pytest.mark.parametrize("concurrency", [1, 6])
def test_budget_ends_the_asking_before_it_is_passed(inside: Caf, upstream: Upstream, concurrency: int) -> None:
    """Also with many cases at once; what was not asked is said, and the rest is measured and kept."""
    ended = inside(*EVAL, "--budget", 4 * COST, "--concurrency", concurrency, "--json")
    asked = len(upstream.requests)
    assert ended.code == 1
    assert 0 < asked < 6
    assert asked * COST <= 4 * COST
    assert ended.err == f"tone: {6 - asked} cases were not asked, because of the budget\n"
    found = json.loads(ended.out)
    assert found["judges"]["tone"]["cost"] == pytest.approx(asked * COST)
    assert (found["judges"]["tone"]["n"], found["judges"]["tone"]["skipped"]) == (asked, 6 - asked)
    assert inside(*EVAL, "--budget", 1).code == 0
    assert len(upstream.requests) == 6


def test_budget_is_not_passed_by_repair_rounds(inside: Caf, upstream: Upstream) -> None:
    """Each case may take two calls; both are paid from it."""
    upstream.raw = "no JSON"
    assert inside(*EVAL, "--budget", 5 * COST).code == 1
    assert 0 < len(upstream.requests) <= 5


def test_budget_needs_prices(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """Of the models that would be asked, and of no others; nothing is asked without."""
    config = tmp_path / "config.yaml"
    lay_out(tmp_path, upstream.address, models="timeout_s: 9")
    ended = inside(*EVAL, "--budget", 1)
    assert ended.code == 2
    assert ended.err.startswith("caf: config.yaml: models.swift: has no `price`, so a budget cannot be enforced")
    assert upstream.requests == []
    priced = config.read_text().replace("timeout_s: 9}", "price: {input: 1, output: 10}}", 1)
    config.write_text(priced)
    assert inside(*EVAL, "--budget", 1).code == 0


@pytest.mark.parametrize(
    ("bounds", "code", "said"),
    [
        (["recall=0.6", "specificity=1", "roc_auc=0.5", "precision=1"], 0, ""),
        (["recall=0.7"], 1, "tone: recall is 0.667, below 0.7\n"),
        (["recall=0.7", "roc_auc=0.9"], 1, "tone: recall is 0.667, below 0.7\ntone: roc_auc is 0.833, below 0.9\n"),
        (["recal=0.7"], 2, "caf: --fail-under: 'recal=0.7': expected recall"),
        (["recall"], 2, "caf: --fail-under: 'recall': expected recall"),
        (["recall=95"], 2, "caf: --fail-under: 'recall=95': expected recall"),
        (["recall=nan"], 2, "caf: --fail-under: 'recall=nan': expected recall"),
    ],
)
def test_fail_under_sets_the_exit_code(
    inside: Caf, upstream: Upstream, bounds: list[str], code: int, said: str
) -> None:
    """So that a pipeline stops when a judge has got worse."""
    upstream.verdicts["r1"] = "accept"
    ended = inside(*EVAL, *(part for bound in bounds for part in ("--fail-under", bound)))
    assert ended.code == code
    assert ended.err.startswith(said)
    assert bool(ended.err) == bool(said)


def test_bound_on_what_cannot_be_measured_is_not_kept(inside: Caf, upstream: Upstream) -> None:
    """Without a violating case there is no recall that could be high enough."""
    ended = inside(*EVAL, "--limit", 1, "--fail-under", "recall=0")
    assert (ended.code, ended.err) == (1, "tone: recall is undefined (no cases), below 0\n")


# Which judge


def test_prompt_of_another_judge_is_refused(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """Its answers would be held against labels that mean something else."""
    write_prompt(tmp_path / "manners.md", name="manners")
    ended = inside("judges", "eval", "--data", "cases.yaml", "--judge", "tone", "--prompt", "manners.md")
    assert ended.code == 2
    assert ended.err == "caf: manners.md: the prompt belongs to the judge 'manners', not to 'tone'\n"
    ended = inside("judges", "eval", "--data", "cases.yaml", "--prompt", "manners.md")
    assert (ended.code, ended.err) == (2, "caf: the chatbot 'bot' has no judge 'manners' (configured: tone, role)\n")
    assert upstream.requests == []


def test_prompt_says_which_judge_it_is_for(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """Nobody need say it again; its text is what is read."""
    write_prompt(tmp_path / "new.md", model="other", text="Be kind.")
    found = data(inside("judges", "eval", "--data", "cases.yaml", "--prompt", "new.md", "--json"))
    assert set(found["judges"]) == {"tone"}
    assert {(r["model"], r["messages"][0]["content"]) for r in upstream.requests} == {("other", "Be kind.")}


TONE_IN_PYTHON = """\
from judges.verdict import Finding
class Tone:
    name = "tone"
    async def judge(self, case):
        return Finding("reject", reason="an odd one") if case.draft in ("r1", "r3") else Finding("accept")
"""


@pytest.mark.usefixtures("imports_of_its_own")
@pytest.mark.parametrize("stage", [[], ["--stage", "swift"]], ids=str)
def test_a_judge_in_python_is_measured(inside: Caf, upstream: Upstream, tmp_path: Path, stage: list[str]) -> None:
    """As its cascade, which is what is measured unless told, and as the stage that it is; it costs nothing."""
    (tmp_path / "tone_rules.py").write_text(TONE_IN_PYTHON)
    config = tmp_path / "config.yaml"
    config.write_text(
        config.read_text().replace("{prompts: [tone.swift.md, tone.chief.md]}", '{python: "tone_rules:Tone"}')
    )
    found = data(inside("judges", "eval", "--data", "cases.yaml", "--judge", "tone", "--json", *stage))
    assert (found["judges"]["tone"]["n"], found["judges"]["tone"]["recall"]) == (6, pytest.approx(2 / 3))
    assert found["judges"]["tone"]["specificity"] == 1
    assert upstream.requests == []
    ended = inside("judges", "eval", "--data", "cases.yaml", "--judge", "tone", "--stage", "chief")
    expected = "caf: tone: the judge has no prompt for the stage chief (stages with a prompt: none)\n"
    assert (ended.code, ended.err) == (2, expected)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--judge", "tune"], "the chatbot 'bot' has no judge 'tune' (configured: tone, role)"),
        (["--judge", "tone", "--stage", "local"], "tone: only built-in judges have a local stage"),
        (["--judge", "tone", "--stage", "swift", "--model", "gpt"], "tone: swift@gpt: no model alias 'gpt'"),
        (
            ["--judge", "tone", "--stage", "cascade", "--model", "other"],
            "--model: the stage cascade does not read one prompt",
        ),
        (["--prompt", "gone.md"], "gone.md: cannot read the judge's prompt"),
        (["--chatbot", "nobody"], "unknown chatbot 'nobody' (expected one of bot)"),
        (["--judge", "tone", "--data", "gone.jsonl"], "gone.jsonl: cannot be read"),
        (["--judge", "tone", "--answers", "config.yaml/a"], "cannot open the answer cache 'config.yaml/a'"),
    ],
    ids=str,
)
def test_wrong_usage_is_told_before_anything_is_asked(
    inside: Caf, upstream: Upstream, options: list[str], said: str
) -> None:
    """With what there is instead."""
    ended = inside("judges", "eval", *([] if "--data" in options else ["--data", "cases.yaml"]), *options)
    assert ended.code == 2
    assert said in ended.err
    assert upstream.requests == []
