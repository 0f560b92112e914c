"""The local stages of a chatbot's judges calibrated together: on which cases, with what behind them, and which thresholds hold."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any

from judges.evaluation.calibrate import Calibration, as_data, calibrate
from judges.evaluation.case_choice import Choice
from judges.evaluation.configured_judges import ConfiguredJudges
from judges.evaluation.errors import EvaluationError
from judges.evaluation.labelled import LabelledCase, label_cases
from judges.evaluation.report import percent
from judges.evaluation.run_cases import Answer, ShowProgress, judge_cases
from judges.evaluation.subject import Spec, Subject
from judges.evaluation.traced_turn import labelled_turns
from judges.evaluation.traffic import Route, Traffic, sum_up_traffic
from judges.judge import LocalJudge
from judges.verdict import Stage
from judges.weights import weights_id
from proxy.config.blueprint import JudgePlan
from proxy.config.threshold_writer import Threshold
from proxy.traces.backend import trace_backend


@dataclass(frozen=True, slots=True)
class CalibrationCases:
    """What to calibrate on."""

    cases: list[LabelledCase]
    source: str
    """Where they are from, in words."""
    left_out: list[str]
    """Labelled traces that could not be used, and why."""


@dataclass(frozen=True, slots=True)
class TeamCalibration:
    """What calibrating came to, by judge."""

    calibrations: dict[str, Calibration]
    routes: dict[str, Route]

    @property
    def traffic(self) -> Traffic | None:
        """What whole replies take with these thresholds."""
        return sum_up_traffic(list(self.routes.values()))

    def as_data(self, source: str) -> dict[str, Any]:
        """Return it as one object for programs."""
        judges = {
            name: data
            | {
                "weights": weights_id(name),
                "reaches": {stage: asdict(share) for stage, share in self.routes[name].reach_shares().items()},
            }
            for name, data in as_data(self.calibrations).items()
        }
        team = self.traffic
        return {"data": source, "judges": judges, "turn": asdict(team) if team else None}

    def rejected(self, force: bool) -> dict[str, list[str]]:
        """Return the judges whose threshold is not to be written, and why; forced, only those that have none."""
        return {
            name: one.faults
            for name, one in self.calibrations.items()
            if one.accept_below is None or (one.faults and not force)
        }

    def thresholds(self, judges: Sequence[str], source: str, day: date, force: bool) -> list[Threshold]:
        """Return the thresholds that are to be written.

        Args:
            judges: The names of the chatbot's judges, in the order of the configuration.
        """
        rejected = self.rejected(force)
        return [
            Threshold(judges.index(name), name, one.accept_below, weights_id(name), describe_evidence(one, source, day))
            for name, one in self.calibrations.items()
            if name not in rejected and one.accept_below is not None
        ]

    def unscreened(self, judge: str) -> float | None:
        """Return the share of harmless cases that the local stage flags, if no further stage checks them; None: one does."""
        measured = self.calibrations[judge].measured
        if self.routes[judge].stages or measured is None:
            return None
        return 1 - (measured.settled_harmless.value or 0)


def split_by_local_stage(configured: ConfiguredJudges, choice: Choice) -> tuple[list[str], list[str]]:
    """Return the judges that have a local stage, and those that have none.

    Raises:
        EvaluationError: One that was named has none, or all have none.
    """
    plans = [configured.plan(name) for name in configured.chosen_judges(choice)]
    names = [plan.name for plan in plans if "local" in plan.stages]
    without = [plan.name for plan in plans if "local" not in plan.stages]
    if choice.judges and without:
        raise EvaluationError(
            *(f"{name}: has no local stage; add `stages: [local, ...]` in the configuration" for name in without)
        )
    if not names:
        raise EvaluationError("no judge has a local stage; add `stages: [local, swift, chief]` in the configuration")
    return names, without


def read_cases(configured: ConfiguredJudges, choice: Choice, traces: bool) -> CalibrationCases:
    """Read the cases to calibrate on: scenarios, labelled turns, or both.

    Raises:
        EvaluationError: There are none.
        ScenarioError: Scenarios cannot be read or used.
        TraceError: The traces are not there or not readable.
    """
    names = " + ".join(path.name for path in choice.data) or "the shipped scenarios"
    source = f"{names} ({choice.effective_split})"
    if not traces:
        return CalibrationCases(configured.cases(choice), source, [])
    read, left_out = labelled_turns(trace_backend(configured.config.privacy), configured.blueprint)
    turns = label_cases(read, choice.judges, configured.scenario_defaults)
    turn_source = f"{len({case.id for case in turns})} labelled turns"
    if choice.data:
        return CalibrationCases([*configured.cases(choice), *turns], f"{source} + {turn_source}", left_out)
    if not turns:
        raise EvaluationError(
            *left_out, f"no turn of {configured.blueprint.name} is labelled for these judges; see `caf trace label`"
        )
    return CalibrationCases(turns, turn_source, left_out)


async def calibrate_team(
    configured: ConfiguredJudges,
    cases: Sequence[LabelledCase],
    held_out: Sequence[LabelledCase],
    recall: float,
    *,
    with_models: bool,
    at_once: int,
    show_progress: ShowProgress,
) -> TeamCalibration:
    """Choose the threshold of each judge that has cases.

    Args:
        held_out: Cases of other families, to test the thresholds on.
        recall: The recall to keep, 0 to 1.
        with_models: Ask the stages behind as well, each about what reaches it.
        show_progress: Shows the progress of judging.
    """
    calibrations, routes = {}, {}
    for name in dict.fromkeys(case.judge for case in cases):
        plan = configured.plan(name)
        # Without the threshold that may be set already: its verdicts would hide those of the rules.
        screen = replace(plan.open(configured.models), stages=(LocalJudge(name),))
        screening = {name: Subject(screen)}
        local = await judge_cases(screening, [case for case in cases if case.judge == name])
        test = await judge_cases(screening, [case for case in held_out if case.judge == name])
        calibrations[name] = calibration = calibrate(name, local, recall, test)
        route = Route(
            name,
            plan.accept_below if calibration.faults or calibration.accept_below is None else calibration.accept_below,
            local,
            tuple(stage for stage in plan.stages if stage != "local"),
            "local" in screen.reject_alone,
            shares_calls=bool(plan.together),
        )
        answers = await _judge_stages(configured, plan, route, at_once, show_progress) if with_models else {}
        routes[name] = replace(route, answers=answers)
    return TeamCalibration(calibrations, routes)


async def _judge_stages(
    configured: ConfiguredJudges, plan: JudgePlan, route: Route, at_once: int, show_progress: ShowProgress
) -> Mapping[Stage, list[Answer]]:
    """Judge, with each model stage, the cases that reach it."""
    cascade = plan.open(configured.models)
    reaching = [answer.example for answer in route.local if route.escalates(answer)]
    answers: dict[Stage, list[Answer]] = {}
    for stage in route.stages:
        subject = configured.subject(Spec(stage=stage), plan.name)
        with show_progress(len(reaching), f"{plan.name} {stage}") as on_answer:
            answers[stage] = await judge_cases({plan.name: subject}, reaching, at_once=at_once, on_answer=on_answer)
        reaching = [
            a.example for a in answers[stage] if not a.skipped and not cascade.settles(a.judgement, a.example.case)
        ]
    return answers


def describe_evidence(calibration: Calibration, source: str, day: date) -> str:
    """Describe in a line how a threshold was chosen."""
    assert calibration.measured is not None
    cross = f", cross-validated {percent(calibration.cross_validated.recall)}" if calibration.cross_validated else ""
    tested = (
        f", held out {percent(calibration.tested.recall)} of {calibration.tested.recall.n}"
        if calibration.tested
        else ""
    )
    return (
        f"{day}, for recall {calibration.target:g}: {percent(calibration.measured.recall)} "
        f"of {calibration.violating} violating{cross}{tested}; settles "
        f"{calibration.measured.settled_harmless.value or 0:.0%} of {calibration.harmless} harmless, "
        f"{calibration.measured.settled.value or 0:.0%} of all; {source}"
    )
