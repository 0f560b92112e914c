"""Finds the headings and paragraphs of a PDF, which stores only letters and their positions. Pure.

A heading is larger than most of the text, or a bold line by itself. A paragraph ends at a line with room for the next word.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from knowledge_base.building.document import LONGEST_HEADING, Block, heading

_LARGER = 1.12
"""Minimum font size of a heading, as a multiple of the usual font size."""
_MARGIN = 0.09
"""Share of the page's height, at the top and at the bottom each, where headers and footers are looked for."""
_BULLET = re.compile(r"[•◦▪●‣■□○·–-]\s+")
_NUMBER = re.compile(r"(?:\d{1,2}[.)]|[a-z]\))\s+")
CELL = " | "
"""Separator between the columns of a table without ruled lines."""
_WORD_EDGES = re.compile(r"^\W+|[^\w-]+$")
_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’)\]]*$")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page, or a whole table. Lengths are in points; `top` and `bottom` are distances from the top of the page."""

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    bold: bool
    page_height: float
    is_table: bool = False
    right: float = 0
    """Right edge of the column that contains the line."""


def build_outline(pages: Sequence[Sequence[Line]]) -> tuple[list[Block], list[str], list[str]]:
    """Build the headings and paragraphs of a PDF from the lines of its pages.

    Returns:
        The headings and texts, in order; the omitted headers and footers, with digits replaced by #; and the words that were
        divided at the end of a line and whose hyphen is doubtful.
    """
    running = _running_lines(pages)
    pages = [[line for line in page if not (_is_at_edge(line) and _key(line) in running)] for page in pages]
    sizes: Counter[float] = Counter()
    for line in (line for page in pages for line in page if not line.is_table):
        sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    larger = sorted({size for size in sizes if size >= _LARGER * body}, reverse=True)
    style = _Style(
        {size: level for level, size in enumerate(larger, 1)},
        _usual_gap(pages),
        Counter(_WORD_EDGES.sub("", word) for page in pages for line in page for word in line.text.lower().split()),
    )
    return [*_blocks(pages, style)], running, style.in_doubt


@dataclass(frozen=True, slots=True)
class _Style:
    """Typographic facts about a document, used to find headings and paragraphs."""

    levels: dict[float, int]
    """By font size, the heading level."""
    gap: float
    """The usual distance between the lines of a paragraph, in points."""
    words: Counter[str]
    """Number of occurrences of each word, in lower case."""
    in_doubt: list[str] = field(default_factory=list)
    """Words that were divided at the end of a line and occur nowhere else, so that their hyphen is doubtful. Filled on joining."""


def _usual_gap(pages: Sequence[Sequence[Line]]) -> float:
    gaps = [line.top - last.bottom for page in pages for last, line in pairwise(page) if line.size == last.size]
    return median([gap for gap in gaps if gap > 0] or [0.0])


def _running_lines(pages: Sequence[Sequence[Line]]) -> list[str]:
    """Return headers, footers and page numbers: lines at the edge of pages that recur, with digits replaced by #.

    A line recurs if it is on half of the pages or on four pages, but at least on two.
    """
    recurring = Counter(
        key for page in pages for key in dict.fromkeys(_key(line) for line in page if _is_at_edge(line))
    )
    return [key for key, count in recurring.items() if count >= max(2, min(4, len(pages) / 2))]


def _is_at_edge(line: Line) -> bool:
    edge = _MARGIN * line.page_height
    return not line.is_table and (line.bottom <= edge or line.top >= line.page_height - edge)


def _key(line: Line) -> str:
    return re.sub(r"\d+", "#", line.text.strip())


def _blocks(pages: Sequence[Sequence[Line]], style: _Style) -> Iterator[Block]:
    paragraph: list[Line] = []

    def end_paragraph() -> Iterator[Block]:
        if paragraph:
            text = _join(paragraph, style)
            level = _level(paragraph, style.levels)
            yield Block(text) if level is None else heading(text.replace("\n", " "), level)
            paragraph.clear()

    for page in pages:
        for line in page:
            if line.is_table:
                yield from end_paragraph()
                yield Block(line.text)
                continue
            if paragraph and not _belongs(paragraph, line, style):
                yield from end_paragraph()
            paragraph.append(replace(line, right=_right_edge(line, page)))
    yield from end_paragraph()


def _right_edge(line: Line, page: Sequence[Line]) -> float:
    """Return the right edge of the column that contains a line. The longest 15 % are ignored: a title may span two columns."""
    ends = sorted(other.x1 for other in page if not other.is_table and abs(other.x0 - line.x0) < 4 * line.size)
    return ends[int(0.85 * (len(ends) - 1))]


def _belongs(paragraph: list[Line], line: Line, style: _Style) -> bool:
    """Return whether a line continues the current paragraph, list or heading."""
    last = paragraph[-1]
    if style.levels.get(last.size) != style.levels.get(line.size):
        return False
    if line.size not in style.levels and last.bold != line.bold and len(paragraph) == 1:
        return False
    if line.top < last.top:  # another column or page: only an unfinished sentence continues there
        return not _SENTENCE_END.search(last.text) and line.text[:1].islower()
    if line.size in style.levels:  # a heading continues only if its line was full
        return line.top - last.bottom <= 0.5 * line.size and last.x1 > 0.6 * last.right
    return line.top - last.bottom <= max(0.75 * line.size, 1.25 * style.gap)


def _level(paragraph: Sequence[Line], levels: dict[float, int]) -> int | None:
    text = " ".join(line.text for line in paragraph)
    if len(text) > LONGEST_HEADING or not re.search(r"[^\W\d_]", text) or _BULLET.match(text):
        return None
    if (level := levels.get(paragraph[0].size)) is not None:
        return level
    if all(line.bold for line in paragraph) and len(paragraph) <= 2 and not text.endswith((".", ",", ";", ":")):
        return len(levels) + 1
    return None


def _join(paragraph: Sequence[Line], style: _Style) -> str:
    """Join the lines of a paragraph. Line breaks stay only after short lines and before list items."""
    lines = [
        replace(line, text=_BULLET.sub("- ", line.text, count=1) if _BULLET.match(line.text) else line.text)
        for line in paragraph
    ]
    text = lines[0].text
    for nth, (last, line) in enumerate(pairwise(lines)):
        first_word = line.text.split(maxsplit=1)[0]
        room = last.right - last.x1 > (len(first_word) + 1) * 0.5 * line.size
        begins = _BULLET.match(line.text) or _NUMBER.match(line.text) or CELL in line.text or CELL in last.text
        is_outdented = nth > 0 and line.x0 < last.x0 - 0.8 * line.size  # not for the line after an indented first line
        if begins or ((room or is_outdented) and line.top > last.top):
            text += "\n" + line.text
        elif text.endswith("\u00ad"):
            text += line.text
        elif re.search(r"[^\W\d_]-$", text) and line.text[:1].islower():
            text = _join_halves(text, line.text, style)
        else:
            text = f"{text} {line.text}"
    return text.replace("\u00ad", "")


def _join_halves(text: str, following: str, style: _Style) -> str:
    """Join a word that was divided at the end of a line.

    The hyphen is dropped only if the document has the word without a hyphen, and never with a hyphen.
    """
    first, second = text.split()[-1].lower(), following.split()[0].lower()
    with_hyphen, without = (_WORD_EDGES.sub("", first[:end] + second) for end in (None, -1))
    if style.words[without] and not style.words[with_hyphen]:
        return text[:-1] + following
    if not style.words[with_hyphen]:
        style.in_doubt.append(with_hyphen)
    return text + following
