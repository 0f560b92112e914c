"""Exports pairs to a review table for experts, and imports their reviews. Pure.

The table is a CSV file with one row per pair. Its delimiter is the one that spreadsheets use in the language of the pairs.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from io import StringIO

from pydantic import ValidationError

from knowledge_base.pairs.pair import Pair, Review, find_shared_wordings
from knowledge_base.pairs.words import Words
from knowledge_base.spreadsheet import escape_cell, unescape_cell
from models.validation_errors import describe_fault

_OURS = (
    "id", "question", "variants", "answer", "topic", "subtopic", "document", "aspect", "complexity", "source", "quotes",
)  # fmt: skip
_OK = ("answer ok", "topic ok", "wording ok")
_THEIRS = (*_OK, "error kind", "corrected answer", "corrected question", "reviewer", "date")
_COLUMNS = (*_OURS, *_THEIRS)


def render_table(pairs: Sequence[Pair], words: Words) -> str:
    """Return the review table of pairs as CSV, with a byte order mark for Excel. Existing reviews are filled in."""
    file = StringIO(newline="")
    writer = csv.writer(file, delimiter=words.delimiter)
    writer.writerow(_COLUMNS)
    for pair in pairs:
        fields = pair.model_dump() | {"quotes": " | ".join(pair.quotes), "variants": " | ".join(pair.variants)}
        theirs = _render_review(pair.review) if pair.review else ()
        writer.writerow([escape_cell(cell) for cell in (*(fields[name] for name in _OURS), *theirs)])
    return "\ufeff" + file.getvalue()


def _render_review(review: Review) -> tuple[str, ...]:
    marks = ["yes" if one else "no" for one in (review.answer_ok, review.topic_ok, review.wording_ok)]
    return (*marks, review.error or "", "", "", review.reviewer, review.date.isoformat())


def read_tables(
    tables: Mapping[str, bytes], pairs: Sequence[Pair], words: Words, today: date
) -> tuple[list[Pair], list[str]]:
    """Import reviews from review tables. Rows in which the expert filled in nothing are ignored.

    Args:
        tables: The content of each CSV file, by file name.
        pairs: The pairs of the knowledge base.
        words: The word lists for the language of the pairs.
        today: The latest valid date of a review.

    Returns:
        The pairs with their reviews, and messages about problems, each with file and row. If there are messages, discard the pairs.
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
                if not any(row.values()):
                    continue
                if row["id"] not in known:
                    raise ValueError(f"id: no pair {row['id']!r} in the knowledge base; delete the row")
                if row["id"] in reviewed:
                    raise ValueError(f"duplicate id {row['id']!r}; delete one of the rows")
                if any(row[column] for column in _THEIRS):
                    reviewed[row["id"]] = _apply(row, known[row["id"]], words, today)
            except ValidationError as error:
                first = error.errors()[0]
                remedy = "; write it as 2026-01-31 or 31.1.2026" if first["loc"][0] == "date" else ""
                problems.append(f"{name}: row {number}: {first['loc'][0]}: {describe_fault(first)}{remedy}")
            except ValueError as error:
                problems.append(f"{name}: row {number}: {error}")
    taken = [reviewed.get(pair.id, pair) for pair in pairs]
    before = find_shared_wordings(pairs)
    return taken, problems + [shared for shared in find_shared_wordings(taken) if shared not in before]


def _read_rows(content: bytes) -> Iterator[dict[str, str]]:
    """Yield the cells of each row by column.

    Raises:
        ValueError: The file is not a review table.
    """
    text = _decode(content)
    delimiter = max(";,\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(StringIO(text, newline=""), delimiter=delimiter)
    try:
        yield from _read_columns(reader, delimiter)
    except csv.Error as error:  # a cell of more than 128 KiB, usually with an unclosed quotation mark
        line = reader.reader.line_num
        raise ValueError(f"line {line}: {error}; shorten the cell, or close its quotation marks") from None


def _read_columns(reader: "csv.DictReader[str]", delimiter: str) -> Iterator[dict[str, str]]:
    columns = [name.strip() for name in reader.fieldnames or ()]
    if missing := [one for one in _COLUMNS if one not in (*columns, "variants")]:  # older tables have no variants
        raise ValueError(f"the table has no column {missing[0]!r}; export the table again, and save it as CSV")
    if unknown := [one for one in columns if one and one not in _COLUMNS]:
        raise ValueError(f"unknown column {unknown[0]!r}; delete it, because the import would ignore its cells")
    reader.fieldnames = columns
    for row in reader:
        if any(row.get(None) or ()):  # cells after the last column
            raise ValueError(
                f"line {reader.line_num}: the row has more cells than columns; put texts with {delimiter!r} in quotes"
            )
        yield {column: _read_cell(row.get(column)) for column in _COLUMNS}


def _apply(row: Mapping[str, str], pair: Pair, words: Words, today: date) -> Pair:
    """Return a pair with the review in its row. A corrected text counts as ok. A row that repeats the stored review has no effect.

    Raises:
        ValueError: A cell is invalid, or the pair has changed since the export.
    """
    corrected = (row["corrected question"], row["corrected answer"])
    shown, stored = (row["question"], row["answer"]), (_fold(pair.question), _fold(pair.answer))
    if stored not in (shown, tuple(new or old for new, old in zip(corrected, shown, strict=True))):
        raise ValueError("question or answer: the pair has changed since the export; export the table again")
    marks = [words.marks.get(row[column].lower(), "") for column in _OK]
    day = "-".join(part.zfill(2) for part in reversed(row["date"].split(".")))  # 31.1.2026
    if pair.review and (*map(_fold, _render_review(pair.review)),) == (
        *marks,
        row["error kind"],
        *corrected,
        row["reviewer"],
        day,
    ):
        return pair
    if not all(marks):
        raise ValueError(f"{', '.join(_OK)}: expected yes or no in each of these columns")
    answer_ok, topic_ok, wording_ok = (mark == "yes" for mark in marks)
    if (answer_ok and wording_ok) == bool(row["error kind"]):
        raise ValueError("error kind: expected a value if the answer or its wording is not ok, else an empty cell")
    fields = {
        "reviewer": row["reviewer"],
        "date": day,
        "answer_ok": answer_ok or bool(row["corrected answer"]),
        "topic_ok": topic_ok,
        "wording_ok": wording_ok or any(corrected),
        "error": row["error kind"] or None,
    }
    review = Review.model_validate(fields)
    if review.date > today:
        raise ValueError(f"date: {row['date']!r} is in the future; write the date of the review")
    question, answer = corrected[0] or pair.question, corrected[1] or pair.answer
    offer = pair.recommendation if question == pair.question else ""
    return words.reword(pair, question, answer, offer).model_copy(update={"review": review})


def _read_cell(cell: str | None) -> str:
    return _fold(unescape_cell(cell or ""))


def _fold(text: str) -> str:
    """Collapse white space to single spaces, because spreadsheets do not preserve white space in CSV files."""
    return " ".join(text.split())


def _decode(content: bytes) -> str:
    for encoding in ("utf-8-sig", "cp1252"):  # Excel's "CSV UTF-8" and its plain "CSV"
        try:
            if "\0" not in (text := content.decode(encoding)):
                return text
        except UnicodeDecodeError:
            continue
    raise ValueError("the file is neither UTF-8 nor Windows-1252 text; save it as CSV UTF-8")
