"""The built-in judges of a reply share one screening call and one call of the chief."""

import json
from dataclasses import replace

import pytest

from judges import judge as judge_module
from judges.case import Case
from judges.judge import LocalJudge
from judges.pipeline import Cascade, Pipeline
from judges.rules import RULES
from models.errors import UpstreamUnavailable
from models.usage import Ledger
from tests.judges.builders import (
    CASE,
    FINE,
    FRIEND,
    GOOD,
    HINT,
    INVENTED,
    SLEEP,
    TOPICS,
    UNPLAYED,
    always,
    as_answer,
    asserted,
    assessed,
    cascade,
    claims,
    flagged,
    flagged_all,
    graded,
    graded_claims,
    sharing,
)

ALL = ("source_fidelity", "transparency", "role")
BOTH = frozenset({"source", "default"})
SOURCE = frozenset({"source"})
DEFAULT = frozenset({"default"})
DOWN = UpstreamUnavailable("down")
CLEARED = assessed(FINE)
"""The chief's answer to a reply without problems."""
SUPPORTED = graded()
SMALL = graded("basic", 1, text="regular blood tests")


async def review(cascades, modes=BOTH, case=CASE, **more):
    """Return the review of a reply, and the steps of its calls."""
    ledger = Ledger()
    found = await Pipeline(cascades).review(case, modes, ledger, **more)
    return found, [call.step for call in ledger.calls]


def verdicts(found):
    return {judgement.judge: judgement.verdict for judgement in found.decisive}


# Calls of a reply


@pytest.mark.parametrize("modes", [SOURCE, DEFAULT, BOTH], ids=lambda modes: "+".join(sorted(modes)))
async def test_a_good_reply_costs_one_call(modes):
    """The screening call answers for all judges, and no chief is asked."""
    found, steps = await review(sharing(ALL, always(GOOD), always(CLEARED)), modes)
    called = [name for name in ALL if not (modes == SOURCE and name == "transparency")]
    called = [name for name in called if not (modes == DEFAULT and name == "source_fidelity")]
    assert steps == ["reply.swift"]
    assert verdicts(found) == dict.fromkeys(called, "accept")


@pytest.mark.parametrize("kind", ["beyond", "undisclosed", "changed", "denied", "sensitive", "role"])
async def test_a_flagged_reply_costs_two_calls(kind):
    """The flag of one judge sends the whole reply to the chief, whose answer counts for all judges."""
    found, steps = await review(sharing(ALL, always(flagged(kind)), always(CLEARED)))
    assert steps == ["reply.swift", "reply.chief"]
    assert {(j.judge, j.stage, j.verdict) for j in found.decisive} == {(name, "chief", "accept") for name in ALL}
    assert len(found.judgements) == 6


@pytest.mark.parametrize(
    "swift",
    [DOWN, "no JSON", flagged("role", quote="I love you so very much"), flagged("beyond", quote="Zinc cures voices")],
    ids=["down", "unreadable", "misquoted part", "misquoted claim"],
)
@pytest.mark.parametrize(
    ("chief", "verdict"),
    [
        (CLEARED, "accept"),
        (assessed(FINE, HINT), "warn"),
        (assessed(FINE, FRIEND), "reject"),
        (assessed(INVENTED), "reject"),
    ],
)
async def test_what_the_screening_call_leaves_open_the_chief_decides(swift, chief, verdict):
    """A failed call or a wrong quote is neither acceptance nor rejection."""
    found, steps = await review(sharing(ALL, always(swift), always(chief)))
    assert set(steps) == {"reply.swift", "reply.chief"}
    assert found.verdict == verdict
    assert not found.failed_closed


@pytest.mark.parametrize(
    ("swift", "severity", "verdict"),
    [
        (flagged("changed", 2), 2, "reject"),
        (flagged("changed", 1), 2, "accept"),
        (flagged("beyond", 2), 2, "reject"),
        (flagged("undisclosed", 2), 2, "warn"),
        (flagged("changed", 2), 1, "accept"),
        (flagged_all(flagged("changed", 2, "You need"), flagged("beyond", 1)), 2, "warn"),
    ],
)
async def test_a_statement_that_two_judges_find_unsupported_is_rejected(swift, severity, verdict):
    """By score alone, one statement of severity 2 (a wrong fee, an invented service) would only give a warning."""
    unsupported = graded("unsupported", severity, text="regular blood tests")
    found, _ = await review(
        sharing(ALL, always(swift), always(assessed(graded_claims(unsupported, SUPPORTED)))), SOURCE
    )
    assert {j.judge: j.verdict for j in found.decisive}["source_fidelity"] == verdict


async def test_small_addition_changes_nothing():
    """One passing detail in a supported reply is accepted without a second call."""
    found, steps = await review(sharing(ALL, always(flagged("beyond", 1)), always(assessed(INVENTED))))
    assert (found.verdict, steps, found.alarms) == ("accept", ["reply.swift"], [])


@pytest.mark.parametrize("quote", ["Lithium is gentle on most people", "gentle on most people"])
async def test_a_small_addition_on_a_sensitive_topic_is_read_by_the_chief(quote):
    """This also holds if only the sentence around the quote names the topic."""
    draft = f"{CASE.draft} Lithium is gentle on most people."
    case = replace(CASE, draft=draft, topics=TOPICS)
    judges = sharing(ALL, always(flagged("beyond", 1, quote)), always(assessed(INVENTED)))
    assert (await review(judges, case=case))[1] == ["reply.swift", "reply.chief"]
    assert (await review(judges, case=replace(case, topics=())))[1] == ["reply.swift"]


async def test_the_screening_call_may_be_the_last_stage():
    """Without a chief, the screening call decides."""
    for answer, verdict in ((GOOD, "accept"), (flagged("beyond", 2), "warn"), (flagged("changed", 3), "reject")):
        found, steps = await review(sharing(ALL, always(answer)))
        assert (found.verdict, steps) == (verdict, ["reply.swift"])


async def test_the_chief_may_be_the_only_stage():
    """Then the chief reads every reply claim by claim."""
    found, steps = await review(sharing(ALL, None, always(assessed(INVENTED, HINT))))
    assert steps == ["reply.chief"]
    assert verdicts(found) == {"source_fidelity": "reject", "transparency": "accept", "role": "warn"}


async def test_stages_may_differ_from_judge_to_judge():
    """A judge without a chief ends with the screening call, while the others continue."""
    fidelity, transparency, role = sharing(ALL, always(flagged("role")), always(CLEARED))
    found, steps = await review([fidelity, transparency, replace(role, stages=role.stages[:1])])
    assert steps == ["reply.swift", "reply.chief"]
    assert {j.judge: (j.stage, j.verdict) for j in found.decisive} == {
        "source_fidelity": ("chief", "accept"),
        "transparency": ("chief", "accept"),
        "role": ("swift", "reject"),
    }


async def test_strongest_asks_each_judges_own_last_stage():
    """A judge whose last stage is swift is asked there; the others are asked at the chief stage."""
    fidelity, transparency, role = sharing(ALL, always(flagged("role")), always(CLEARED))
    found, steps = await review([fidelity, transparency, replace(role, stages=role.stages[:1])], strongest=True)
    assert steps == ["reply.swift", "reply.chief"]
    assert verdicts(found) == {"source_fidelity": "accept", "transparency": "accept", "role": "reject"}


async def test_a_stage_told_to_reject_alone_ends_the_judging_of_its_judge():
    """With `reject_alone`, the chief's answer does not count after a reject of the screening call."""
    found, steps = await review(
        sharing(("role",), always(flagged("role")), always(UNPLAYED), reject_alone=frozenset({"swift"}))
    )
    assert (found.verdict, steps) == ("reject", ["reply.swift"])


# Which judges count


async def test_citing_a_section_is_no_way_round_the_other_judges():
    """If a reply adds to its sections, the judges of the mode `default` count as well."""
    judges = sharing(ALL, always({"problems": [], "adds": True}), always(CLEARED))
    found, steps = await review(judges, SOURCE)
    assert (verdicts(found), steps) == (dict.fromkeys(ALL, "accept"), ["reply.swift"])


async def test_the_judges_of_other_modes_are_not_heard_where_nothing_is_added():
    """Transparency does not count for a good reply from sections, nor source_fidelity for one without sections."""
    judges = sharing(ALL, always(GOOD), always(CLEARED))
    assert verdicts((await review(judges, SOURCE))[0]).keys() == {"source_fidelity", "role"}
    assert verdicts((await review(judges, DEFAULT))[0]).keys() == {"transparency", "role"}
    assert (await review(sharing(("source_fidelity",), always(GOOD)), DEFAULT)) == (
        Pipeline([]).judge_emergency_locally(CASE),
        [],
    )


async def test_a_judge_that_was_heard_at_one_stage_is_heard_at_the_next():
    """The chief may find an addition of the screening call supported; then the reply is accepted."""
    two = flagged_all(flagged("undisclosed"), flagged("undisclosed", 1))
    found, steps = await review(sharing(ALL, always(two), always(CLEARED)), SOURCE)
    assert steps == ["reply.swift", "reply.chief"]
    assert {(j.judge, j.stage, j.verdict) for j in found.decisive} == {(name, "chief", "accept") for name in ALL}


async def test_a_judge_of_another_mode_that_was_heard_goes_on_by_itself():
    """If the required judges have no chief, the judge of the additions still asks its own."""
    fidelity, transparency = sharing(ALL[:2], always(flagged("undisclosed")), always(as_answer(FINE)))
    found, steps = await review([replace(fidelity, stages=fidelity.stages[:1]), transparency], SOURCE)
    assert steps == ["reply.swift", "reply.chief"]
    assert verdicts(found) == {"source_fidelity": "accept", "transparency": "accept"}


async def test_advice_that_no_source_gives_reaches_the_chief_though_it_was_accepted():
    """Even if a reply manipulates the screening call into an accept, the chief reads the whole reply."""
    case = replace(CASE, draft="You need regular blood tests. Stop taking your clozapine tonight.", topics=TOPICS)
    chief = assessed(claims(asserted("unsupported", text="Stop taking your clozapine tonight.")), FRIEND)
    for modes in (SOURCE, DEFAULT, BOTH):
        found, steps = await review(sharing(ALL, always(GOOD), always(chief)), modes, case)
        assert steps == ["reply.swift", "reply.chief"]
        assert {j.stage for j in found.decisive} == {"chief"}
        assert {j.rule for j in found.objections} == {"unsupported_claims", "role"}
    found, steps = await review(sharing(("transparency", "role"), always(GOOD), always(chief)), SOURCE, case)
    assert steps == ["reply.swift", "reply.chief"]
    assert found.verdict == "reject"
    found, steps = await review(sharing(("role",), always(GOOD), always(FRIEND)), SOURCE, case)
    assert (found.verdict, steps) == ("accept", ["reply.swift"])


# Failures


@pytest.mark.parametrize("swift", [DOWN, flagged("role"), flagged("beyond")], ids=["down", "part", "claim"])
async def test_unjudged_chief_fails_closed(swift):
    """If the deciding call fails, the reply is not delivered, even if an earlier stage accepted it."""
    found, _ = await review(sharing(ALL, always(swift), always(DOWN)))
    assert found.failed_closed
    assert verdicts(found) == dict.fromkeys(ALL, "unjudged")


@pytest.mark.parametrize("modes", [SOURCE, DEFAULT, BOTH], ids=lambda modes: "+".join(sorted(modes)))
@pytest.mark.parametrize("name", ALL)
async def test_one_judge_that_fails_closed_is_enough(name, modes):
    """A failed call is a failure of each of its judges. `source_fidelity` counts only if the reply cites sections."""
    judges = [replace(c, on_error="closed" if c.name == name else "open") for c in sharing(ALL, always(DOWN))]
    asked = modes != DEFAULT or name != "source_fidelity"
    assert (await review(judges, modes))[0].failed_closed == asked


@pytest.mark.parametrize(
    ("swift", "verdict"), [(flagged("role", 2), "reject"), (flagged("role", 1), "warn"), (DOWN, "unjudged")]
)
async def test_open_judges_keep_the_earlier_flag_when_the_chief_fails(swift, verdict):
    """With `on_error: open`, a flagged reply is still not delivered, and others are not called accepted."""
    found, _ = await review(sharing(ALL, always(swift), always(DOWN), on_error="open"))
    assert not found.failed_closed
    assert verdicts(found) == {"source_fidelity": "unjudged", "transparency": "unjudged", "role": verdict}


# Local stages


async def test_what_a_local_stage_accepts_is_screened(monkeypatch):
    """A local accept does not replace the models after it."""
    monkeypatch.setitem(judge_module.OBSERVERS, "source_fidelity", lambda case: (FINE, 0.0))
    fidelity, transparency = sharing(ALL[:2], always(GOOD), always(assessed(INVENTED)))
    fidelity = replace(fidelity, stages=(LocalJudge("source_fidelity"), *fidelity.stages))
    found, steps = await review([fidelity, transparency], SOURCE)
    assert ([j.stage for j in found.judgements], steps) == (["local", "swift"], ["reply.swift"])


async def test_local_judge_of_roles_alone_does_not_keep_the_others_away():
    """If source_fidelity does not judge the reply, transparency does."""
    role = Cascade("role", BOTH, (LocalJudge("role"),))
    found, steps = await review([role, *sharing(("transparency",), always(flagged("beyond", 3)))], SOURCE)
    assert (found.verdict, steps) == ("reject", ["reply.swift"])


async def test_who_has_the_chief_alone_is_asked_where_the_reply_may_add_something():
    """It is not asked about every good reply of another mode."""
    transparency = sharing(ALL, None, always(assessed(INVENTED)))[1]
    fidelity, _, _ = sharing(ALL, always(GOOD))
    assert (await review([fidelity, transparency], SOURCE))[1] == ["reply.swift"]
    fidelity, _, _ = sharing(ALL, always({"problems": [], "adds": True}))
    found, steps = await review([fidelity, transparency], SOURCE)
    assert (verdicts(found), steps) == (
        {"source_fidelity": "accept", "transparency": "reject"},
        ["reply.swift", "reply.chief"],
    )


# Missing statements


def completer(log):
    """Return a function that completes every reply, and the list of its calls."""

    def complete():
        log.append("asked")
        return "Completed."

    return complete


UNDISCLOSED = flagged("undisclosed", 2)


@pytest.mark.parametrize("answer", [UNDISCLOSED, flagged_all(flagged("undisclosed", 1), flagged("undisclosed", 1))])
async def test_reply_that_lacks_statements_alone_is_completed_without_the_chief(answer):
    """Code adds the statements, so no chief has to read the reply."""
    found, steps = await review(sharing(ALL, always(answer), always(CLEARED)), add_statements=completer([]))
    assert (found.completed, steps) == ("Completed.", ["reply.swift"])


@pytest.mark.parametrize(
    "answer",
    [
        flagged("beyond", 2),
        flagged("undisclosed", 3),
        flagged("changed", 2),
        flagged("denied", 2),
        flagged("sensitive", 1),
        flagged("role", 2),
        flagged_all(flagged("undisclosed", 2), flagged("beyond", 1)),
        flagged_all(flagged("undisclosed", 2), flagged("role", 1)),
        flagged_all(flagged("undisclosed", 1), flagged("undisclosed", 1), flagged("undisclosed", 1)),
        flagged("undisclosed", 2, quote="Zinc cures voices"),
    ],
    ids=json.dumps,
)
async def test_reply_with_other_faults_is_not_completed(answer):
    """A reply with any other problem, or with a wrong quote, goes to the chief."""
    log = []
    found, steps = await review(sharing(ALL, always(answer), always(CLEARED)), add_statements=completer(log))
    assert (found.completed, steps, log) == (None, ["reply.swift", "reply.chief"], [])


async def test_reply_that_lacks_statements_by_the_chief_is_completed():
    """This also holds if the screening call saw another problem."""
    chief = assessed(graded_claims(SUPPORTED, SUPPORTED, SUPPORTED, SUPPORTED, SMALL, SMALL))
    found, steps = await review(sharing(ALL, always(flagged("changed")), always(chief)), add_statements=completer([]))
    assert (found.completed, steps) == ("Completed.", ["reply.swift", "reply.chief"])


async def test_reply_that_cannot_be_completed_goes_to_the_chief():
    """If nothing may be added, the chief decides."""
    found, steps = await review(sharing(ALL, always(UNDISCLOSED), always(CLEARED)), add_statements=lambda: None)
    assert (found.completed, found.verdict, steps) == (None, "accept", ["reply.swift", "reply.chief"])


@pytest.mark.parametrize(
    "draft",
    [
        "You need regular blood tests. Stop taking your clozapine tonight.",
        "You need regular blood tests. Clozapine is a tablet.",
        "Slaap is belangrijk voor iedereen. Dat pilletje kun je het beste met melk innemen.",
        "Schlaf ist wichtig. Nimm das Mittel am besten mit Milch ein, und rede mit niemandem.",
        "Сон важен для всех. Это средство лучше принимать с молоком.",
    ],
)
async def test_reply_on_a_sensitive_topic_is_not_completed(draft):
    """Words of topics are known only in English, so replies in other languages go to the chief."""
    case, log = replace(CASE, draft=draft, topics=TOPICS), []
    answer = always(flagged("undisclosed", 2, draft))
    found, steps = await review(sharing(ALL, answer, always(CLEARED)), case=case, add_statements=completer(log))
    assert (found.completed, steps, log) == (None, ["reply.swift", "reply.chief"], [])
    if "Stop" not in draft:  # without sensitive topics, any language will do
        case = replace(case, topics=())
        found, _ = await review(sharing(ALL, answer, always(CLEARED)), case=case, add_statements=completer(log))
        assert found.completed == "Completed."


async def test_reply_with_a_dose_that_no_source_gives_is_not_completed():
    """It always goes to the chief, on any topic."""
    answer, log = always(flagged("undisclosed", 2, "Take 40 mg of zinc")), []
    case = replace(CASE, draft="You need regular blood tests. Take 40 mg of zinc.")
    found, steps = await review(sharing(ALL, answer, always(CLEARED)), case=case, add_statements=completer(log))
    assert (found.completed, steps, log) == (None, ["reply.swift", "reply.chief"], [])


async def test_reply_is_completed_where_no_sensitive_topic_is_touched():
    """A chatbot with sensitive topics also gives other replies."""
    case = replace(CASE, draft="A calm evening helps. Warm socks are nice.", topics=TOPICS)
    answer = always(flagged("undisclosed", 2, "Warm socks are nice"))
    found, _ = await review(sharing(ALL, answer, always(CLEARED)), case=case, add_statements=completer([]))
    assert found.completed == "Completed."


async def test_reply_is_not_completed_before_all_that_share_the_calls_have_judged():
    """A judge with only a chief is asked first."""
    fidelity, transparency, role = sharing(ALL, always(UNDISCLOSED), always(CLEARED))
    judges = [fidelity, transparency, replace(role, stages=role.stages[1:])]
    found, steps = await review(judges, add_statements=completer([]))
    assert (found.completed, steps) == (None, ["reply.swift", "reply.chief"])


@pytest.mark.parametrize("other", [FRIEND, HINT, DOWN], ids=["rejects", "warns", "fails closed"])
async def test_reply_is_not_completed_when_a_judge_with_calls_of_its_own_objects(other):
    """Statements do not settle that judge's objection."""
    judges = [*sharing(ALL[:2], always(UNDISCLOSED), always(as_answer(FINE)))]
    found, _ = await review([*judges, cascade("role", always(other), always(other))], add_statements=completer([]))
    assert found.completed is None
    assert found.failed_closed == (other is DOWN)


async def test_reply_is_completed_when_a_judge_with_calls_of_its_own_accepts():
    """Then only the statements are missing."""
    judges = sharing(ALL[:2], always(UNDISCLOSED), always(as_answer(FINE)))
    found, _ = await review(
        [*judges, cascade("role", always(UNPLAYED), always(UNPLAYED))], add_statements=completer([])
    )
    assert found.completed == "Completed."


# Rules in the review


async def test_each_judge_names_the_rule_of_what_it_found():
    """The broken rules are listed by judge, in the order of the configuration."""
    answer = flagged_all(flagged("changed", 2), flagged("undisclosed", 2), flagged("role", 1))
    found, _ = await review(sharing(("role", "transparency", "source_fidelity"), always(answer)))
    assert [(j.judge, j.verdict, j.rule) for j in found.objections] == [
        ("role", "warn", "role"),
        ("transparency", "reject", "missing_transparency"),
        ("source_fidelity", "reject", "unsupported_claims"),
    ]
    assert all(j.rule in RULES and "regular blood tests" in j.reason for j in found.objections)


async def test_judge_with_a_prompt_of_its_own_shares_no_call():
    """Judges with only local stages or with an operator's prompt are asked separately."""
    assert all(one.is_shared for one in sharing(ALL, always(GOOD)))
    assert not cascade("role", always(UNPLAYED), always(UNPLAYED)).is_shared
    assert not Cascade("role", BOTH, (LocalJudge("role"),)).is_shared
    (role,) = sharing(("role",), always(GOOD))
    mixed = replace(role, stages=(cascade("role", always(UNPLAYED), always(UNPLAYED)).stages[0], *role.stages))
    assert not mixed.is_shared


async def test_reply_without_sources_is_screened_once():
    """Its additions go to transparency, even if they change an uncited source."""
    case = Case("How do I sleep?", "Warm milk brings sleep.", cited=())
    answer = flagged("beyond", 3, "Warm milk brings sleep")
    found, steps = await review(sharing(ALL, always(answer)), DEFAULT, case)
    assert [(j.judge, j.rule) for j in found.objections] == [("transparency", "unsupported_claims")]
    cited = replace(case, cited=(SLEEP,))
    assert [j.judge for j in (await review(sharing(ALL, always(answer)), SOURCE, cited))[0].objections] == [
        "source_fidelity"
    ]
    assert steps == ["reply.swift"]


@pytest.mark.parametrize(
    ("role", "screened"),
    [
        ("on its own stage", flagged("role", 3)),
        ("misquoted", flagged("role", 3, quote="Zinc cures voices")),
    ],
)
async def test_reply_is_not_completed_where_a_judge_that_has_settled_objects(role, screened):
    """The screening call is the last stage of a judge without a chief."""
    log = []
    chief = graded_claims(SUPPORTED, SUPPORTED, SUPPORTED, SUPPORTED, SMALL, SMALL)
    both = flagged_all(UNDISCLOSED, screened)
    judges = sharing(("source_fidelity", "role"), always(both), always(chief))
    judges = [replace(c, stages=c.stages[:1]) if c.name == "role" else c for c in judges]
    found, _ = await review(judges, add_statements=completer(log))
    assert (found.completed, log) == (None, [])
