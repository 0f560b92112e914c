"""`caf judges calibrate`: thresholds chosen, shown, and written into a configuration that is otherwise left alone."""

import asyncio
import json
import math
import time
from datetime import date
from pathlib import Path

import pytest
import yaml

from judges.case import Case
from judges.evaluation.case_choice import Choice
from judges.evaluation.configured_judges import open_judges
from judges.evaluation.labelled import LabelledCase, ScenarioDefaults
from judges.evaluation.team_calibration import read_cases
from judges.judge import LocalJudge
from judges.weights import weights_id
from knowledge_base.library import Source
from proxy.config.blueprint import assemble
from proxy.config.config import load_config
from proxy.traces.labels import Label, add
from proxy.traces.store import TraceStore
from proxy.traces.trace import Attempt, Trace
from tests.cli.conftest import Caf
from tests.proxy.conftest import claims, screening

CONFIG = """\
# Ours.
models:
  m: {engine: scripted,   # answers nothing
      script: []}
  fast: {engine: scripted, price: {input: 1, output: 1}, script: fast.yaml}
  slow: {engine: scripted, price: {input: 10, output: 10}, script: slow.yaml}

chatbots:
  info:
    model: m
    role: An information service about sleep.
    refiner: local
    emergency: {contact: "Call 112."}
    judges:
    -   {name: source_fidelity, stages: [local]}   # the fidelity judge

    # next
    - name: transparency   # as it came
      stages: [local,   # first
               swift, chief]
      prompts: [swift.md, chief.md]
    - tone.md
"""
PROMPT = """\
---
name: {name}
stage: {stage}
model: {model}
observation: {observation}
---
Judge.
"""
SOURCE = "Most adults need seven to nine hours of sleep. A fixed bedtime often helps. Coffee in the evening can keep you awake."
HELD, NEAR, INVENTED = (
    "A fixed bedtime often helps.",
    "Going to bed at a fixed time helps many people.",
    "Take 300 mg of zinc every morning to cure the voices.",
)
"""The local judges score each of these higher than the one before."""


def score_of(judge: str, text: str = INVENTED) -> float:
    """Return what the local judge makes of a reply, cut after four digits: their scores change as they learn."""
    case = Case(
        "How can I sleep?",
        text,
        cited=(Source("source-1", "source-1", "", SOURCE),),
        role="An information service about sleep.",
    )
    score = LocalJudge(judge).judge_now(case).score
    assert score is not None
    return math.floor(round(score * 10_000, 6)) / 10_000


def test_the_cases_of_these_tests_can_be_told_apart() -> None:
    """What follows rests on it."""
    for judge in ("source_fidelity", "transparency"):
        assert score_of(judge, HELD) < score_of(judge, NEAR) < score_of(judge, INVENTED)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration with scripted models, and cases that the local judges can tell apart."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    prompts = {
        "swift": ("transparency", "swift", "fast", "verdict"),
        "chief": ("transparency", "chief", "slow", "verdict"),
        "tone": ("tone", "swift", "fast", "verdict"),
    }
    for file, fields in prompts.items():
        names = dict(zip(("name", "stage", "model", "observation"), fields, strict=True))
        (tmp_path / f"{file}.md").write_text(PROMPT.format(**names))
    no, yes = ({"verdict": verdict, "reason": "scripted"} for verdict in ("reject", "accept"))
    (tmp_path / "fast.yaml").write_text(yaml.safe_dump([{"when": "zinc", "reply": no}, {"reply": yes}]))
    (tmp_path / "slow.yaml").write_text(yaml.safe_dump([{"reply": no}]))
    write_cases(tmp_path / "cases.jsonl", 25)
    return tmp_path


def write_cases(path: Path, families: int, *, split: str = "dev", name: str = "f", violating: str = INVENTED) -> None:
    rows = [
        {"family": f"{name}{n}", "id": f"{name}{n}-{k}", "split": split, "user_message": "How can I sleep?", "response": text,
         "sources": SOURCE, "expect": {"source_fidelity": verdict, "transparency": verdict}}
        for n in range(families)
        for k, (text, verdict) in enumerate([(violating, "reject"), (HELD, "accept"), (NEAR, "accept")])
    ]  # fmt: skip
    path.write_text("\n".join(json.dumps(row) for row in rows))


def written(judge: str) -> str:
    """Return what is written of a judge whose threshold is its score of what is invented."""
    return f'accept_below: {{score: {score_of(judge)!r}, weights: "{weights_id(judge)}"}}'


def accepts_below(folder: Path) -> list[float | None]:
    plans = assemble(load_config(folder / "config.yaml"))["info"].plans
    return [plan.accept_below for plan in plans]


def test_thresholds_are_chosen_and_shown(inside: Caf, folder: Path) -> None:
    """With recall, its interval, the cross-validated one, and what the screen settles."""
    ended = inside("judges", "calibrate", "--data", "cases.jsonl")
    assert ended.code == 0, ended.err
    for said in (
        f"accept_below {score_of('transparency'):g}",
        "25 violating + 50 harmless",
        "cross-validated",
        "1.00 (1.00-1.00)",
        "reaches swift: .33",
    ):
        assert said in ended.out
    assert "tone: has no local stage" in ended.err
    assert (folder / "config.yaml").read_text() == CONFIG


def test_the_outcome_can_be_had_as_json(inside: Caf, folder: Path) -> None:
    """Everything that the table says, and the curve."""
    report = json.loads(inside("judges", "calibrate", "--data", "cases.jsonl", "--json").out)
    one = report["judges"]["transparency"]
    assert (one["accept_below"], one["violating"], one["harmless"], one["faults"]) == (
        score_of("transparency"),
        25,
        50,
        [],
    )
    assert one["measured"]["recall"] == one["cross_validated"]["recall"] == 1.0
    assert one["measured"]["settled"] == pytest.approx(2 / 3)
    assert one["reaches"]["swift"]["value"] == pytest.approx(1 / 3)
    assert one["curve"][0] == [0.0, 1.0, 0.0]
    assert report["turn"]["needs_model"]["value"] == pytest.approx(1 / 3)
    assert report["turn"]["calls"] == pytest.approx(1 / 3)
    assert report["turn"]["cost"] is None


def test_the_model_stages_are_asked_what_reaches_them(inside: Caf, folder: Path) -> None:
    """Their shares, the price of a turn, and the whole cascade, measured."""
    report = json.loads(inside("judges", "calibrate", "--data", "cases.jsonl", "--ask", "--json", "--budget", "5").out)
    one = report["judges"]["transparency"]
    assert one["reaches"]["swift"]["value"] == one["reaches"]["chief"]["value"] == pytest.approx(1 / 3)
    assert report["turn"]["calls"] == pytest.approx(2 / 3)
    assert report["turn"]["cost"] > 0
    assert report["turn"]["ms_mean"] > 0
    again = inside("judges", "calibrate", "--data", "cases.jsonl", "--ask")
    assert "unknown: answers were remembered" in again.out
    assert "whole cascade: recall 1.00" in again.out


def test_a_call_that_judges_share_is_counted_once(inside: Caf, folder: Path) -> None:
    """Both built-in judges pass on the same third of the replies, for which the proxy asks each model once."""
    shared = "".join(
        f"    - {{name: {name}, stages: [local, swift, chief]}}\n" for name in ("source_fidelity", "transparency")
    )
    models, _, _ = CONFIG.partition("    -   {name: source_fidelity")
    (folder / "config.yaml").write_text(models.replace("fast:", "swift:").replace("slow:", "chief:") + shared)
    (folder / "fast.yaml").write_text(yaml.safe_dump([{"reply": screening(("beyond", "300 mg of zinc", 3))}]))
    invented = {"text": INVENTED, "support": "unsupported", "source_id": None, "quote": None, "topic": None}
    (folder / "slow.yaml").write_text(yaml.safe_dump([{"reply": claims(invented)}]))
    supposed = json.loads(inside("judges", "calibrate", "--data", "cases.jsonl", "--json").out)
    assert supposed["turn"]["calls"] == pytest.approx(1 / 3)
    report = json.loads(inside("judges", "calibrate", "--data", "cases.jsonl", "--ask", "--json").out)
    assert report["turn"]["judges"] == ["source_fidelity", "transparency"]
    assert report["turn"]["needs_model"]["value"] == pytest.approx(1 / 3)
    assert report["turn"]["calls"] == pytest.approx(2 / 3)


def test_a_spent_budget_is_said(inside: Caf, folder: Path) -> None:
    """What was not asked is in no share, and the exit code tells."""
    ended = inside("judges", "calibrate", "--data", "cases.jsonl", "--ask", "--budget", "0")
    assert ended.code == 1
    assert "25 questions were not asked" in ended.err


def test_held_out_families_test_what_was_chosen_on_the_others(inside: Caf, folder: Path) -> None:
    """Their violations score lower here: the thresholds miss them, and that is told."""
    write_cases(folder / "held.jsonl", 3, split="holdout", name="h", violating=NEAR)
    cases = ["--data", "cases.jsonl", "--data", "held.jsonl"]
    report = json.loads(inside("judges", "calibrate", *cases, "--test", "holdout", "--json").out)
    one = report["judges"]["transparency"]
    assert one["violating"] == 25
    assert (one["accept_below"], one["weights"]) == (score_of("transparency"), weights_id("transparency"))
    assert (one["tested"]["recall"], one["tested"]["recall_n"]) == (0.0, 3)
    refused = inside("judges", "calibrate", *cases, "--split", "all", "--test", "holdout")
    assert refused.code == 2
    assert "--test: holdout is no test of thresholds chosen on --split all" in refused.err


def test_what_is_written_round_trips_with_comments_and_evidence(inside: Caf, folder: Path) -> None:
    """Nothing else changes: not a comment, not a space. The evidence stands above the value."""
    ended = inside("judges", "calibrate", "--data", "cases.jsonl", "--write")
    assert ended.code == 0, ended.err
    assert accepts_below(folder) == [score_of("source_fidelity"), score_of("transparency"), None]
    text = (folder / "config.yaml").read_text()
    lines = text.split("\n")
    evidence = [line for line in lines if "# accept_below of " in line]
    assert len(evidence) == 2
    for part in (
        f"{date.today()}",
        "for recall 0.97: 1.00 (1.00-1.00) of 25 violating",
        "settles 100% of 50 harmless",
        "67% of all",
        "cases.jsonl",
    ):
        assert part in evidence[1]
    faithful, open_about = (written(judge) for judge in ("source_fidelity", "transparency"))
    assert lines[lines.index(evidence[1]) + 1] == f"      {open_about}"
    assert f"    -   {{name: source_fidelity, stages: [local], {faithful}}}   # the fidelity judge" in lines
    left = "\n".join(line for line in lines if line not in evidence and line != f"      {open_about}")
    assert left.replace(f", {faithful}", "") == CONFIG
    assert "source_fidelity: nobody stands behind its local stage" in ended.err


def test_calibrating_again_replaces_the_evidence(inside: Caf, folder: Path) -> None:
    """One threshold has one reason."""
    inside("judges", "calibrate", "--data", "cases.jsonl", "--write")
    first = (folder / "config.yaml").read_text()
    write_cases(folder / "more.jsonl", 30, name="m")
    ended = inside("judges", "calibrate", "--data", "more.jsonl", "--recall", "0.9", "--write")
    assert ended.code == 0, ended.err
    text = (folder / "config.yaml").read_text()
    assert text.count("# accept_below of transparency: ") == text.count("# accept_below of source_fidelity: ") == 1
    assert "of 30 violating" in text
    assert "of 25 violating" not in text
    assert len(text.split("\n")) == len(first.split("\n"))


def test_too_few_cases_are_not_written_unless_forced(inside: Caf, folder: Path) -> None:
    """One case in ten would move the recall by a tenth."""
    write_cases(folder / "few.jsonl", 10)
    ended = inside("judges", "calibrate", "--data", "few.jsonl", "--write")
    assert ended.code == 1
    assert (
        "transparency: not written: 10 violating cases are too few to rely on, 20 are the least; --force" in ended.err
    )
    assert (folder / "config.yaml").read_text() == CONFIG
    assert inside("judges", "calibrate", "--data", "few.jsonl", "--write", "--force").code == 0
    assert accepts_below(folder) == [score_of("source_fidelity"), score_of("transparency"), None]


def test_what_nothing_separates_is_not_written(inside: Caf, folder: Path) -> None:
    """Violations that score 0 leave no threshold."""
    write_cases(folder / "same.jsonl", 25, violating=HELD)
    ended = inside("judges", "calibrate", "--data", "same.jsonl", "--write")
    assert ended.code == 1
    assert "nothing separates the classes" in ended.err
    assert (folder / "config.yaml").read_text() == CONFIG


def test_the_page_shows_a_curve_for_each_judge(inside: Caf, folder: Path) -> None:
    """One file without scripts or addresses."""
    ended = inside("judges", "calibrate", "--data", "cases.jsonl", "--html", "page.html")
    assert ended.code == 0, ended.err
    page = (folder / "page.html").read_text()
    assert page.count("<svg") == 2
    assert 'id="transparency"' in page
    assert page.count('<th scope="col">accept_below</th>') == 2  # the numbers of each curve
    assert "<script" not in page
    assert "http" not in page


def test_a_page_that_cannot_be_written_is_told_first(inside: Caf, folder: Path) -> None:
    """Before a model is asked, or a threshold written."""
    given = ("judges", "calibrate", "--data", "cases.jsonl", "--ask", "--write")
    ended = inside(*given, "--html", "gone/page.html")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "caf: gone/page.html: cannot be written: No such file or directory\n"
    assert (folder / "config.yaml").read_text() == CONFIG
    assert not (folder / "data").exists()


def test_looks_at_held_out_families_are_counted(inside: Caf, folder: Path) -> None:
    """Whether they test the thresholds or choose them; those chosen on dev look at none."""
    write_cases(folder / "held.jsonl", 3, split="holdout", name="h")
    cases = ("judges", "calibrate", "--data", "cases.jsonl", "--data", "held.jsonl")
    told = "caf: this holdout has been used {0} for source_fidelity, {0} for transparency; each further use makes its figure"
    assert "holdout" not in inside(*cases, "--split", "dev").err
    assert told.format("1 time") in inside(*cases, "--test", "holdout").err
    assert told.format("2 times") in inside(*cases, "--split", "all", "--fresh").err
    assert told.format("3 times") in inside(*cases, "--split", "holdout", "--json").err


def test_labelled_traces_get_what_the_chatbot_lends_to_scenarios(folder: Path) -> None:
    """A turn is judged by the same role and sensitive topics, whether it comes from a file or from a trace."""
    text = CONFIG.replace(
        "    refiner: local", "    sensitive_topics: [{name: zinc, terms: [zinc]}]\n    refiner: local"
    )
    (folder / "config.yaml").write_text(text.replace("models:", f"privacy: {{path: {folder}/traces.db}}\nmodels:"))
    draft = Attempt("draft", 0, INVENTED, [], 1.0, modes=["default"])
    store = TraceStore(folder / "traces.db", "full", 30)
    store.start()
    store.record(Trace("0abc", "c", "k", "info", "on", time.time(), user_message="How?", attempts=[draft]))
    store.close()
    add(folder / "traces.db", "0abc", Label("transparency", "reject"))
    choice = Choice([folder / "cases.jsonl"], ["transparency"])

    async def cases() -> tuple[list[LabelledCase], ScenarioDefaults]:
        async with open_judges(folder / "config.yaml", None) as configured:
            return read_cases(configured, choice, traces=True).cases, configured.scenario_defaults

    found, setting = asyncio.run(cases())
    assert {case.family[:5] for case in found if case.id.startswith("trace-")} == {"conve"}
    assert {(case.case.role, case.case.topics) for case in found} == {(setting.role, setting.topics)}
    assert (setting.role, [topic.name for topic in setting.topics]) == ("An information service about sleep.", ["zinc"])


def test_a_judge_without_local_stage_cannot_be_calibrated(inside: Caf, folder: Path) -> None:
    """Asked for by name, that is wrong usage."""
    ended = inside("judges", "calibrate", "--judge", "tone")
    assert ended.code == 2
    assert "tone: has no local stage; add `stages: [local, ...]`" in ended.err


def test_labelled_traces_are_cases(inside: Caf, folder: Path) -> None:
    """What people said of real turns; turns that nobody labelled are none."""
    store = TraceStore(folder / "data" / "traces.db", "full", 30)
    store.start()
    for n, text in enumerate([INVENTED, HELD, HELD]):
        draft = Attempt("draft", 0, text, [], 1.0, modes=["default"])
        trace = Trace(
            f"{n}abc", f"conversation-{n}", "k", "info", "on", time.time() + n, user_message="How?", attempts=[draft]
        )
        store.record(trace)
    store.close()
    nothing = inside("judges", "calibrate", "--traces")
    assert nothing.code == 2
    assert "no turn of info is labelled for these judges" in nothing.err
    for turn, verdict in (("0", "reject"), ("1", "accept")):
        assert inside("trace", "label", turn, "--judge", "transparency", "--verdict", verdict).code == 0
    report = json.loads(inside("judges", "calibrate", "--traces", "--json").out)
    one = report["judges"]["transparency"]
    assert (one["violating"], one["harmless"]) == (1, 1)
    assert report["data"] == "2 labelled turns"
    both = json.loads(inside("judges", "calibrate", "--traces", "--data", "cases.jsonl", "--json").out)
    assert both["judges"]["transparency"]["violating"] == 26
