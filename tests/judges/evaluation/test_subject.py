"""Subjects of measurements, and their specs."""

from pathlib import Path

import pytest

from judges.evaluation.errors import EvaluationError
from judges.evaluation.subject import Spec, open_subject, parse_spec
from judges.judge import LocalJudge, ModelJudge
from judges.pipeline import Cascade
from models.client import Models
from models.scripted import Scripted
from tests.judges.builders import PROMPTS, prompt, sharing
from tests.judges.evaluation.builders import settings

STAGES = ("swift", "chief")
ALIASES = ("role.swift", "role.chief", "gpt")
SHARED = ("reply.swift", "reply.chief")
MODELS = Models(settings(*ALIASES), {alias: Scripted([]) for alias in ALIASES})
BY_STAGE = {stage: prompt("role", stage) for stage in STAGES}
ROLE = Cascade(
    "role",
    frozenset({"source", "default"}),
    (LocalJudge("role"), *(ModelJudge(BY_STAGE[stage], MODELS, 5) for stage in STAGES)),
)


def opened(text, configured=ROLE, prompts=BY_STAGE):
    return open_subject(parse_spec(text), configured, prompts, MODELS, 7)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("local", Spec("local")),
        ("cascade", Spec("cascade")),
        ("swift", Spec("swift")),
        ("chief@gpt", Spec("chief", alias="gpt")),
        ("my/own.md", Spec(prompt=Path("my/own.md"))),
        ("my/own.md@gpt", Spec(prompt=Path("my/own.md"), alias="gpt")),
    ],
)
def test_spec_says_what_to_measure(text, spec):
    """The text of a parsed spec is unchanged."""
    assert parse_spec(text) == spec
    assert str(spec) == text


@pytest.mark.parametrize("text", ["", "both", "Swift", "own.txt", "@gpt", "local@gpt", "cascade@gpt"])
def test_anything_else_is_refused(text):
    """The message lists the valid specs."""
    with pytest.raises(EvaluationError, match="swift, chief"):
        parse_spec(text)


def test_stage_is_measured_by_itself():
    """The screening stage before it is not run."""
    one = opened("chief")
    (judge,) = one.cascade.stages
    assert (judge.prompt, judge.timeout_s, one.prompts, one.cascade.local_only) == (
        BY_STAGE["chief"],
        7,
        (BY_STAGE["chief"],),
        False,
    )


def test_cascade_is_measured_as_configured():
    """The subject has all stages and their prompts."""
    one = opened("cascade")
    assert one.cascade is ROLE
    assert one.prompts == tuple(BY_STAGE.values())


def test_local_stage_keeps_its_threshold():
    """A built-in judge has a local stage even if it is not configured."""
    assert opened("local").cascade.stages == (LocalJudge("role"),)
    without = Cascade("role", ROLE.modes, ROLE.stages[1:])
    assert opened("local", without).cascade.stages == (LocalJudge("role"),)
    assert opened("local").cascade.local_only


def test_another_model_reads_the_same_prompt():
    """The instructions stay the same."""
    (judge,) = opened("swift@gpt").cascade.stages
    assert (judge.prompt.model, judge.prompt.text) == ("gpt", BY_STAGE["swift"].text)


def test_prompt_of_a_file_is_measured(tmp_path):
    """It replaces the judge's prompt for the stage in its front matter."""
    file = tmp_path / "new.md"
    file.write_text("---\nname: role\nstage: chief\nmodel: gpt\nobservation: role\n---\nJudge the role.\nBe strict.")
    (judge,) = opened(str(file)).cascade.stages
    assert (judge.stage, judge.prompt.model) == ("chief", "gpt")
    assert judge.prompt.text.endswith("Be strict.")


def test_stage_that_judges_share_is_measured_as_it_is_asked():
    """The call asks all configured questions, and the judge's answer counts."""
    fidelity, role = sharing(("source_fidelity", "role"), Scripted([]), Scripted([]))
    models = Models(settings(*SHARED, "gpt"), {alias: Scripted([]) for alias in (*SHARED, "gpt")})
    prompts = {stage: prompt("reply", stage) for stage in STAGES}
    one = open_subject(parse_spec("swift@gpt"), role, prompts, models, 7)
    (judge,) = one.cascade.stages
    assert (judge.name, judge.stage, judge.prompt.model, judge.timeout_s) == ("role", "swift", "gpt", 7)
    assert judge.questions == {"source_fidelity", "role"}
    assert one.prompts == (judge.prompt,)
    assert open_subject(parse_spec("cascade"), fidelity, prompts, models, 7).prompts == (
        prompts["swift"],
        prompts["chief"],
    )


def test_shared_prompt_takes_the_place_of_a_judges_own(tmp_path):
    """The prompt asks only for this judge. The emergency judge shares no prompt."""
    file = tmp_path / "new.md"
    file.write_text((PROMPTS / "reply.swift.md").read_text().replace("model: swift", "model: gpt"))
    (judge,) = opened(str(file)).cascade.stages
    assert (judge.name, judge.questions) == ("role", {"role"})
    with pytest.raises(EvaluationError, match="the prompt belongs to the judge 'reply', not to 'emergency'"):
        opened(str(file), Cascade("emergency", ROLE.modes, ROLE.stages))


def test_prompt_of_another_judge_is_refused():
    """Its answers would be compared with the wrong labels."""
    with pytest.raises(
        EvaluationError, match=r"emergency\.chief\.md: the prompt belongs to the judge 'emergency', not to 'role'"
    ):
        opened(str(PROMPTS / "emergency.chief.md"))


def test_stage_that_a_judge_does_not_have_is_told():
    """A custom judge has no local stage, and may have no chief."""
    own = Cascade("tone", ROLE.modes, ROLE.stages[1:2])
    with pytest.raises(EvaluationError, match="tone: only built-in judges have a local stage"):
        opened("local", own)
    expected = r"tone: the judge has no prompt for the stage chief \(stages with a prompt: swift\)"
    with pytest.raises(EvaluationError, match=expected):
        opened("chief", own, {"swift": BY_STAGE["swift"]})
