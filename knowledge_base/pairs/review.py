"""Pure: the experts' table, CSV as German Excel opens it, with a row for each pair."""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO

from pydantic import ValidationError

from knowledge_base.pairs.pair import Pair, Review
from knowledge_base.pairs.words import Words

_OURS = ("id", "question", "answer", "topic", "subtopic", "document", "aspect", "complexity", "source", "quotes")
_OK = ("answer ok", "topic ok", "wording ok")
_THEIRS = (*_OK, "error kind", "corrected answer", "corrected question", "reviewer", "date")
_MARKS = dict.fromkeys(("yes", "y", "ok", "ja", "j"), True) | dict.fromkeys(("no", "n", "not", "nein"), False)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that a spreadsheet would calculate."""


def render_table(pairs: Sequence[Pair]) -> str:
    """Write pairs as a table, with the reviews that they have."""
    file = StringIO(newline="")
    writer = csv.writer(file, delimiter=";")
    writer.writerow((*_OURS, *_THEIRS))
    for pair in pairs:
        fields = pair.model_dump() | {"quotes": " | ".join(pair.quotes)}
        said, theirs = pair.review, list[str]()
        if said is not None:
            marks = ["yes" if one else "no" for one in (said.answer_ok, said.topic_ok, said.wording_ok)]
            theirs = [*marks, said.error or "", "", "", said.reviewer, said.date.isoformat()]
        cells = [*(fields[name] for name in _OURS), *theirs]
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return "\ufeff" + file.getvalue()


def read_tables(tables: Mapping[str, bytes], pairs: Sequence[Pair], words: Words) -> tuple[list[Pair], list[str]]:
    """Return the pairs with the reviews of tables by their names, and what is wrong, by table and row.

    A row in which an expert has filled in nothing says nothing.
    """
    known, reviewed = {pair.id: pair for pair in pairs}, dict[str, Pair]()
    problems = []
    for name, content in tables.items():
        reader = csv.DictReader(StringIO(_decode(content), newline=""), delimiter=";")
        if missing := [one for one in (*_OURS, *_THEIRS) if one not in (reader.fieldnames or ())]:
            problems.append(f"{name}: has no column {missing[0]!r}; save the exported table as CSV with semicolons")
            continue
        for number, cells in enumerate(reader, 2):
            row = {column: _read_cell(cells[column]) for column in (*_OURS, *_THEIRS)}
            try:
                if row["id"] not in known or row["id"] in reviewed:
                    raise ValueError(f"id: {row['id']!r} is {'there twice' if row['id'] in known else 'no pair'}")
                if any(row[column] for column in _THEIRS):
                    reviewed[row["id"]] = _apply(row, known[row["id"]], words)
            except ValidationError as error:
                first = error.errors()[0]
                problems.append(f"{name}: row {number}: {first['loc'][0]}: {first['msg']}")
            except ValueError as error:
                problems.append(f"{name}: row {number}: {error}")
    return [reviewed.get(pair.id, pair) for pair in pairs], problems


def _apply(row: Mapping[str, str], pair: Pair, words: Words) -> Pair:
    """Return a pair with its review; what was corrected counts as ok."""
    question, answer = row["corrected question"] or row["question"], row["corrected answer"] or row["answer"]
    if (pair.question, pair.answer) not in ((row["question"], row["answer"]), (question, answer)):
        raise ValueError("question or answer: changed since the export; export again")
    answer_ok, topic_ok, wording_ok = (_MARKS.get(row[column].lower()) for column in _OK)
    if answer_ok is None or topic_ok is None or wording_ok is None:
        raise ValueError(f"{', '.join(_OK)}: write yes or no in each")
    if (answer_ok and wording_ok) == bool(row["error kind"]):
        raise ValueError("error kind: name one if the answer or its wording is not ok, and only then")
    review = {
        "reviewer": row["reviewer"],
        "date": "-".join(part.zfill(2) for part in reversed(row["date"].split("."))),  # German spreadsheets: 31.1.2026
        "answer_ok": answer_ok or bool(row["corrected answer"]),
        "topic_ok": topic_ok,
        "wording_ok": wording_ok or bool(row["corrected answer"] or row["corrected question"]),
        "error": row["error kind"] or None,
    }
    offer = pair.recommendation if question == pair.question else ""
    reworded = words.reword(pair, question, answer, offer)
    return reworded.model_copy(update={"review": Review.model_validate(review)})


def _read_cell(cell: str | None) -> str:
    text = " ".join((cell or "").split())
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text


def _decode(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")  # as Excel saves "CSV" that is not "CSV UTF-8"
