"""The experts' table: what leaves and what comes back."""

import csv
from io import StringIO

import pytest

from knowledge_base.pairs.review import read_tables, render_table
from knowledge_base.pairs.words import Words
from tests.knowledge_base.pairs.examples import pair, review

WORDS = Words("german")
FILLED = {"answer ok": "ja", "topic ok": "ja", "wording ok": "ja", "reviewer": "Dr. Weiß", "date": "31.1.2026"}


def rows(text: str) -> list[dict[str, str]]:
    return [*csv.DictReader(StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=";")]


def fill(text: str, encoding: str = "utf-8-sig", **cells: str) -> bytes:
    """Return a table whose rows an expert has filled in."""
    file = StringIO(newline="")
    filled = [row | {name.replace("_", " "): cell for name, cell in cells.items()} for row in rows(text)]
    writer = csv.DictWriter(file, [*filled[0]], delimiter=";")
    writer.writeheader()
    writer.writerows(filled)
    return file.getvalue().encode(encoding)


def take(given=None, encoding: str = "utf-8-sig", **cells: str):
    given = given or pair()
    filled = FILLED | {name.replace("_", " "): cell for name, cell in cells.items()}
    (reviewed,), problems = read_tables({"t.csv": fill(render_table([given]), encoding, **filled)}, [given], WORDS)
    return reviewed, problems


def test_a_table_opens_in_german_excel() -> None:
    """With a byte order mark and semicolons; no cell is a formula."""
    text = render_table([pair('=2+2; "so"\tÜber'), pair(id="b", review=review(topic_ok=False))])
    assert text.startswith(
        "\ufeffid;question;answer;topic;subtopic;document;aspect;complexity;source;quotes;answer ok;"
    )
    first, second = rows(text)
    assert first["question"] == '\'=2+2; "so"\tÜber'
    assert first["answer ok"] is None
    assert (second["answer ok"], second["topic ok"], second["date"]) == ("yes", "no", "2026-01-31")


def test_a_review_comes_back() -> None:
    """With the marks and the date as a German spreadsheet writes them; once more, it is the same."""
    reviewed, problems = take()
    assert (reviewed.review, problems) == (review(), [])
    assert take(reviewed)[0] == reviewed


def test_a_correction_is_taken_over() -> None:
    """What was corrected counts as ok, and what follows from the texts is new."""
    reviewed, problems = take(
        answer_ok="nein", error_kind="omits", corrected_answer="Der Druck\nist hoch. " + "Fragen " * 25,
        corrected_question="Bluthochdruck, was ist das?",
    )  # fmt: skip
    assert problems == []
    assert reviewed.served
    assert reviewed.review == review(error="omits")
    assert (reviewed.id, reviewed.complexity, reviewed.recommendation) == (pair().id, "complex", "")
    assert reviewed.answer.startswith("Der Druck ist hoch. Fragen")
    rejected, _ = take(answer_ok="nein", error_kind="wrong")
    assert not rejected.served


def test_formulas_and_old_encodings_come_back(tmp_path: object) -> None:
    """As Excel saves what is not "CSV UTF-8"."""
    given = pair("=Was ist hoher Blutdruck für ältere?")
    reviewed, problems = take(given, "cp1252")
    assert (reviewed.question, reviewed.review, problems) == (given.question, review(), [])


def test_a_row_that_is_not_filled_in_says_nothing() -> None:
    """The review that the pair has stays."""
    given = pair(review=None)
    assert read_tables({"t.csv": render_table([given]).encode()}, [given], WORDS) == ([given], [])


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"id": "nobody"}, "t.csv: row 2: id: 'nobody' is no pair"),
        ({"answer_ok": "vielleicht"}, "t.csv: row 2: answer ok, topic ok, wording ok: write yes or no in each"),
        ({"topic_ok": ""}, "write yes or no in each"),
        ({"answer_ok": "nein"}, "error kind: name one if the answer or its wording is not ok, and only then"),
        ({"error_kind": "omits"}, "error kind: name one"),
        ({"answer_ok": "no", "error_kind": "bad"}, "t.csv: row 2: error: Input should be 'wrong', 'omits'"),
        ({"reviewer": " "}, "t.csv: row 2: reviewer: String should have at least 1 character"),
        ({"date": "gestern"}, "t.csv: row 2: date: Input should be a valid date"),
        ({"date": "31.2.2026"}, "t.csv: row 2: date: Input should be a valid date"),
        ({"answer": "Anders."}, "question or answer: changed since the export; export again"),
    ],
)
def test_a_wrong_row_is_named(cells: dict[str, str], said: str) -> None:
    """With table and row."""
    reviewed, problems = take(**cells)
    assert reviewed == pair()
    assert len(problems) == 1
    assert said in problems[0]


def test_tables_are_whole() -> None:
    """Each column is there, and each pair at most once."""
    table = fill(render_table([pair()]), **FILLED)
    assert read_tables({"a": b"id,question\n"}, [pair()], WORDS)[1] == [
        "a: has no column 'id'; save the exported table as CSV with semicolons"
    ]
    assert read_tables({"a": table, "b": table}, [pair()], WORDS)[1] == [
        "b: row 2: id: 'bluthochdruck-definition-1' is there twice"
    ]
