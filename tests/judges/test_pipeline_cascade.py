"""The stages of one judge: each screens for the next, and the last one decides."""

from dataclasses import replace

import pytest

from judges import judge as judge_module
from judges.judge import LocalJudge, ModelJudge
from judges.pipeline import Cascade
from models.errors import UpstreamUnavailable
from models.usage import Ledger
from tests.judges.builders import (
    CASE,
    FINE,
    FRIEND,
    HINT,
    INVENTED,
    UNPLAYED,
    always,
    as_answer,
    cascade,
    models,
    prompt,
)

INVENTED_QUOTE = {"played": [{"part": "friend", "quote": "I love you so very much", "degree": "clear"}]}
DOWN = UpstreamUnavailable("down")
BOTH = frozenset({"source", "default"})
SOURCE = frozenset({"source"})


async def run(one, case=CASE, **more):
    return await one.run(case, Ledger(), **more)


async def test_what_swift_accepts_no_chief_sees():
    """An accept of the cheap judge is final."""
    chief = always(FRIEND)
    review = await run(cascade("role", always(UNPLAYED), chief))
    assert (review.verdict, [j.stage for j in review.judgements]) == ("accept", ["swift"])
    assert chief.requests == []


@pytest.mark.parametrize("swift", [FRIEND, HINT, INVENTED_QUOTE, DOWN, "no JSON"], ids=str)
@pytest.mark.parametrize(("chief", "verdict"), [(UNPLAYED, "accept"), (HINT, "warn"), (FRIEND, "reject")])
async def test_what_swift_does_not_accept_the_chief_decides(swift, chief, verdict):
    """After a flag or a failure only the chief's verdict counts, and both judgements are kept."""
    review = await run(cascade("role", always(swift), always(chief)))
    assert review.verdict == verdict
    assert [j.stage for j in review.judgements] == ["swift", "chief"]
    assert [j.stage for j in review.decisive] == ["chief"]
    assert not review.failed_closed


@pytest.mark.parametrize("swift", [FRIEND, HINT, DOWN])
async def test_unjudged_judge_fails_closed(swift):
    """If the deciding judge fails, the reply is not delivered, even if an earlier stage accepted it."""
    review = await run(cascade("role", always(swift), always(DOWN)))
    assert review.failed_closed
    assert review.verdict == "unjudged"


@pytest.mark.parametrize(("swift", "verdict"), [(FRIEND, "reject"), (HINT, "warn"), (DOWN, "unjudged")])
async def test_open_judge_keeps_the_earlier_flag_when_it_fails(swift, verdict):
    """With `on_error: open`, a flagged reply is still not delivered, and others are not called accepted."""
    review = await run(cascade("role", always(swift), always(DOWN), on_error="open"))
    assert not review.failed_closed
    assert review.verdict == verdict
    assert len(review.judgements) == 2


@pytest.mark.parametrize(("form", "stages"), [(FINE, ["local", "swift"]), (INVENTED, ["local"])])
async def test_a_local_judge_accepts_nothing_for_a_model(monkeypatch, form, stages):
    """The next stage reads what it accepts. Its reject may be final."""
    monkeypatch.setitem(judge_module.OBSERVERS, "source_fidelity", lambda case: (form, 0.0))
    swift = ModelJudge(prompt("source_fidelity", "swift"), models(source_fidelity__swift=always(as_answer(FINE))), 5)
    one = Cascade("source_fidelity", SOURCE, (LocalJudge("source_fidelity"), swift), reject_alone=frozenset({"local"}))
    assert [j.stage for j in (await run(one)).judgements] == stages


async def test_local_judge_alone_decides():
    """Without a model, the local verdict counts at any score."""
    draft = "I will always be here for you, because I love you and I am your best friend."
    one = Cascade("role", BOTH, (LocalJudge("role"),))
    assert one.local_only
    assert (await run(one, replace(CASE, draft=draft))).verdict == "reject"
    assert one.run_now(replace(CASE, draft=draft)).verdict == "reject"
    assert (await run(one)).verdict == one.run_now(CASE).verdict == "accept"


async def test_a_stage_told_to_reject_alone_ends_the_judging():
    """With `reject_alone`, the chief is not asked after a reject of swift."""
    chief = always(UNPLAYED)
    one = replace(cascade("role", always(FRIEND), chief), reject_alone=frozenset({"swift"}))
    assert ((await run(one)).verdict, chief.requests) == ("reject", [])
