"""Pure: the experts' table, CSV as spreadsheets of the language open it, with a row for each pair."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from pydantic import ValidationError

from knowledge_base.pairs.pair import Pair, Review, find_shared_wordings
from knowledge_base.pairs.words import Words

_OURS = ("id", "question", "answer", "topic", "subtopic", "document", "aspect", "complexity", "source", "quotes")
_OK = ("answer ok", "topic ok", "wording ok")
_THEIRS = (*_OK, "error kind", "corrected answer", "corrected question", "reviewer", "date")
_COLUMNS = (*_OURS, *_THEIRS)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that a spreadsheet would calculate."""


def render_table(pairs: Sequence[Pair], words: Words) -> str:
    """Write pairs as a table, with the reviews that they have and a byte order mark."""
    file = StringIO(newline="")
    writer = csv.writer(file, delimiter=words.delimiter)
    writer.writerow(_COLUMNS)
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
    """Take over the reviews of tables. A row in which an expert has filled in nothing says nothing.

    Args:
        tables: The content of each CSV file, by its name.

    Returns:
        The pairs with their reviews, and what is wrong, by table and row. Use the pairs only if nothing is wrong.
    """
    known, reviewed = {pair.id: pair for pair in pairs}, dict[str, Pair]()
    problems = []
    for name, content in tables.items():
        try:
            rows = [*_read_rows(content)]
        except ValueError as error:
            problems.append(f"{name}: {error}")
            continue
        for number, row in enumerate(rows, 2):
            try:
                if row["id"] not in known:
                    raise ValueError(f"id: {row['id']!r} is no pair of the knowledge base; delete the row")
                if row["id"] in reviewed:
                    raise ValueError(f"id: {row['id']!r} is there twice; delete one of the rows")
                if any(row[column] for column in _THEIRS):
                    reviewed[row["id"]] = _apply(row, known[row["id"]], words)
            except ValidationError as error:
                first = error.errors()[0]
                remedy = "; write it as 2026-01-31 or 31.1.2026" if first["loc"][0] == "date" else ""
                problems.append(f"{name}: row {number}: {first['loc'][0]}: {first['msg']}{remedy}")
            except ValueError as error:
                problems.append(f"{name}: row {number}: {error}")
    taken = [reviewed.get(pair.id, pair) for pair in pairs]
    before = find_shared_wordings(pairs)
    return taken, problems + [shared for shared in find_shared_wordings(taken) if shared not in before]


def _read_rows(content: bytes) -> Iterator[dict[str, str]]:
    """Yield the cells of each row by their columns. Raises: ValueError: it is no such table."""
    text = _decode(content)
    delimiter = max(";,\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(StringIO(text, newline=""), delimiter=delimiter)
    columns = [name.strip() for name in reader.fieldnames or ()]
    if missing := [one for one in _COLUMNS if one not in columns]:
        raise ValueError(f"has no column {missing[0]!r}; export the table again, and save it as CSV")
    if unknown := [one for one in columns if one and one not in _COLUMNS]:
        raise ValueError(f"unknown column {unknown[0]!r}; delete it, its cells would be lost")
    reader.fieldnames = columns
    for row in reader:
        if any(row.get(None) or ()):  # the cells behind the last column
            raise ValueError(
                f"line {reader.line_num} has more cells than columns; put texts with {delimiter!r} in quotes"
            )
        yield {column: _read_cell(row[column]) for column in _COLUMNS}


def _apply(row: Mapping[str, str], pair: Pair, words: Words) -> Pair:
    """Return a pair with its review; what was corrected counts as ok."""
    question, answer = row["corrected question"] or row["question"], row["corrected answer"] or row["answer"]
    if (pair.question, pair.answer) not in ((row["question"], row["answer"]), (question, answer)):
        raise ValueError("question or answer: changed since the export; export again")
    marks = [words.marks.get(row[column].lower()) for column in _OK]
    if None in marks:
        raise ValueError(f"{', '.join(_OK)}: write yes or no in each")
    answer_ok, topic_ok, wording_ok = (mark == "yes" for mark in marks)
    if (answer_ok and wording_ok) == bool(row["error kind"]):
        raise ValueError("error kind: name one if the answer or its wording is not ok, and only then")
    review = {
        "reviewer": row["reviewer"],
        "date": "-".join(part.zfill(2) for part in reversed(row["date"].split("."))),  # 31.1.2026
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
    for encoding in ("utf-8-sig", "cp1252"):  # Excel's "CSV UTF-8", and its plain "CSV"
        try:
            if "\0" not in (text := content.decode(encoding)):
                return text
        except UnicodeDecodeError:
            continue
    raise ValueError("is neither UTF-8 nor Windows-1252 text; save it as CSV UTF-8")
