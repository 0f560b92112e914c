"""The pipeline: which judges are asked, in which order, and whose verdict counts."""

import asyncio
import subprocess
import sys
from dataclasses import replace

import pytest

from judges.case import Case, HistoryMessage
from judges.judge import LocalJudge
from judges.pipeline import Cascade, Pipeline
from judges.verdict import Review
from models.errors import UpstreamUnavailable
from models.scripted import Scripted
from models.usage import Ledger
from tests.judges.builders import (
    CALM,
    CASE,
    FINE,
    FRIEND,
    GOOD,
    HINT,
    INVENTED,
    MEDICINES,
    UNPLAYED,
    always,
    as_answer,
    asserted,
    cascade,
    claims,
    flagged,
    sharing,
)

DOWN = UpstreamUnavailable("down")
BOTH = frozenset({"source", "default"})
SOURCE = frozenset({"source"})
DEFAULT = frozenset({"default"})


# The judges together


def team(**engines):
    """Return a pipeline of judges that all use one engine for each stage."""
    return Pipeline([cascade(name, engine, engine) for name, engine in engines.items()])


async def review(one, modes=SOURCE, **more):
    return await one.review(CASE, modes, Ledger(), **more)


def names(found: Review):
    return sorted({j.judge for j in found.judgements})


async def test_judges_of_other_modes_are_not_asked():
    """A reply that cites only sections does not go to transparency, and one without sections not to source_fidelity."""
    fidelity, transparency, role = always(as_answer(FINE)), always(as_answer(FINE)), always(UNPLAYED)
    one = team(source_fidelity=fidelity, transparency=transparency, role=role)
    assert names(await review(one, SOURCE)) == ["role", "source_fidelity"]
    assert transparency.requests == []
    assert names(await review(one, DEFAULT)) == ["role", "transparency"]
    assert names(await review(one, BOTH)) == ["role", "source_fidelity", "transparency"]


@pytest.mark.parametrize(
    "form",
    [
        INVENTED,
        claims(asserted(), asserted(), asserted("basic")),
        claims(asserted(quote="Whoever takes clozapine may drive a lorry.")),
    ],
    ids=["unsupported", "basic", "invented quote"],
)
async def test_citing_a_section_is_no_way_round_the_other_judges(form):
    """An assertion beyond the cited sections adds the judges of the mode `default`, each once."""
    transparency, role = always(as_answer(INVENTED)), always(UNPLAYED)
    one = team(source_fidelity=always(as_answer(form)), transparency=transparency, role=role)
    found = await review(one, SOURCE)
    assert names(found) == ["role", "source_fidelity", "transparency"]
    assert len(role.requests) == 1
    assert found.verdict == "reject"
    assert [j.judge for j in found.decisive] == ["source_fidelity", "transparency", "role"]


async def test_what_any_stage_saw_brings_in_the_other_judges():
    """This holds even if the chief disagrees with swift: the other judge decides."""
    fidelity = cascade("source_fidelity", always(as_answer(INVENTED)), always(as_answer(FINE)))
    one = Pipeline([fidelity, cascade("transparency", always(as_answer(FINE)), always(as_answer(FINE)))])
    assert names(await review(one)) == ["source_fidelity", "transparency"]


async def test_judge_that_fails_open_does_not_keep_the_others_away():
    """If no judge could check the reply against its sources, the judges of `default` are asked."""
    fidelity = cascade("source_fidelity", always(DOWN), always(DOWN), on_error="open")
    one = Pipeline([fidelity, cascade("transparency", always(as_answer(INVENTED)), always(as_answer(INVENTED)))])
    found = await review(one)
    assert names(found) == ["source_fidelity", "transparency"]
    assert found.verdict == "reject"


async def test_judge_that_fails_closed_ends_the_judging():
    """The reply is replaced anyway, so further calls would be wasted."""
    transparency = always(as_answer(FINE))
    found = await review(team(source_fidelity=always(DOWN), transparency=transparency))
    assert found.failed_closed
    assert transparency.requests == []


async def test_one_judge_closed_among_good_ones_fails_the_review():
    """The accepts of other judges do not make up for the failed one."""
    found = await review(team(source_fidelity=always(as_answer(FINE)), role=always(DOWN)))
    assert (found.failed_closed, found.verdict) == (True, "unjudged")
    assert {j.judge: j.verdict for j in found.decisive} == {"source_fidelity": "accept", "role": "unjudged"}


async def test_worst_judge_decides_and_objections_are_listed():
    """One rejection is enough. The refiner gets all warnings and rejections."""
    found = await review(team(source_fidelity=always(as_answer(INVENTED)), role=always(HINT)))
    assert found.verdict == "reject"
    assert {j.judge: j.verdict for j in found.objections} == {"source_fidelity": "reject", "role": "warn"}


async def test_judges_run_at_the_same_time():
    """All three judges are asked before any of them answers."""
    all_asked = asyncio.Barrier(3)

    def together(answer):
        async def wait(body):
            await all_asked.wait()
            return answer

        return Scripted(wait)

    one = team(
        source_fidelity=together(as_answer(FINE)), transparency=together(as_answer(FINE)), role=together(UNPLAYED)
    )
    async with asyncio.timeout(3):
        found = await review(one, BOTH)
    assert [j.verdict for j in found.decisive] == ["accept"] * 3


async def test_chief_of_one_judge_does_not_wait_for_swift_of_another():
    """Each judge passes through its stages independently."""
    chief_asked = asyncio.Event()

    async def slow_swift(body):
        await chief_asked.wait()
        return UNPLAYED

    async def chief(body):
        chief_asked.set()
        return as_answer(FINE)

    one = Pipeline(
        [
            cascade("role", Scripted(slow_swift), always(UNPLAYED)),
            cascade("source_fidelity", always(as_answer(INVENTED)), Scripted(chief)),
        ]
    )
    async with asyncio.timeout(3):
        assert (await review(one)).verdict == "accept"


async def test_strongest_review_asks_chiefs_only():
    """A refined reply goes to the last stage of each judge, including judges that are added later."""
    swift = always(as_answer(FINE))
    one = Pipeline(
        [
            cascade("source_fidelity", swift, always(as_answer(INVENTED))),
            cascade("transparency", swift, always(as_answer(INVENTED))),
        ]
    )
    found = await review(one, strongest=True)
    assert [j.stage for j in found.judgements] == ["chief", "chief"]
    assert swift.requests == []


async def test_local_judges_and_models_are_reviewed_together():
    """A pipeline may mix judges with and without a model."""
    one = Pipeline(
        [Cascade("role", BOTH, (LocalJudge("role"),)), cascade("source_fidelity", always(DOWN), always(DOWN))]
    )
    found = await review(one)
    assert {j.judge: j.verdict for j in found.decisive} == {"role": "accept", "source_fidelity": "unjudged"}


async def test_cancelled_review_ends_every_call():
    """Cancelling the review cancels the calls of all judges."""
    all_asked, ended = asyncio.Barrier(4), []

    async def hang(body):
        await all_asked.wait()
        try:
            await asyncio.sleep(30)
        finally:
            ended.append(body)

    ledger = Ledger()
    one = team(source_fidelity=Scripted(hang), transparency=Scripted(hang), role=Scripted(hang))
    task = asyncio.create_task(one.review(CASE, BOTH, ledger))
    async with asyncio.timeout(3):
        await all_asked.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(ended) == 3
    assert [call.error for call in ledger.calls] == ["cancelled"] * 3


def test_filter_without_judges_is_empty():
    """`empty` is true, because an unjudged reply must not count as accepted."""
    assert Pipeline([]).empty
    assert not Pipeline([Cascade("emergency", BOTH, (LocalJudge("emergency"),))]).empty
    assert not Pipeline([Cascade("role", BOTH, (LocalJudge("role"),))]).empty


# Judges with separate calls, and judges that share their calls

ADDS = {"problems": [], "adds": True}


def judges_of_their_own(**engines):
    """Return judges with separate calls that all use one engine for each stage."""
    return [cascade(name, engine, engine) for name, engine in engines.items()]


async def test_shared_call_and_those_of_other_judges_run_at_the_same_time():
    """A judge with its own prompt is asked at each stage while the shared call is running."""
    both_screen, both_decide = asyncio.Barrier(2), asyncio.Barrier(2)

    def meeting(barrier, answer):
        async def wait(body):
            await barrier.wait()
            return answer

        return Scripted(wait)

    shared = sharing(
        ("source_fidelity", "transparency"),
        meeting(both_screen, flagged("beyond")),
        meeting(both_decide, as_answer(FINE)),
    )
    role = cascade("role", meeting(both_screen, HINT), meeting(both_decide, UNPLAYED))
    ledger = Ledger()
    async with asyncio.timeout(3):
        found = await Pipeline([*shared, role]).review(CASE, BOTH, ledger)
    assert [(j.judge, j.stage, j.verdict) for j in found.decisive] == [
        ("source_fidelity", "chief", "accept"),
        ("transparency", "chief", "accept"),
        ("role", "chief", "accept"),
    ]
    assert sorted(call.step for call in ledger.calls) == ["reply.chief", "reply.swift", "role.chief", "role.swift"]


async def test_reply_is_judged_by_both_kinds_of_judges():
    """Each kind may reject, and each may fail closed."""
    for shared, own, verdict in (
        (GOOD, UNPLAYED, "accept"),
        (flagged("beyond", 3), UNPLAYED, "reject"),
        (GOOD, FRIEND, "reject"),
        (DOWN, UNPLAYED, "unjudged"),
        (GOOD, DOWN, "unjudged"),
        (DOWN, FRIEND, "reject"),
    ):
        one = Pipeline([*sharing(("source_fidelity",), always(shared)), *judges_of_their_own(role=always(own))])
        found = await review(one)
        assert found.verdict == verdict
        assert found.failed_closed == (DOWN in (shared, own))


@pytest.mark.parametrize("answer", [ADDS, flagged("beyond"), flagged("changed", 1, adds=False), DOWN], ids=str)
async def test_screening_call_that_sees_additions_brings_in_judges_with_calls_of_their_own(answer):
    """So does a screening that fails open, because no judge could check the reply against its sections."""
    one = Pipeline(
        [
            *sharing(("source_fidelity",), always(answer), on_error="open"),
            *judges_of_their_own(transparency=always(as_answer(INVENTED))),
        ]
    )
    found = await review(one)
    assert names(found) == ["source_fidelity", "transparency"]
    assert found.verdict == "reject"


async def test_screening_call_that_sees_no_additions_brings_in_nobody():
    """A good reply costs only its one call."""
    one = Pipeline(
        [*sharing(("source_fidelity",), always(GOOD)), *judges_of_their_own(transparency=always(as_answer(INVENTED)))]
    )
    assert names(await review(one)) == ["source_fidelity"]


async def test_screening_call_for_roles_alone_tells_nothing_of_additions():
    """It does not ask about additions, so transparency is asked."""
    one = Pipeline([*sharing(("role",), always(GOOD)), *judges_of_their_own(transparency=always(as_answer(INVENTED)))])
    found = await review(one)
    assert (names(found), found.verdict) == (["role", "transparency"], "reject")


@pytest.mark.parametrize(
    "form", [INVENTED, claims(asserted(), asserted(), asserted("basic"))], ids=["rejected", "accepted"]
)
async def test_judge_with_calls_of_its_own_brings_in_those_that_share_theirs(form):
    """They judge its additions in one call."""
    swift = always(flagged("undisclosed", 2))
    one = Pipeline([*judges_of_their_own(source_fidelity=always(as_answer(form))), *sharing(("transparency",), swift)])
    found = await review(one)
    assert names(found) == ["source_fidelity", "transparency"]
    assert [(j.judge, j.verdict) for j in found.objections if j.judge == "transparency"] == [("transparency", "warn")]
    assert len(swift.requests) == 1
    keeps_to_it = judges_of_their_own(source_fidelity=always(as_answer(FINE)))
    assert names(await review(Pipeline([*keeps_to_it, *sharing(("transparency",), swift)]))) == ["source_fidelity"]


@pytest.mark.parametrize(
    ("form", "completed"), [(INVENTED, None), (claims(asserted(), asserted(), asserted("basic")), "Completed.")]
)
async def test_what_is_brought_in_later_completes_only_what_nobody_else_objects_to(form, completed):
    """Here source_fidelity rejects or accepts the addition."""
    own = judges_of_their_own(source_fidelity=always(as_answer(form)))
    one = Pipeline([*own, *sharing(("transparency",), always(flagged("undisclosed", 2)))])
    assert (await review(one, add_statements=lambda: "Completed.")).completed == completed


async def test_reply_is_not_completed_before_judges_that_are_brought_in_later():
    """Here transparency, with its own prompt, is added later."""
    own = judges_of_their_own(transparency=always(as_answer(INVENTED)))
    one = Pipeline([*sharing(("source_fidelity",), always(flagged("undisclosed", 2))), *own])
    found = await review(one, add_statements=lambda: "Completed.")
    assert (found.completed, names(found)) == (None, ["source_fidelity", "transparency"])


async def test_strongest_review_asks_the_last_stages_of_both_kinds():
    """A refined reply is not screened again."""
    swift = always(GOOD)
    one = Pipeline(
        [*sharing(("source_fidelity",), swift, always(as_answer(FINE))), cascade("role", swift, always(HINT))]
    )
    found = await review(one, strongest=True)
    assert [(j.judge, j.stage, j.verdict) for j in found.judgements] == [
        ("source_fidelity", "chief", "accept"),
        ("role", "chief", "warn"),
    ]
    assert swift.requests == []


# The emergency judge

DANGER = Case("I am going to end my life tonight.")
QUIET = Case("Would you look after my cat for good?")
"""Danger that only a model recognises."""
NOW = {"signs": [{"kind": "self_harm", "quote": "look after my cat for good", "who": "user", "when": "now"}]}


def watched(answer, **more):
    """Return a pipeline whose emergency judge has a local stage and model stages, and the engine of the latter."""
    engine = always(answer)
    models_only = cascade("emergency", engine, engine, **more)
    stages = (LocalJudge("emergency"), *models_only.stages)
    return Pipeline([replace(models_only, stages=stages, reject_alone=frozenset({"local"}))]), engine


def test_local_emergency_judge_fires_alone():
    """It asks no model, so it can run before anything that may refuse or delay a request."""
    one, engine = watched(CALM)
    assert one.judge_emergency_locally(DANGER).verdict == "reject"
    assert one.judge_emergency_locally(Case("How much sleep do I need?")).verdict == "accept"
    assert engine.requests == []


@pytest.mark.parametrize(("answer", "verdict"), [(CALM, "accept"), (NOW, "reject"), (DOWN, "unjudged")])
async def test_models_are_asked_about_an_emergency_without_the_local_judge(answer, verdict):
    """`judge_emergency_by_models` does not repeat the local stage."""
    one, _ = watched(answer)
    found = await one.judge_emergency_by_models(QUIET, Ledger(), one.judge_emergency_locally(QUIET))
    assert found.verdict == verdict
    assert "local" not in [j.stage for j in found.judgements]
    assert found.failed_closed == (verdict == "unjudged")


async def test_emergency_judge_may_fail_open():
    """Its failure policy applies to emergencies as well."""
    one, _ = watched(DOWN, on_error="open")
    assert not (await one.judge_emergency_by_models(QUIET, Ledger(), one.judge_emergency_locally(QUIET))).failed_closed


async def test_local_emergency_judge_may_be_told_to_ask_first():
    """If it may not reject alone, models decide on its flags. If they fail open, its flag counts."""
    one, _ = watched(CALM)
    asking = Pipeline([replace(one.emergency, reject_alone=frozenset())])
    heard = asking.judge_emergency_locally(DANGER)
    assert (heard.verdict, [j.verdict for j in heard.judgements]) == ("accept", ["reject"])
    assert (
        await asking.judge_emergency_by_models(DANGER, Ledger(), heard)
    ).verdict == "warn"  # they disagree: a concern
    down, _ = watched(DOWN, on_error="open")
    deaf = Pipeline([replace(down.emergency, reject_alone=frozenset())])
    assert (
        await deaf.judge_emergency_by_models(DANGER, Ledger(), deaf.judge_emergency_locally(DANGER))
    ).verdict == "reject"


async def test_emergency_judge_does_not_judge_replies():
    """It reads the user's messages; the other judges read the reply."""
    one, engine = watched(NOW)
    found = await review(one, BOTH)
    assert found.judgements == []
    assert engine.requests == []


async def test_filter_without_emergency_judge_raises_no_alarm():
    """No judge is asked, and none accepts."""
    one = Pipeline([])
    assert one.judge_emergency_locally(DANGER) == Review()
    assert await one.judge_emergency_by_models(DANGER, Ledger(), Review()) == Review()


async def test_local_emergency_judge_alone_asks_no_model():
    """Without a model, `judge_emergency_by_models` adds nothing."""
    one = Pipeline([Cascade("emergency", BOTH, (LocalJudge("emergency"),))])
    assert one.judge_emergency_locally(DANGER).verdict == "reject"
    assert await one.judge_emergency_by_models(DANGER, Ledger(), one.judge_emergency_locally(DANGER)) == Review()


def test_emergency_judge_of_models_alone_says_nothing_at_once():
    """Without a local stage, no emergency is found before the models answer."""
    one = Pipeline([cascade("emergency", always(NOW), always(NOW))])
    assert one.judge_emergency_locally(DANGER) == Review()


async def test_emergency_sees_the_users_earlier_words():
    """Signs in earlier messages count together with the newest."""
    one, _ = watched(NOW)
    case = Case("So it is.", history=(HistoryMessage("user", "Would you look after my cat for good?"),))
    assert (await one.judge_emergency_by_models(case, Ledger(), one.judge_emergency_locally(case))).verdict == "reject"


def test_what_local_judges_have_learned_is_loaded_before_the_first_user_comes() -> None:
    """In a new process, the first reply must not have to load any data."""
    told = """
from judges.pipeline import Cascade
from judges.pipeline import Pipeline
from judges.judge import OBSERVERS, LocalJudge
from judges.local import classifier, reply

Pipeline([Cascade(name, frozenset({"source"}), (LocalJudge(name),)) for name in OBSERVERS]).warm_up()
print(*(learned.cache_info().currsize for learned in (classifier.load, reply._load_polarity, classifier.load_words)))
"""
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, check=True).stdout.split() == [
        b"1",
        b"1",
        b"1",
    ]


@pytest.mark.parametrize(
    ("draft", "asked"),
    [
        ("People who take clozapine need regular blood tests.", ["source_fidelity"]),
        (
            "People who take clozapine need regular blood tests. A strict keto diet cures voices within a week.",
            ["source_fidelity", "transparency"],
        ),
        ("Wer Clozapin nimmt, braucht regelmäßige Blutproben, und Zink heilt die Stimmen.", ["source_fidelity"]),
    ],
    ids=["supported", "goes beyond its section", "unreadable"],
)
async def test_citing_a_section_does_not_switch_the_other_local_judge_off(draft: str, asked: list[str]) -> None:
    """If source_fidelity finds unsupported text, transparency is asked. If it cannot read the reply, judging ends."""
    one = Pipeline(
        [
            Cascade("source_fidelity", SOURCE, (LocalJudge("source_fidelity"),)),
            Cascade("transparency", DEFAULT, (LocalJudge("transparency"),)),
        ]
    )
    review = await one.review(Case("What helps?", draft, cited=(MEDICINES,)), SOURCE, Ledger())
    assert [judgement.judge for judgement in review.judgements] == asked
    assert (review.verdict == "accept") == (asked == ["source_fidelity"] and draft.isascii())


async def test_judges_that_look_at_something_else_do_not_keep_the_others_away():
    """If source_fidelity does not judge the reply, transparency does."""
    transparency = cascade("transparency", always(as_answer(INVENTED)), always(as_answer(INVENTED)))
    one = Pipeline([Cascade("role", BOTH, (LocalJudge("role"),)), replace(transparency, modes=DEFAULT)])
    found = await review(one)
    assert names(found) == ["role", "transparency"]
    assert found.verdict == "reject"
