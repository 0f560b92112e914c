"""Reads the lines and tables of a PDF. `pdf_lines.py` turns them into headings and paragraphs. Pure."""

import logging
import re
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from typing import Any

import pdfplumber
from pdfminer.pdfdocument import PDFPasswordIncorrect
from pdfplumber.utils.exceptions import PdfminerException

from knowledge_base.building.document import Document, DocumentError, note_words
from knowledge_base.building.pdf_lines import CELL, Line, build_outline

MOST_PAGES = 2_000
"""Maximum number of pages of a PDF."""
_MOST_UNREADABLE = 0.05
"""Maximum share, 0 to 1, of words with glyphs that the PDF does not map to letters."""

_DAMAGED = "the file is damaged and cannot be read as a PDF; print it to a new PDF"
_SIGN = re.compile(r"\(cid:\d+\)")
"""Matches the placeholder of a glyph that the PDF does not map to a letter, usually a bullet."""


def read_pdf(content: bytes) -> Document:
    """Read a PDF that contains text.

    Raises:
        DocumentError: the PDF is encrypted, damaged, a scan, too long, or does not map its glyphs to letters.
    """
    logging.getLogger("pdfminer").setLevel(logging.ERROR)  # hides its warnings, for example about fonts
    try:
        with pdfplumber.open(BytesIO(content)) as pdf:
            if len(pdf.pages) > MOST_PAGES:
                raise DocumentError(
                    f"the PDF has {len(pdf.pages):,} pages, more than the limit of {MOST_PAGES:,}; split it"
                )
            pages, scans = [], []
            for number, page in enumerate(pdf.pages, 1):
                pages.append(_read_page(page))
                if not pages[-1] and page.images:
                    scans.append(number)
                page.close()  # the letters of a page take 100 times the memory of its lines
    except PdfminerException as error:
        if isinstance(error.args[0] if error.args else None, PDFPasswordIncorrect):
            raise DocumentError("the PDF is encrypted; save it without a password") from None
        raise DocumentError(_DAMAGED) from None
    except DocumentError:
        raise
    except Exception as error:  # on a damaged file, the library may raise any exception
        raise DocumentError(_DAMAGED) from error
    words = [word for page in pages for line in page for word in line.text.split()]
    if not words:
        raise DocumentError(
            "the PDF is a scan without text; run text recognition first, for example `ocrmypdf IN OUT`"
            if scans
            else "the PDF holds no text; check that it is the right file"
        )
    if sum("(cid:" in word or "\ufffd" in word for word in words) > _MOST_UNREADABLE * len(words):
        raise DocumentError(
            "the PDF does not map its glyphs to letters; run text recognition first, for example `ocrmypdf --force-ocr IN OUT`"
        )
    blocks, running, in_doubt = build_outline(pages)
    document = Document(blocks)
    if running:
        document.notes.append(f"left out at the edges of pages: {'; '.join(running)}")
    document.notes += note_words("hyphens at the end of a line, kept in doubt", in_doubt)
    if scans:
        document.notes.append(
            f"pages {', '.join(map(str, scans))} hold pictures without text, and are not in the sections"
        )
    return document


def _read_page(page: Any) -> list[Line]:
    """Return the lines of a page in the order of the file, which is usually the reading order. Each table is one line."""
    tables = [(table.bbox, table.extract()) for table in page.find_tables()]
    tables = [(box, rows) for box, rows in tables if len(rows) > 1 and max(map(len, rows)) > 1]
    lines: list[Line] = []
    current: list[dict[str, Any]] = []
    written: set[int] = set()
    words = page.extract_words(use_text_flow=True, x_tolerance_ratio=0.15, extra_attrs=["size", "fontname"])
    for word in words:
        table = next((n for n, (box, _) in enumerate(tables) if _is_inside(word, box)), None)
        if current and (table is not None or not _continues(current[-1], word)):
            lines.append(_line(current, page))
            current = []
        if table is None:
            current.append(word)
        elif table not in written:
            written.add(table)
            box, rows = tables[table]
            lines.append(
                Line(_table(rows), box[0], box[2], box[1], box[3], word["size"], False, page.height, is_table=True)
            )
    if current:
        lines.append(_line(current, page))
    return lines


def _is_inside(word: dict[str, Any], box: tuple[float, float, float, float]) -> bool:
    x, y = (word["x0"] + word["x1"]) / 2, (word["top"] + word["bottom"]) / 2
    return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])


def _continues(last: dict[str, Any], word: dict[str, Any]) -> bool:
    """Return whether a word continues a line, because it is at the same height and close to the right of the last word."""
    overlap = min(last["bottom"], word["bottom"]) - max(last["top"], word["top"])
    height = min(last["bottom"] - last["top"], word["bottom"] - word["top"])
    size = max(last["size"], word["size"])
    return bool(overlap > 0.4 * height and -0.5 * size <= word["x0"] - last["x1"] <= 4 * size)


def _line(words: list[dict[str, Any]], page: Any) -> Line:
    words[0]["text"] = _SIGN.sub("•", words[0]["text"])
    text = words[0]["text"]
    for last, word in pairwise(words):
        text += _gap(last, word) + word["text"]
    letters = sum(len(word["text"]) for word in words)
    bold = sum(len(word["text"]) for word in words if _is_bold(word["fontname"]))
    sizes: Counter[float] = Counter()
    for word in words:
        sizes[word["size"]] += len(word["text"])
    size = sizes.most_common(1)[0][0]
    return Line(
        text, words[0]["x0"], max(word["x1"] for word in words), min(word["top"] for word in words),
        max(word["bottom"] for word in words), round(size * 2) / 2, bold == letters, page.height,
    )  # fmt: skip


def _gap(last: dict[str, Any], word: dict[str, Any]) -> str:
    """Return the text to insert between two adjacent words of a line: nothing, a space, `^`, or a column separator."""
    distance = word["x0"] - last["x1"]
    is_raised = word["size"] < 0.9 * last["size"] and word["bottom"] < last["bottom"] - 0.05 * last["size"]
    if is_raised and distance < 0.2 * last["size"] and word["text"][0].isdigit():
        return "^"  # so that 10 mg with note 1 is not 10 mg1
    if distance > 2 * word["size"]:
        return CELL  # a table without lines
    return " " if distance > 0.1 * word["size"] else ""


def _is_bold(font: str) -> bool:
    return any(name in font.lower() for name in ("bold", "black", "heavy", "semibold", "-bd"))


def _table(rows: list[list[str | None]]) -> str:
    """Return a table as markdown."""

    def row(cells: Iterator[str]) -> str:
        return f"| {' | '.join(cells)} |"

    width = max(map(len, rows))
    texts = [
        [" ".join((cell or "").split()).replace("|", "\\|") for cell in [*one, *[""] * (width - len(one))]]
        for one in rows
    ]
    return "\n".join([row(iter(texts[0])), row(iter(["---"] * width)), *(row(iter(one)) for one in texts[1:])])
