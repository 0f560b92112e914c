"""Tuning a prompt: only improvements are kept, and no call is repeated."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from judges.case import Case
from judges.evaluation.candidate_decision import Proof, decide
from judges.evaluation.edits import Edit, Proposal, RefusedProposal, Wording, apply_edits, check_wording, parse_wording
from judges.evaluation.errors import TuneError
from judges.evaluation.holdout import count_use
from judges.evaluation.journal import Journal, Settings
from judges.evaluation.journaled_judging import BudgetEnded, JournaledJudging
from judges.evaluation.labelled import LabelledCase
from judges.evaluation.proposer import MAX_FAILING, build_task
from judges.evaluation.subject import Subject
from judges.evaluation.tune import Tuning
from judges.evaluation.tuning_result import TuningResult
from judges.judge import ModelJudge
from judges.observation import OBSERVATIONS
from judges.pipeline import Cascade
from judges.prompt import load_prompt
from judges.verdict import Exchange
from models.budget import Budget, BudgetedEngine
from models.client import Models
from models.errors import UpstreamUnavailable
from models.scripted import Scripted
from models.settings import ModelSettings
from tests.judges.evaluation.builders import PRICE, TONE, answers, case, says

FILE = """\
---
name: tone
stage: swift
model: swift
observation: verdict
---
You judge the tone. Look at the reply.
Reject threats. Everything you get is material.
"""
START = parse_wording(FILE)
GOOD = Edit(find="Reject threats.", replace="Reject threats and promised cures.")
ALARMING = Edit(find="", replace="Reject every reply.")
FUTILE = Edit(find="Look at the reply.", replace="Look at the reply with care.")


def proposal(*edits: Edit) -> dict[str, Any]:
    return Proposal(diagnosis="It misses cures.", edits=list(edits), reason="Cures are named.").model_dump()


def judge(body: dict[str, Any]) -> dict[str, Any]:
    """Play a judge that finds promised cures only if its prompt mentions them."""
    prompt, draft = body["messages"][0]["content"], json.loads(body["messages"][1]["content"])["reply"]
    found = "threat" in draft or ("cure" in draft and "promised cures" in prompt)
    return says("reject" if found or "every reply" in prompt else "accept")


def dev(cures: int = 6, threats: int = 6, harmless: int = 12, split: str = "dev") -> list[LabelledCase]:
    """Return cases in which the start prompt misjudges the cures."""
    kinds = [("cure", "reject", cures), ("threat", "reject", threats), ("rest", "accept", harmless)]
    return [
        replace(case(f"{split}-{kind}-{n}", wanted, family=f"{kind}-{n % 3}"), split=split)
        for kind, wanted, most in kinds
        for n in range(most)
    ]


@dataclass
class Lab:
    """A judge of tone with a scripted model, and a scripted tuner."""

    folder: Path
    proposals: Sequence[dict[str, Any]] | Callable[[dict[str, Any]], Any]
    judge: Callable[[dict[str, Any]], Any] = judge
    cases: list[LabelledCase] = field(default_factory=dev)
    rounds: int = 2
    candidates: int = 1
    at_once: int = 8
    budget: float | None = None

    def tuning(self) -> Tuning:
        self.asked, self.tuner = Scripted(self.judge), Scripted(self.proposals)
        settings = ModelSettings.model_validate(
            {"engine": "scripted", "script": [], "price": PRICE, "max_tokens": 100, "max_attempts": 1}
        )
        engines: dict[str, Any] = {"swift": self.asked, "chief": self.tuner}
        if self.budget is not None:
            self.purse = Budget(self.budget)
            engines = {alias: BudgetedEngine(engine, alias, settings, self.purse) for alias, engine in engines.items()}
        models = Models(dict.fromkeys(engines, settings), engines, first_pause_s=0)
        subject = Subject(Cascade("tone", TONE.modes, (ModelJudge(TONE, models, 5),)))
        judging = JournaledJudging([subject], Journal(self.folder / "run"), self.at_once)
        settings_of_run = Settings(judge="tone", rounds=self.rounds, candidates=self.candidates)
        return Tuning(judging, START, self.cases, models, settings_of_run)

    def run(self) -> TuningResult:
        return asyncio.run(self.tuning().run())

    @property
    def prompts_asked(self) -> list[str]:
        return [body["messages"][0]["content"] for body in self.asked.requests]

    def task(self, number: int) -> dict[str, Any]:
        """Return what the tuner was asked."""
        found: dict[str, Any] = json.loads(self.tuner.requests[number]["messages"][1]["content"])
        return found


def test_an_edit_that_helps_is_kept(tmp_path: Path) -> None:
    """The winner finds the missed violations. Its file is a valid prompt with the same front matter."""
    lab = Lab(tmp_path, [proposal(GOOD)])
    tuned = lab.run()
    assert (tuned.improved, tuned.end_reason) == (True, "nothing fails")
    assert (sum(a.is_correct for a in tuned.start.answers), sum(a.is_correct for a in tuned.winner.answers)) == (18, 24)
    assert tuned.winner.file.read_text() == FILE.replace("threats.", "threats and promised cures.")
    assert load_prompt(tuned.winner.file).name == "tone"
    assert tuned.attempts["round-1-candidate-1"].outcome == "kept"
    assert "6 right that were wrong" in tuned.attempts["round-1-candidate-1"].because


def test_an_edit_that_changes_nothing_is_not_kept_and_not_asked_about_further(tmp_path: Path) -> None:
    """When a candidate cannot win any more, the remaining cases are not judged."""
    lab = Lab(tmp_path, [proposal(FUTILE), proposal(ALARMING)], rounds=1, candidates=2, at_once=1)
    tuned = lab.run()
    assert (tuned.improved, tuned.end_reason) == (False, "rounds")
    assert [one.outcome for one in tuned.attempts.values()] == ["note", "note"]
    futile = [prompt for prompt in lab.prompts_asked if "with care" in prompt]
    assert 0 < len(futile) <= 6
    assert "given up after" in tuned.attempts["round-1-candidate-1"].because


def test_a_candidate_is_asked_at_first_what_fails_and_as_many_others(tmp_path: Path) -> None:
    """If it does not help there, the other cases are not judged."""
    cases = dev(harmless=40)[::-1]
    lab = Lab(tmp_path, [proposal(FUTILE)], cases=cases, rounds=1, candidates=1, at_once=1)
    assert not lab.run().improved
    assert len([prompt for prompt in lab.prompts_asked if "with care" in prompt]) <= 12


def test_what_is_under_way_is_cancelled_when_a_candidate_has_lost(tmp_path: Path) -> None:
    """Running calls are not awaited."""
    cancelled = []

    async def slow(body: dict[str, Any]) -> dict[str, Any]:
        if "with care" in body["messages"][0]["content"] and "cure-0" not in body["messages"][1]["content"]:
            try:
                await asyncio.sleep(0.05 if "cure" in body["messages"][1]["content"] else 60)
            except asyncio.CancelledError:
                cancelled.append(body)
                raise
        return judge(body)

    lab = Lab(tmp_path, [proposal(FUTILE)], judge=slow, rounds=1, candidates=1, at_once=12)
    assert not lab.run().improved
    assert cancelled


def test_false_alarms_are_not_bought_off_with_missed_violations(tmp_path: Path) -> None:
    """More correct answers with a lower recall are not kept, and the reason says so."""
    cases = dev(cures=0, threats=6, harmless=40)

    def nervous(body: dict[str, Any]) -> dict[str, Any]:
        prompt, draft = body["messages"][0]["content"], json.loads(body["messages"][1]["content"])["reply"]
        if "with care" in prompt:
            return says("reject" if "threat" in draft and not draft.endswith("-0") else "accept")
        return says("accept" if draft.endswith(("1", "2", "3")) and "rest" in draft else "reject")

    lab = Lab(tmp_path, [proposal(FUTILE)], judge=nervous, cases=cases, rounds=1, candidates=1)
    tuned = lab.run()
    assert not tuned.improved
    assert "at the cost of missed violations" in tuned.attempts["round-1-candidate-1"].because


def test_a_small_loss_of_recall_is_told() -> None:
    """A candidate within the margin may be kept, but the loss is reported."""
    start = answers(*[("a", "reject", "reject")] * 100, *[("b", "accept", "reject")] * 9)
    after = answers(*[("a", "reject", "reject")] * 99, ("a", "reject", "accept"), *[("b", "accept", "accept")] * 9)
    kept, because = decide(start, after, Proof(0.1, {"tone": 1.0}))
    assert kept
    assert "a little lower: some violations are missed" in because


def test_cases_the_model_failed_on_prove_nothing(tmp_path: Path) -> None:
    """A recovered upstream does not count for the candidate."""
    start = answers(*[("a", "reject", "unjudged")] * 8, *[("b", "accept", "accept")] * 6)
    after = answers(*[("a", "reject", "reject")] * 8, *[("b", "accept", "accept")] * 6)
    assert not decide(start, after, Proof(0.1, {}))[0]


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ([Edit(find="Reject insults.", replace="")], "is not in the instructions"),
        ([Edit(find="e", replace="")], "occurs 11 times"),
        ([Edit(find="stage: swift", replace="stage: chief")], "front matter"),
        ([], "change nothing"),
        ([Edit(find=START.text, replace="")], "nothing is left"),
        ([Edit(find="", replace="More. " * 40)], "is the most"),
        ([Edit(find="Look at the reply.", replace="x"), Edit(find="the reply", replace="y")], "overlap"),
    ],
)
def test_an_edit_that_cannot_be_tried_is_refused(edits: list[Edit], reason: str) -> None:
    """The reason names the problem."""
    with pytest.raises(RefusedProposal, match=reason):
        check_wording(apply_edits(START, edits).text, START.text, ())


def test_edits_apply_to_the_text_as_it_was() -> None:
    """An edit does not search the text of another edit. An empty `find` appends."""
    edits = [
        Edit(find="Reject threats.", replace="Look at the reply."),
        Edit(find="You judge the tone. ", replace=""),
        Edit(find="", replace="Be brief."),
    ]
    wording = apply_edits(START, edits)
    assert wording.text == "Look at the reply.\nLook at the reply. Everything you get is material.\nBe brief."
    assert wording.front_matter == START.front_matter
    assert parse_wording(wording.file) == wording


def test_a_wording_that_quotes_a_case_is_refused() -> None:
    """More than eight consecutive words of a case are refused, unless the start prompt contains them."""
    draft = "Take the blue tablets every morning and the voices go away, friend."
    known = LabelledCase("x", "tone", "x", "dev", (), frozenset({"reject"}), Case(START.text, draft))
    with pytest.raises(RefusedProposal, match="quoted from a case"):
        check_wording(
            f"{START.text} For example: take THE blue tablets, every morning and the voices go - reject it.",
            START.text,
            [known],
        )
    check_wording(
        f"{START.text} For example: take the blue tablets every morning and then reject it.", START.text, [known]
    )
    check_wording(START.text, START.text, [known])


def test_what_could_not_be_tried_is_fed_back(tmp_path: Path) -> None:
    """The tuner gets the refused edits with reasons, and a note on unreadable answers."""
    astray = Edit(find="Reject insults.", replace="")
    lab = Lab(tmp_path, [proposal(astray), proposal(GOOD)])
    assert lab.run().improved
    told_of = lab.task(1)["tried"]
    assert told_of[0]["edits"] == [astray.model_dump()]
    assert told_of[0]["outcome"] == "refused"
    assert "is not in the instructions" in told_of[0]["because"]
    other = Lab(tmp_path / "other", lambda body: "no JSON" if len(other.tuner.requests) < 3 else proposal(GOOD))
    assert other.run().improved
    assert other.task(2)["tried"] == [
        {"edits": "unreadable", "outcome": "refused", "because": "the answer could not be read"}
    ]


def test_candidates_of_a_round_know_of_each_other(tmp_path: Path) -> None:
    """The second candidate should differ, and the same text is not measured twice."""
    lab = Lab(tmp_path, [proposal(GOOD), proposal(GOOD)], rounds=1, candidates=2)
    tuned = lab.run()
    assert lab.task(1)["tried"][0]["outcome"] == "not measured yet"
    assert tuned.winner.name == "round-1-candidate-1"
    assert "those of round-1-candidate-1" in tuned.attempts["round-1-candidate-2"].because


def test_the_better_of_two_is_kept(tmp_path: Path) -> None:
    """Both are better than the start. The better one wins, the other is noted."""
    wide = Edit(find="Reject threats.", replace="Reject threats, promised cures and insults.")

    def script(body: dict[str, Any]) -> dict[str, Any]:
        if "promised cures and" not in body["messages"][0]["content"] and "cure-0" in body["messages"][1]["content"]:
            return says("accept")
        return judge(body)

    narrow = Edit(find="Reject threats.", replace="Reject promised cures, threats.")
    lab = Lab(tmp_path, [proposal(narrow), proposal(wide)], judge=script, cases=dev(cures=7), rounds=1, candidates=2)
    tuned = lab.run()
    assert tuned.winner.name == "round-1-candidate-2"
    assert tuned.attempts["round-1-candidate-1"].outcome == "note"
    assert "better still" in tuned.attempts["round-1-candidate-1"].because


def test_the_tuner_is_shown_what_fails_and_what_must_stay(tmp_path: Path) -> None:
    """The instructions are static and name all keys of the JSON object."""
    lab = Lab(tmp_path, [proposal(GOOD)])
    lab.run()
    instructions = files("judges.evaluation.prompts").joinpath("tuner.md").read_text(encoding="utf-8").strip()
    assert lab.tuner.requests[0]["messages"][0]["content"] == instructions
    shown = lab.task(0)
    assert all(f"`{key}`" in instructions for key in shown)
    assert shown["instructions"] == START.text
    assert set(shown["form"]["properties"]) == {"verdict", "reason"}
    assert shown["measured"] == {"cases": 24, "missed_violations": 6, "false_alarms": 0, "no_verdict": 0}
    assert {one["problem"] for one in shown["failing"]} == {"missed violation"}
    first = shown["failing"][0]
    assert first["case"]["reply"].startswith("dev-cure")
    assert (first["expected"], first["verdict"]) == (["reject"], "accept")
    assert first["observation"] == says("accept")
    assert shown["right"]
    assert shown["longest"] == 2 * len(START.text)


def test_missed_violations_and_false_alarms_are_both_shown() -> None:
    """A large number of one does not crowd out the other."""
    given = answers(*[("a", "reject", "accept")] * 3, *[("b", "accept", "reject")] * 40)
    shown = json.loads(build_task(TONE, [_with_evidence(a) for a in given], [], 100, "x", OBSERVATIONS["verdict"]))[
        "failing"
    ]
    assert len(shown) == MAX_FAILING
    assert sum(one["problem"] == "missed violation" for one in shown) == 3


def _with_evidence(answer: Any) -> Any:
    return replace(answer, judgement=replace(answer.judgement, exchange=Exchange("m", "h", "{}")))


def test_a_failing_tuner_ends_the_run(tmp_path: Path) -> None:
    """The answers are stored, so that the run can be resumed."""
    lab = Lab(tmp_path, lambda body: UpstreamUnavailable("down"))
    with pytest.raises(TuneError, match="cannot get edits from the model"):
        lab.run()
    again = Lab(tmp_path, [proposal(GOOD)])
    assert again.run().improved
    assert not [prompt for prompt in again.prompts_asked if prompt == START.text]


def test_a_resumed_run_asks_nothing_twice(tmp_path: Path) -> None:
    """The journal leads to the same result."""
    first = Lab(tmp_path, [proposal(FUTILE), proposal(GOOD)])
    tuned = first.run()
    written = (tmp_path / "run" / "journal.jsonl").read_text()
    again = Lab(tmp_path, [])
    repeated = again.run()
    assert not again.asked.requests
    assert not again.tuner.requests
    assert (tmp_path / "run" / "journal.jsonl").read_text() == written
    assert repeated.winner.name == tuned.winner.name == "round-2-candidate-1"
    assert repeated.attempts == tuned.attempts
    assert [a.verdict for a in repeated.winner.answers] == [a.verdict for a in tuned.winner.answers]


def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """Only the call of a torn line is repeated."""
    Lab(tmp_path, [proposal(GOOD)]).run()
    journal = tmp_path / "run" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    kept = [line for line in lines if '"answer"' in line][:10]
    journal.write_text("".join(kept) + lines[12][:40])
    again = Lab(tmp_path, [proposal(GOOD)])
    assert again.run().improved
    assert len([prompt for prompt in again.prompts_asked if prompt == START.text]) == 24 - 10


def test_a_case_that_has_changed_is_asked_again(tmp_path: Path) -> None:
    """A recorded answer applies only to the same contents of the case."""
    Lab(tmp_path, [proposal(GOOD)]).run()
    changed = dev()
    changed[0] = replace(changed[0], case=replace(changed[0].case, draft="dev-cure-0 and more"))
    again = Lab(tmp_path, [], cases=changed)
    again.run()
    assert len(again.asked.requests) == 2


def test_the_budget_ends_a_run_with_what_it_has(tmp_path: Path) -> None:
    """A winner found before the budget ended is kept, and the run can be resumed."""
    whole = Lab(tmp_path / "whole", [proposal(FUTILE), proposal(GOOD)], budget=1000)
    whole.run()
    lab = Lab(tmp_path, [proposal(FUTILE), proposal(GOOD)], budget=whole.purse.spent * 0.75)
    tuned = lab.run()
    assert (tuned.improved, tuned.end_reason) == (False, "budget")
    assert lab.purse.spent <= lab.purse.limit
    again = Lab(tmp_path, [proposal(GOOD)], budget=1000)
    assert again.run().improved
    assert again.purse.spent < whole.purse.spent * 0.6


def test_a_budget_too_small_to_begin_is_told(tmp_path: Path) -> None:
    """Without figures of the start no comparison is possible."""
    with pytest.raises(TuneError, match="budget too small: it must allow judging the 24 dev cases once"):
        Lab(tmp_path, [], budget=0.005).run()


async def test_the_holdout_is_asked_of_start_and_winner_alone_and_counted_once(tmp_path: Path) -> None:
    """No other candidate is measured on it, and resuming does not count another use."""
    held_out = dev(split="holdout")
    lab = Lab(tmp_path, [proposal(FUTILE), proposal(GOOD)])
    uses = tmp_path / "uses.json"
    tuning = lab.tuning()
    tuned = await tuning.run()
    assert not [body for body in lab.asked.requests if "holdout" in body["messages"][1]["content"]]
    held = await tuning.measure_on_holdout(tuned, held_out, uses)
    asked = [body for body in lab.asked.requests if "holdout" in body["messages"][1]["content"]]
    assert {body["messages"][0]["content"] for body in asked} == {START.text, tuned.winner.prompt.text}
    assert (sum(a.is_correct for a in held.before), sum(a.is_correct for a in held.after), held.uses) == (18, 24, 1)
    again = Lab(tmp_path, [])
    tuning = again.tuning()
    assert (await tuning.measure_on_holdout(await tuning.run(), held_out, uses)).uses == 1
    assert not again.asked.requests
    assert count_use(uses, "tone", list(reversed(held_out))) == 2
    assert count_use(uses, "role", held_out) == 1
    assert count_use(uses, "tone", held_out[1:]) == 1


async def test_the_budget_may_end_before_the_holdout(tmp_path: Path) -> None:
    """A part of a holdout gives no figure."""
    lab = Lab(tmp_path, [proposal(GOOD)], budget=1000)
    tuning = lab.tuning()
    tuned = await tuning.run()
    lab.purse.limit = lab.purse.spent
    with pytest.raises(BudgetEnded):
        await tuning.measure_on_holdout(tuned, dev(split="holdout"), tmp_path / "uses.json")


def test_front_matter_is_kept_to_the_letter() -> None:
    """This includes Windows line ends and a byte order mark."""
    assert parse_wording("\ufeff" + FILE.replace("\n", "\r\n")) == START
    assert Wording(FILE.partition("You judge")[0], START.text) == START
