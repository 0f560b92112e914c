"""A reply gets its missing statements, and is otherwise unchanged."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.refiner import Statements, complete_statements

STATEMENTS = Statements(
    "Some of this is general knowledge and not from my sources.", "Please check it with your doctor or care team."
)
BOTH = f"{STATEMENTS.not_from_sources} {STATEMENTS.verify}"
WALKS = "Our groups meet in the library. Gentle exercise often lifts the mood."
ADMISSION = "This is not in my sources."
REFERRAL = "Please talk to your doctor about sleep."


@pytest.mark.parametrize("end", ["", " ", "\n", " \n", "\n\n"])
@pytest.mark.parametrize(
    "reply",
    [
        WALKS,
        "Die Gruppe trifft sich jede Woche. Bewegung hebt oft die Stimmung.",
        "El grupo se reúne cada semana. Caminar mejora el ánimo.",
        "Our groups meet in the library:\n- on Monday\n- with tea",
        "The times:\n```\nMonday\n```",
    ],
)
def test_missing_statements_are_the_last_paragraph(reply: str, end: str) -> None:
    """If the reply makes neither statement, both are added, in any language."""
    assert complete_statements(reply + end, STATEMENTS) == f"{reply}\n\n{BOTH}"


@pytest.mark.parametrize(
    ("said", "added"),
    [
        (REFERRAL, STATEMENTS.not_from_sources),
        (STATEMENTS.verify, STATEMENTS.not_from_sources),
        (ADMISSION, STATEMENTS.verify),
        (f"{ADMISSION} {REFERRAL}", STATEMENTS.not_from_sources),
    ],
)
@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_statement_that_a_reply_makes_is_not_repeated(said: str, added: str, line: str) -> None:
    """Only the other statement is added. If the reply seems to make both, the one on its sources is added."""
    reply = f"{said}{line}{line}{WALKS}"
    assert complete_statements(reply, STATEMENTS) == f"{reply}{line}{line}{added}"


def test_completed_reply_is_not_completed_again() -> None:
    """A further objection of a judge must have another reason."""
    assert complete_statements(complete_statements(WALKS, STATEMENTS) or "", STATEMENTS) is None


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps({"answer": WALKS}),
        "\n " + json.dumps([WALKS], indent=2),
        f"```json\n{json.dumps({'answer': WALKS})}\n```",
        f"{WALKS}\n```\nMonday",
        f"{WALKS}\n> ~~~\n> Monday",
    ],
)
def test_json_and_code_are_not_completed(reply: str) -> None:
    """A sentence after a JSON document or within an open code block would break it."""
    assert complete_statements(reply, STATEMENTS) is None


@given(st.text("aB.:\n\r \t-*\u2028"))
def test_no_word_of_the_reply_is_lost(reply: str) -> None:
    """The statements follow the reply as a separate paragraph."""
    completed = complete_statements(reply, STATEMENTS)
    assert completed is not None
    assert completed.startswith(reply.rstrip())
    assert completed.removesuffix(BOTH).rstrip() == reply.rstrip()
    assert completed.removesuffix(BOTH)[len(reply.rstrip()) :].count("\n") > 1
