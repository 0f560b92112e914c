"""One model call that answers for several judges of a reply."""

import json
from dataclasses import replace
from itertools import combinations

import pytest

from judges.judge import assessment_of, compose
from judges.observation import Assessment, GradedClaims, GradedRole, Screening
from models.errors import UpstreamRefused, UpstreamTimeout, UpstreamUnavailable
from models.scripted import Scripted
from models.usage import Ledger
from tests.judges.builders import (
    CASE,
    FINE,
    FRIEND,
    GOOD,
    INVENTED,
    UNPLAYED,
    always,
    as_answer,
    assessed,
    expect_cancelled,
    flagged,
    flagged_all,
    prompt,
    shared_judge,
)

ALL = ("source_fidelity", "transparency", "role")
CLAIMS = ALL[:2]
SUBSETS = [frozenset(some) for n in (1, 2, 3) for some in combinations(ALL, n)]
DOWN = UpstreamUnavailable("down")


def name_of(questions):
    return "+".join(sorted(questions))


async def judged(answer, questions=ALL, stage="swift", case=CASE, judges=None):
    """Return the judgement of each judge, by name."""
    engine = answer if isinstance(answer, Scripted) else always(answer)
    return await shared_judge(stage, questions, engine).judge_for(case, judges or questions, Ledger())


def outcomes(found):
    return {name: (judgement.verdict, judgement.rule) for name, judgement in found.items()}


# The request


TEXT = """Judge.
{claims} - of claims
{role} - of roles
{not claims} - of no claims
{claims}

The {claims} within a line is text.
{other} is text too."""


@pytest.mark.parametrize("questions", SUBSETS, ids=name_of)
def test_prompt_is_composed_of_the_lines_for_the_judges_that_are_asked(questions):
    """Both claims judges have the same lines. An empty marked line gives an empty line."""
    asks_claims, asks_role = bool(questions & set(CLAIMS)), "role" in questions
    lines = compose(TEXT, questions).splitlines()
    assert ("- of claims" in lines) == asks_claims
    assert ("- of no claims" in lines) == (not asks_claims)
    assert ("- of roles" in lines) == asks_role
    assert lines[0] == "Judge."
    assert lines[-2:] == ["The {claims} within a line is text.", "{other} is text too."]
    assert lines.count("") == 1 + asks_claims


@pytest.mark.parametrize("questions", SUBSETS, ids=name_of)
@pytest.mark.parametrize("stage", ["swift", "chief"])
async def test_model_is_sent_the_composed_prompt_and_the_case(stage, questions):
    """The request has static instructions without marks, and one JSON object."""
    engine = Scripted(lambda body: UpstreamUnavailable("asked"))
    await judged(engine, questions, stage)
    system, user = engine.requests[0]["messages"]
    assert system == {"role": "system", "content": compose(prompt("reply", stage).text, questions)}
    assert not any(mark in system["content"] for mark in ("{claims}", "{role}", "{not claims}"))
    assert json.loads(user["content"]) == json.loads(CASE.as_json())


@pytest.mark.parametrize(
    ("questions", "form"),
    [
        (["source_fidelity"], GradedClaims),
        (["transparency"], GradedClaims),
        (CLAIMS, GradedClaims),
        (["role"], GradedRole),
        (["role", "transparency"], Assessment),
        (ALL, Assessment),
    ],
)
async def test_chief_fills_in_the_form_for_what_it_is_asked(questions, form):
    """The form has no fields for judges that are not asked, so that no tokens are wasted."""
    assert assessment_of(questions) is form
    found = await judged(assessed(FINE) if form is Assessment else UNPLAYED if form is GradedRole else as_answer(FINE),
                         questions, "chief")  # fmt: skip
    assert outcomes(found) == dict.fromkeys(questions, ("accept", None))
    assert {type(judgement.observation) for judgement in found.values()} == {form}


async def test_both_stages_are_counted_under_their_steps():
    """In the ledger a call is `reply.swift` or `reply.chief`. Each judgement has exchange and time."""
    ledger = Ledger()
    swift = shared_judge("swift", ALL, Scripted([GOOD], delay_s=0.02))
    found = await swift.judge_for(CASE, ALL, ledger)
    await shared_judge("chief", ALL, always(assessed(FINE))).judge_for(CASE, ALL, ledger)
    assert [(call.step, call.alias) for call in ledger.calls] == [
        ("reply.swift", "reply.swift"),
        ("reply.chief", "reply.chief"),
    ]
    for name, judgement in found.items():
        assert (judgement.judge, judgement.stage) == (name, "swift")
        assert judgement.exchange is not None
        assert (judgement.exchange.model, judgement.exchange.prompt_hash) == ("reply.swift", swift.prompt.hash)
        assert json.loads(judgement.exchange.raw) == GOOD
        assert 15 <= judgement.ms < 2000
        assert judgement.observation == Screening(problems=[], adds=False)


# Answers of the screening call


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (GOOD, {}),
        (flagged("beyond", 1), {}),
        (flagged("beyond", 2), {"source_fidelity": ("warn", "unsupported_claims")}),
        (flagged("changed", 3), {"source_fidelity": ("reject", "unsupported_claims")}),
        (flagged("undisclosed", 2), {"transparency": ("warn", "missing_transparency")}),
        (flagged("denied", 1), {"source_fidelity": ("reject", "denied_source")}),
        (flagged("sensitive", 1), {"source_fidelity": ("reject", "sensitive_topic")}),
        (flagged("role", 1), {"role": ("warn", "role")}),
        (flagged("role", 2), {"role": ("reject", "role")}),
        (flagged("role", 3), {"role": ("reject", "role")}),
        (
            flagged_all(flagged("beyond", 1), flagged("undisclosed", 2)),
            {
                "source_fidelity": ("reject", "unsupported_claims"),
                "transparency": ("reject", "missing_transparency"),
            },
        ),
        (
            flagged_all(flagged("beyond", 2), flagged("sensitive", 1)),
            {"source_fidelity": ("reject", "sensitive_topic")},
        ),
        (
            flagged_all(flagged("undisclosed", 1), flagged("role", 3)),
            {"role": ("reject", "role")},
        ),
    ],
    ids=str,
)
async def test_problems_are_ruled_on_judge_by_judge(answer, expected):
    """The worst problem decides a judge's rule, all claim problems the score; judges without problems accept."""
    found = await judged(answer)
    assert outcomes(found) == dict.fromkeys(ALL, ("accept", None)) | expected
    assert all("regular blood tests" in found[name].reason for name in expected)


@pytest.mark.parametrize(
    ("kind", "name"), [("beyond", "source_fidelity"), ("undisclosed", "transparency"), ("role", "role")]
)
async def test_misquoted_problem_is_unjudged(kind, name):
    """Only the judge whose problem has a wrong quote is unjudged."""
    answer = flagged_all(flagged(kind, 1), flagged(kind, quote="Zinc cures voices"))
    found = await judged(answer)
    assert outcomes(found) == dict.fromkeys(ALL, ("accept", None)) | {name: ("unjudged", "unreadable")}
    assert found[name].observation is not None


@pytest.mark.parametrize(("kind", "rule"), [("beyond", "unsupported_claims"), ("role", "role")])
async def test_a_misquote_hides_no_problem_that_suffices_to_reject(kind, rule):
    """Otherwise one misquote would let a judge that fails open deliver a rejected reply."""
    found = await judged(flagged_all(flagged(kind, 3), flagged(kind, 1, quote="Zinc cures voices")))
    assert (rule, "reject") in {(judgement.rule, judgement.verdict) for judgement in found.values()}


async def test_words_of_user_and_sources_are_no_quote_of_the_reply():
    """Words of the user or a source are not problems of the reply."""
    for quote in ("What should I know", "when two other medicines have not helped"):
        assert (await judged(flagged("beyond", 3, quote)))["source_fidelity"].verdict == "unjudged"


async def test_problem_of_nobody_who_is_asked_is_nobodys():
    """If a model lists problems that it was not asked for, no judge gets them."""
    assert outcomes(await judged(flagged("role", 3), CLAIMS)) == dict.fromkeys(CLAIMS, ("accept", None))
    assert outcomes(await judged(flagged("sensitive", 3), ["role"])) == {"role": ("accept", None)}


async def test_judge_is_asked_alone_for_all_that_it_can_answer_for():
    """As in a measurement of one stage, the judge also gets the problems of absent judges."""
    call = shared_judge("swift", ALL, always(flagged("undisclosed", 3)))
    one = replace(call, name="source_fidelity")
    found = await one.judge(CASE, Ledger())
    assert (one.stage, found.judge, found.verdict, found.rule) == (
        "swift",
        "source_fidelity",
        "reject",
        "missing_transparency",
    )


# Answers of the chief


async def test_fault_of_the_claims_is_one_judges():
    """As with screening: if the reply cites no section, transparency gets the problem."""
    found = await judged(assessed(INVENTED, FRIEND), stage="chief")
    assert outcomes(found) == {
        "source_fidelity": ("reject", "unsupported_claims"),
        "transparency": ("accept", None),
        "role": ("reject", "role"),
    }
    uncited = replace(CASE, cited=())
    assert outcomes(await judged(assessed(INVENTED), stage="chief", case=uncited))["transparency"] == (
        "reject",
        "unsupported_claims",
    )
    assert outcomes(await judged(as_answer(INVENTED), ["transparency"], stage="chief")) == {
        "transparency": ("reject", "unsupported_claims")
    }


async def test_claims_that_cannot_be_ruled_on_are_unjudged_for_both_judges_of_claims():
    """A dose without an assertion was overlooked; the role is still judged."""
    case = replace(CASE, draft="You need regular blood tests. Take 40 mg of zinc.")
    found = await judged(assessed(FINE, FRIEND), stage="chief", case=case)
    assert outcomes(found) == dict.fromkeys(CLAIMS, ("unjudged", "unreadable")) | {"role": ("reject", "role")}


async def test_misquoted_part_is_unjudged_for_the_judge_of_roles_alone():
    """The claims are still judged."""
    played = {"played": [{"part": "friend", "quote": "I love you so very much", "degree": "clear"}]}
    found = await judged(assessed(FINE, played), stage="chief")
    assert outcomes(found) == dict.fromkeys(CLAIMS, ("accept", None)) | {"role": ("unjudged", "unreadable")}


# Failures


@pytest.mark.parametrize(
    "error",
    [DOWN, UpstreamRefused(400, "bad"), UpstreamTimeout("slow"), RuntimeError("a bug"), MemoryError()],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("stage", ["swift", "chief"])
async def test_failing_model_is_not_acceptance(stage, error):
    """After any error of an engine, all judges of the call are unjudged, and nothing is raised."""
    found = await judged(error, stage=stage)
    assert outcomes(found) == dict.fromkeys(ALL, ("unjudged", "unreadable"))
    assert {name: judgement.judge for name, judgement in found.items()} == {name: name for name in ALL}
    assert all(type(error).__name__ in judgement.reason for judgement in found.values())


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "accept",
        "{}",
        '{"problems": []}',
        '{"adds": false}',
        '{"problems": null, "adds": false}',
        '{"problems": [], "adds": "perhaps"}',
        '{"problems": [], "adds": false, "verdict": "accept"}',
        json.dumps(GOOD) * 2,
        json.dumps(UNPLAYED),
        json.dumps(flagged("rude")),
        json.dumps(flagged("beyond", 0)),
        json.dumps(flagged("beyond", 4)),
    ],
)
async def test_unreadable_screening_is_not_acceptance(answer):
    """After two unreadable answers all judges are unjudged, and the raw text is kept."""
    engine = Scripted([answer, answer])
    found = await judged(engine)
    assert outcomes(found) == dict.fromkeys(ALL, ("unjudged", "unreadable"))
    assert len(engine.requests) == 2
    assert {judgement.exchange.raw for judgement in found.values()} == {answer}


async def test_slow_call_is_not_acceptance():
    """After its time limit a call is cancelled and counted."""
    ledger = Ledger()
    found = await shared_judge("swift", ALL, Scripted([GOOD], delay_s=30), timeout_s=0.02).judge_for(CASE, ALL, ledger)
    assert outcomes(found) == dict.fromkeys(ALL, ("unjudged", "unreadable"))
    assert [call.error for call in ledger.calls] == ["UpstreamTimeout"]


async def test_cancellation_passes_through():
    """A cancelled call ends at once and raises the cancellation."""
    await expect_cancelled(judged)
