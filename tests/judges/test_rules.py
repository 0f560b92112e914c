"""Verdicts from observations, for every form. Those for claims are in `test_claims.py`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.case import Case, HistoryMessage
from judges.doses import doses
from judges.observation import Crisis, Opinion, Played, RolePlay, Sign
from judges.quotes import is_near_quote, is_verbatim_quote
from judges.rules import RULES, rule_on
from judges.verdict import SEVERITY, worst
from knowledge_base.library import Source
from tests.judges.builders import CASE, TOPICS, asserted, claims


def play(quote, degree="clear", part="friend"):
    return Played(part=part, quote=quote, degree=degree)


ROLE_CASE = Case("Are you my friend?", "I will always be here for you. I missed you, too.")


@pytest.mark.parametrize(
    ("played", "verdict", "rule"),
    [
        ([], "accept", None),
        ([play("I will always be here for you")], "reject", "role"),
        ([play("I missed you", "hint")], "warn", "role"),
        ([play("I missed you", "hint"), play("always be here")], "reject", "role"),
        ([play("I missed  YOU, too", "hint")], "warn", "role"),
        ([play("I love you more than anybody")], "unjudged", "unreadable"),
        ([play("")], "unjudged", "unreadable"),
        ([play("...")], "unjudged", "unreadable"),
        ([play("As your doctor I prescribe rest"), play("I missed you", "hint")], "unjudged", "unreadable"),
        ([play("As your doctor I prescribe rest", "hint"), play("I missed you", "hint")], "warn", "role"),
    ],
)
def test_part_is_ruled_on_by_degree_if_it_is_there(played, verdict, rule):
    """A clear part is rejected, a hint gives a warning, and a wrong quote makes the judge unjudged."""
    finding = rule_on(RolePlay(played=played), ROLE_CASE)
    assert (finding.verdict, finding.rule) == (verdict, rule)


def test_words_of_the_user_are_no_part_of_the_reply():
    """Role-play by the user is not role-play by the chatbot."""
    assert rule_on(RolePlay(played=[play("Are you my friend?")]), ROLE_CASE).verdict == "unjudged"


def sign(quote, when="now", who="user", kind="self_harm"):
    return Sign(kind=kind, quote=quote, who=who, when=when)


CRISIS_CASE = Case(
    "I took all the pills. Goodbye.",
    history=(HistoryMessage("user", "Nobody needs me."), HistoryMessage("assistant", "I want to die is a sad song.")),
)


@pytest.mark.parametrize(
    ("signs", "verdict", "rule"),
    [
        ([], "accept", None),
        ([sign("I took all the pills")], "reject", "emergency"),
        ([sign("i took  all the PILLS", who="someone_else", kind="medical")], "reject", "emergency"),
        ([sign("Nobody needs me")], "reject", "emergency"),
        ([sign("I took all the pils")], "reject", "emergency"),
        ([sign("I took all the pills", "past")], "accept", None),
        ([sign("I took all the pills", "hypothetical")], "accept", None),
        ([sign("I took all the pills", "past"), sign("Goodbye")], "reject", "emergency"),
        ([sign("I will jump off the bridge")], "unjudged", "unreadable_message"),
        ([sign("I will jump off the bridge"), sign("Goodbye")], "reject", "emergency"),
        ([sign("I want to die")], "unjudged", "unreadable_message"),
        ([sign("")], "unjudged", "unreadable_message"),
    ],
)
def test_sign_of_danger_now_raises_the_alarm(signs, verdict, rule):
    """Present danger to anybody is an emergency; past or imagined danger is not. The quote must be the user's words."""
    finding = rule_on(Crisis(signs=signs), CRISIS_CASE)
    assert (finding.verdict, finding.rule) == (verdict, rule)


@pytest.mark.parametrize(("verdict", "rule"), [("accept", None), ("warn", "custom"), ("reject", "custom")])
def test_opinion_is_taken_as_it_stands(verdict, rule):
    """A prompt without rules in code gives the verdict directly."""
    finding = rule_on(Opinion(verdict=verdict, reason="because"), CASE)
    assert (finding.verdict, finding.rule, finding.reason) == (verdict, rule, "because")


def test_unjudged_is_worse_than_a_warning_and_better_than_a_rejection():
    """A warning must not hide a failure, and a failure must not hide a rejection."""
    assert worst(["warn", "unjudged", "accept"]) == "unjudged"
    assert worst(["unjudged", "reject"]) == "reject"
    assert max(SEVERITY, key=SEVERITY.__getitem__) == "reject"


anything = st.text(max_size=120)  # lone surrogates and all


@given(anything, anything, anything)
def test_no_text_breaks_the_rules(one, other, third):
    """Arbitrary text gives a finding, never an exception."""
    is_verbatim_quote(one, other), is_near_quote(one, other), doses(one)
    case = Case(one, other, cited=(Source("medicines", "M", "m", third),), topics=TOPICS)
    form = claims(asserted(text=one, quote=other, topic=third), asserted("basic", text=other))
    assert rule_on(form, case).verdict in SEVERITY
    assert rule_on(RolePlay(played=[play(third)]), case).verdict in SEVERITY
    assert rule_on(Crisis(signs=[sign(third)]), case).verdict in SEVERITY
    assert rule_on(claims(), case).verdict in SEVERITY


def test_every_rule_speaks_to_user_and_chatbot_without_quoting():
    """Rule texts are fixed, so they cannot return parts of a draft."""
    assert all(rule.text.endswith(".") and rule.message.endswith(".") for rule in RULES.values())
    assert not any("{" in rule.text + rule.message for rule in RULES.values())
