"""The review table: export and import."""

import csv
from datetime import date
from io import StringIO

import pytest

from knowledge_base.pairs.review import read_tables, render_table
from knowledge_base.pairs.words import Words
from tests.knowledge_base.pairs.examples import pair, review

WORDS = Words("german")
TODAY = date(2026, 1, 31)
FILLED = {"answer ok": "ja", "topic ok": "ja", "wording ok": "ja", "reviewer": "Dr. Weiß", "date": "31.1.2026"}


def rows(text: str) -> list[dict[str, str]]:
    return [*csv.DictReader(StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=";")]


def fill(text: str, encoding: str = "utf-8-sig", **cells: str) -> bytes:
    """Return a review table in which an expert has filled in all rows."""
    file = StringIO(newline="")
    filled = [row | {name.replace("_", " "): cell for name, cell in cells.items()} for row in rows(text)]
    writer = csv.DictWriter(file, [*filled[0]], delimiter=";")
    writer.writeheader()
    writer.writerows(filled)
    return file.getvalue().encode(encoding)


def take(given=None, encoding: str = "utf-8-sig", **cells: str):
    given = given or pair()
    filled = FILLED | {name.replace("_", " "): cell for name, cell in cells.items()}
    (reviewed,), problems = read_tables(
        {"t.csv": fill(render_table([given], WORDS), encoding, **filled)}, [given], WORDS, TODAY
    )
    return reviewed, problems


def test_a_table_opens_in_german_excel() -> None:
    """The table has a byte order mark and semicolons, and no cell is a formula."""
    text = render_table([pair('=2+2; "so"\tÜber'), pair(id="b", review=review(topic_ok=False))], WORDS)
    assert text.startswith(
        "\ufeffid;question;variants;answer;topic;subtopic;document;aspect;complexity;source;quotes;answer ok;"
    )
    first, second = rows(text)
    assert first["question"] == '\'=2+2; "so"\tÜber'
    assert first["answer ok"] is None
    assert (second["answer ok"], second["topic ok"], second["date"]) == ("yes", "no", "2026-01-31")


def test_a_review_comes_back() -> None:
    """German marks and dates are accepted. A second import changes nothing."""
    reviewed, problems = take()
    assert (reviewed.review, problems) == (review(), [])
    assert take(reviewed)[0] == reviewed


def test_a_correction_is_taken_over() -> None:
    """A corrected text counts as ok, and complexity and recommendation are updated."""
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
    """Excel saves plain "CSV" as Windows-1252."""
    given = pair("=Was ist hoher Blutdruck für ältere?")
    reviewed, problems = take(given, "cp1252")
    assert (reviewed.question, reviewed.review, problems) == (given.question, review(), [])


def test_a_corrected_question_loses_the_wordings_of_the_old_one() -> None:
    """A corrected question drops the variants, because they could match wrongly. A corrected answer keeps them."""
    given = pair(variants=("Was bedeutet Bluthochdruck?", "=Hochdruck, was ist das?"))
    assert rows(render_table([given], WORDS))[0]["variants"] == "Was bedeutet Bluthochdruck? | =Hochdruck, was ist das?"
    reviewed, problems = take(given, corrected_question="Welcher Bluthochdruck ist gefährlich?")
    assert (reviewed.variants, problems) == ((), [])
    assert take(given, corrected_answer="Anders.")[0].variants == given.variants
    assert take(given, corrected_question="Was ist Bluthochdruck")[0].variants == given.variants


def test_what_is_exported_is_imported_without_a_change() -> None:
    """This holds after a correction, after a rejection, with a reformatted date, and for a table imported before."""
    filled = {
        "answer_ok": "nein",
        "error_kind": "omits",
        "corrected_answer": "Anders.",
        "corrected_question": "Was nun?",
    }
    corrected, _ = take(**filled)
    rejected = pair(id="b", review=review(answer_ok=False, error="wrong", reviewer="Dr.  Weiß"))
    table = render_table([corrected, rejected], WORDS)
    for text in (table, table.replace("2026-01-31", "31.01.2026").replace(";yes", ";JA")):
        given = [corrected, rejected]
        assert read_tables({"t": text.encode()}, given, WORDS, TODAY) == (given, [])
    once_more = fill(
        render_table([pair()], WORDS), **FILLED | {name.replace("_", " "): cell for name, cell in filled.items()}
    )
    assert read_tables({"t": once_more}, [corrected], WORDS, TODAY) == ([corrected], [])


def test_white_space_is_no_change_of_a_text() -> None:
    """Spreadsheets lose double spaces and line ends. The stored text stays unchanged."""
    given = pair("Was\u00a0ist  Bluthochdruck?", answer="Der Druck\nist  zu hoch.")
    reviewed, problems = take(given)
    assert (reviewed.question, reviewed.answer, problems) == (given.question, given.answer, [])
    assert reviewed.variants == given.variants


def test_an_empty_row_says_nothing() -> None:
    """Empty rows, which spreadsheets leave behind, are ignored."""
    table = render_table([pair()], WORDS) + ";;;;;\r\n ; ;\r\n\r\n"
    assert read_tables({"t.csv": table.encode()}, [pair()], WORDS, TODAY) == ([pair()], [])


def test_a_table_of_an_older_export_is_read() -> None:
    """Older tables have no column for variants."""
    table = fill(render_table([pair()], WORDS), **FILLED).decode("utf-8-sig").splitlines()
    header, row = (next(csv.reader([line], delimiter=";")) for line in table)
    place = header.index("variants")
    old = "\n".join(";".join(cells[:place] + cells[place + 1 :]) for cells in (header, row))
    assert read_tables({"t": old.encode()}, [pair()], WORDS, TODAY) == ([pair(review=review())], [])


def test_a_row_that_is_not_filled_in_says_nothing() -> None:
    """An existing review stays."""
    given = pair(review=None)
    assert read_tables({"t.csv": render_table([given], WORDS).encode()}, [given], WORDS, TODAY) == ([given], [])


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"id": "nobody"}, "t.csv: row 2: id: no pair 'nobody' in the knowledge base; delete the row"),
        ({"answer_ok": "vielleicht"}, "t.csv: row 2: answer ok, topic ok, wording ok: expected yes or no in each"),
        ({"topic_ok": ""}, "expected yes or no in each"),
        (
            {"answer_ok": "nein"},
            "error kind: expected a value if the answer or its wording is not ok, else an empty cell",
        ),
        ({"error_kind": "omits"}, "error kind: expected a value"),
        (
            {"answer_ok": "no", "error_kind": "bad"},
            "t.csv: row 2: error: invalid value 'bad': expected 'wrong', 'omits'",
        ),
        ({"reviewer": " "}, "t.csv: row 2: reviewer: is empty"),
        ({"date": "gestern"}, "t.csv: row 2: date: invalid value"),
        ({"date": "31.2.2026"}, "t.csv: row 2: date: invalid value"),
        ({"date": "1.2.2026"}, "t.csv: row 2: date: '1.2.2026' is in the future; write the date of the review"),
        ({"date": "31/1/2026"}, "; write it as 2026-01-31 or 31.1.2026"),
        ({"answer": "Anders."}, "question or answer: the pair has changed since the export; export the table again"),
    ],
)
def test_a_wrong_row_is_named(cells: dict[str, str], said: str) -> None:
    """The message has the file and the row."""
    reviewed, problems = take(**cells)
    assert reviewed == pair()
    assert len(problems) == 1
    assert said in problems[0]


def test_tables_are_whole() -> None:
    """All columns are required, other columns are refused, and a pair may occur only once."""
    table = fill(render_table([pair()], WORDS), **FILLED)
    assert read_tables({"a": table, "b": table}, [pair()], WORDS, TODAY)[1] == [
        "b: row 2: duplicate id 'bluthochdruck-definition-1'; delete one of the rows"
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda table: b"id,question\n",
            "t: the table has no column 'answer'; export the table again, and save it as CSV",
        ),
        (lambda table: b"", "t: the table has no column 'id'"),
        (
            lambda table: table.replace(b";date", b";date;Notiz"),
            "t: unknown column 'Notiz'; delete it, because the import would ignore its cells",
        ),
        (lambda table: table.replace(b"31.1.2026", b"31.1.2026;x"), "t: line 2: the row has more cells than columns"),
        (
            lambda table: table.decode("utf-8-sig").encode("utf-16"),
            "t: the file is neither UTF-8 nor Windows-1252 text; save it as CSV",
        ),
        (
            lambda table: table.replace(b"31.1.2026", b"3" * 200_000),
            "t: line 2: field larger than field limit (131072); shorten the cell, or close its quotation marks",
        ),
        (lambda table: b"PK\x03\x04\x00\x81", "t: the file is neither UTF-8 nor Windows-1252 text"),
    ],
)
def test_what_is_no_such_table_is_named(change, said: str) -> None:
    """The message has a remedy, and no pair is changed."""
    table = change(fill(render_table([pair()], WORDS), **FILLED))
    pairs, problems = read_tables({"t": table}, [pair()], WORDS, TODAY)
    assert (pairs, len(problems)) == ([pair()], 1)
    assert said in problems[0]


def test_tables_are_as_the_language_writes_them() -> None:
    """English tables have commas and English marks. A table with any delimiter is read."""
    english = Words("english")
    table = render_table([pair()], english)
    assert table.startswith("\ufeffid,question,variants,answer,")
    assert read_tables({"t": table.encode()}, [pair()], english, TODAY)[1] == []
    _, problems = read_tables(
        {"t": fill(render_table([pair()], WORDS), **FILLED | {"answer ok": "Y"})}, [pair()], english, TODAY
    )
    assert problems == ["t: row 2: answer ok, topic ok, wording ok: expected yes or no in each of these columns"]
    marks = {"answer ok": "Y", "topic ok": "yes", "wording ok": "yes"}
    assert read_tables({"t": fill(render_table([pair()], WORDS), **FILLED | marks)}, [pair()], english, TODAY)[1] == []


def test_a_correction_may_not_take_the_wording_of_another_cluster() -> None:
    """The answer to such a wording would be ambiguous."""
    other = pair("Was ist Hypertonie?", id="other", cluster="other", variants=())
    table = fill(render_table([pair()], WORDS), **FILLED | {"corrected question": "Was ist Hypertonie?"})
    _, problems = read_tables({"t.csv": table}, [other, pair()], WORDS, TODAY)
    assert problems == [
        "wording 'Was ist Hypertonie?' belongs to two clusters: other and bluthochdruck-definition-1; remove it from one of them"
    ]
