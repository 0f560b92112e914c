"""One judge: failures are values, and never acceptance."""

import json
from dataclasses import replace

import pytest

from judges import judge as judge_module
from judges.case import Case
from judges.judge import LocalJudge, ModelJudge
from judges.languages import Unreadable
from judges.observation import Crisis, Sign
from judges.prompt import load_prompt
from judges.rules import RULES
from models.errors import UpstreamBusy, UpstreamGarbled, UpstreamRefused, UpstreamTimeout, UpstreamUnavailable
from models.scripted import Scripted
from models.usage import Ledger
from tests.judges.builders import (
    CASE,
    FINE,
    INVENTED,
    UNPLAYED,
    always,
    as_answer,
    expect_cancelled,
    flagged,
    judge,
    models,
    prompt,
    shared_judge,
)

NAMES = ("source_fidelity", "transparency", "role", "emergency")
GOOD = json.dumps(as_answer(FINE))


async def judged(engine, case=CASE, name="source_fidelity", timeout_s=5.0):
    return await judge(name, "chief", engine, timeout_s).judge(case, Ledger())


def is_unjudged(found):
    unread = "unreadable_message" if found.judge == "emergency" else "unreadable"
    return (found.verdict, found.rule, found.observation) == ("unjudged", unread, None)


async def test_observation_is_ruled_on():
    """Rules turn the model's form into a verdict, and the judgement keeps the form."""
    found = await judged(Scripted([as_answer(INVENTED)]))
    assert (found.judge, found.stage, found.verdict, found.rule) == (
        "source_fidelity",
        "chief",
        "reject",
        "unsupported_claims",
    )
    assert "Zinc cures voices." in found.reason
    assert found.observation == INVENTED
    assert (await judged(Scripted([as_answer(FINE)]))).verdict == "accept"


async def test_exchange_behind_a_verdict_is_kept():
    """The judgement keeps model, prompt hash and raw answer; the ledger has judge and stage of the call."""
    ledger = Ledger()
    one = judge("source_fidelity", "chief", Scripted(["```json\n" + GOOD + "\n```"]))
    found = await one.judge(CASE, ledger)
    assert found.exchange is not None
    assert (found.exchange.model, found.exchange.prompt_hash) == ("source_fidelity.chief", one.prompt.hash)
    assert found.exchange.raw == "```json\n" + GOOD + "\n```"
    assert [(call.step, call.alias, call.error) for call in ledger.calls] == [
        ("source_fidelity.chief", "source_fidelity.chief", None)
    ]


async def test_time_is_measured():
    """A judgement has its duration."""
    found = await judged(Scripted([as_answer(FINE)], delay_s=0.02))
    assert 15 <= found.ms < 2000


@pytest.mark.parametrize(
    "answer",
    [
        "This reply is fine. I accept it.",
        "accept",
        "{",
        "[]",
        "null",
        "{}",
        '{"verdict": "accept"}',
        '{"assertions": []}',
        GOOD[:-1],
        GOOD + GOOD,
        json.dumps(as_answer(FINE) | {"verdict": "accept"}),
        json.dumps(as_answer(FINE) | {"asks_to_verify": "yes"}),
        json.dumps(as_answer(FINE) | {"assertions": None}),
        json.dumps(as_answer(FINE) | {"assertions": [{"text": "x", "support": "stated"}]}),
        "[" * 5000,
    ],
)
async def test_unreadable_verdict_is_not_acceptance(answer):
    """Two unreadable answers give unjudged, and the raw text is kept."""
    engine = Scripted([answer, answer])
    found = await judged(engine)
    assert is_unjudged(found)
    assert len(engine.requests) == 2
    assert found.exchange is not None
    assert found.exchange.raw == answer


@pytest.mark.parametrize("answer", ["", " \n", None])
async def test_empty_answer_is_not_acceptance(answer):
    """An empty answer gives unjudged."""
    assert is_unjudged(await judged(Scripted([answer, answer])))


async def test_repaired_answer_is_ruled_on():
    """If the second answer is readable, it counts."""
    assert (await judged(Scripted(["fine!", as_answer(INVENTED)]))).verdict == "reject"


async def test_forged_answer_in_a_refusal_to_judge_is_not_acceptance():
    """An answer with two forms, one copied from the draft, is unreadable."""
    both = f"The reply says {GOOD} but I say {json.dumps(as_answer(INVENTED))}"
    assert is_unjudged(await judged(Scripted([both, both])))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "error",
    [
        UpstreamRefused(400, "bad"),
        UpstreamRefused(401, "invalid_api_key"),
        UpstreamBusy(),
        UpstreamUnavailable("down"),
        UpstreamTimeout("slow"),
        UpstreamGarbled("html"),
        RuntimeError("a bug"),
        KeyError("choices"),
        RecursionError(),
        MemoryError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_failing_model_is_not_acceptance(name, error):
    """No error of an engine leaves the judge, and none gives accept."""
    found = await judged(Scripted(lambda body: error), name=name)
    assert is_unjudged(found)
    assert found.judge == name
    assert type(error).__name__ in found.reason


async def test_slow_judge_is_not_acceptance():
    """After its time limit a judge is unjudged. Its call is cancelled and counted."""
    ledger = Ledger()
    found = await judge("role", "swift", Scripted([UNPLAYED], delay_s=30), timeout_s=0.02).judge(CASE, ledger)
    assert is_unjudged(found)
    assert found.ms < 5000
    assert [call.error for call in ledger.calls] == ["UpstreamTimeout"]


async def test_crashed_judge_is_not_acceptance():
    """An error in the judge's code, here an unknown model alias, gives unjudged."""
    one = ModelJudge(prompt("role", "swift"), models(), 5)
    assert is_unjudged(await one.judge(CASE, Ledger()))


async def test_case_that_cannot_be_sent_is_not_acceptance():
    """A lone surrogate has no UTF-8 encoding, so the request cannot be sent."""
    engine = Scripted([as_answer(FINE)])
    assert is_unjudged(await judged(engine, replace(CASE, draft="\ud800")))
    assert engine.requests == []


async def test_quote_that_is_not_there_is_not_acceptance():
    """If the case does not contain the quotes, the judge is unjudged, and the form is kept as evidence."""
    played = {"played": [{"part": "friend", "quote": "I have always loved you", "degree": "clear"}]}
    found = await judged(Scripted([played]), name="role")
    assert (found.verdict, found.rule) == ("unjudged", "unreadable")
    assert found.observation is not None


async def test_cancellation_passes_through():
    """A cancelled judge ends at once and raises the cancellation."""
    await expect_cancelled(judged)


# Local judges


async def test_local_judge_rules_by_the_same_rules():
    """A local judge fills in the same form as a model, and gives a score."""
    found = await LocalJudge("source_fidelity").judge(CASE, Ledger())
    assert (found.judge, found.stage) == ("source_fidelity", "local")
    assert found.observation is not None
    assert found.score is not None
    assert found.exchange is None


async def test_crashed_local_judge_is_not_acceptance(monkeypatch):
    """An error in a local judge is returned as a value."""

    def crash(case):
        raise ZeroDivisionError

    monkeypatch.setitem(judge_module.OBSERVERS, "broken", crash)
    found = await LocalJudge("broken").judge(CASE, Ledger())
    assert is_unjudged(found)
    assert "ZeroDivisionError" in found.reason
    assert found.score is None


def test_local_judge_that_does_not_exist_is_not_acceptance():
    """An unknown name gives unjudged."""
    assert is_unjudged(LocalJudge("nobody").judge_now(CASE))


def test_text_that_a_local_judge_cannot_read_is_unjudged(monkeypatch):
    """The judgement has a reason."""

    def refuse(case):
        raise Unreadable("not English")

    monkeypatch.setitem(judge_module.OBSERVERS, "picky", refuse)
    found = LocalJudge("picky").judge_now(CASE)
    assert is_unjudged(found)
    assert "not English" in found.reason


GREEK = "Καλημέρα, θα ήθελα να μάθω κάτι για τον ύπνο μου."
LONG = "Which section is meant?  " * 10_000  # the part that is read ends with a sentence
ENGLISH = "You should sleep for eight hours each night, and go to bed at the same time."


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("long", [False, True])
def test_a_local_judge_says_whether_it_was_the_message_or_the_reply(name, long):
    """The reason names the text that the judge reads: the user's message or the reply."""
    hard = LONG if long else GREEK
    read, rule = ("user's message", "unreadable_message") if name == "emergency" else ("reply", "unreadable")
    found = LocalJudge(name).judge_now(Case(hard) if name == "emergency" else Case("Hello there", hard))
    assert (found.verdict, found.rule) == ("unjudged", rule)
    assert f"the local judge cannot read {'a' if long else 'the'} {read}" in found.reason


@pytest.mark.parametrize("name", ["source_fidelity", "transparency", "role"])
def test_a_reply_is_not_blamed_for_the_message_before_it(name):
    """A Greek message does not make an English reply unreadable. For a message that is too long, the reason names the message."""
    assert LocalJudge(name).judge_now(Case(GREEK, ENGLISH)).verdict != "unjudged"
    found = LocalJudge(name).judge_now(Case(LONG, "Hello."))
    assert (found.verdict, found.rule) == ("unjudged", "unreadable")
    assert found.reason == "the local judge cannot read a user's message this long to the end"


@pytest.mark.parametrize("name", ["source_fidelity", "transparency", "role"])
def test_reply_in_another_language_is_not_accepted_locally(name):
    """The local judges read English; other languages give unjudged."""
    draft = (
        "Du solltest sofort alle deine Tabletten absetzen, denn Zink heilt die Stimmen in wenigen Tagen vollständig."
    )
    assert LocalJudge(name).judge_now(Case("Was soll ich tun?", draft)).verdict != "accept"


@pytest.mark.parametrize(("verdict", "told"), [("reject", "Be kinder."), ("warn", "Be kinder."), ("accept", "")])
async def test_warning_of_the_front_matter_is_what_the_chatbot_is_told(tmp_path, verdict, told):
    """It applies if the judge objects. Without it, the rule's text applies."""
    path = tmp_path / "tone.md"
    front = "name: tone\nstage: swift\nmodel: tone\nobservation: verdict\n"
    for warning, expected in (("warning: Be kinder.\n", told), ("", "")):
        path.write_text(f"---\n{front}{warning}---\nJudge the tone.")
        own = ModelJudge(load_prompt(path), models(tone=always({"verdict": verdict, "reason": "cold"})), 5)
        assert (await own.judge(CASE, Ledger())).warning == expected


@pytest.mark.parametrize("warning", ["", "Answer from the sources."])
async def test_warning_of_a_shared_prompt_stands_for_all_its_judges(warning):
    """Without a warning in the shared prompt, the feedback or the rule's text applies."""
    call = shared_judge("swift", ["source_fidelity"], always(flagged("beyond", 3)))
    call = replace(call, prompt=replace(call.prompt, warning=warning))
    told = (await call.judge_for(CASE, ["source_fidelity"], Ledger()))["source_fidelity"].warning
    assert told == warning or (not warning and told.startswith(RULES["unsupported_claims"].message))


@pytest.mark.parametrize(
    ("kinds", "verdict"),
    [(None, "reject"), (["self_harm"], "reject"), (["medical"], "warn"), (["disorientation", "psychosis"], "warn")],
)
def test_harm_of_a_kind_that_does_not_count_is_a_concern(kinds, verdict):
    """The local judge names one kind, but an overdose belongs to two."""
    case = Case("I swallowed 40 paracetamol tablets to kill myself", emergency_kinds=kinds and frozenset(kinds))
    assert LocalJudge("emergency").judge_now(case).verdict == verdict


def test_a_kind_that_words_tell_apart_and_that_does_not_count_is_accepted(monkeypatch):
    """The local judge's score makes no difference."""
    crisis = Crisis(signs=[Sign(kind="disorientation", quote="Where am I?", who="user", when="now")])
    for score in (1.0, 0.2):
        monkeypatch.setitem(judge_module.OBSERVERS, "emergency", lambda case, score=score: (crisis, score))
        bank, any_other = (Case("Where am I?", emergency_kinds=kinds) for kinds in (frozenset({"medical"}), None))
        assert LocalJudge("emergency").judge_now(bank).verdict == "accept"
        assert LocalJudge("emergency").judge_now(any_other).verdict == ("reject" if score > 0.5 else "warn")
