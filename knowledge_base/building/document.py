"""Pure: a document as the readers return it: headings and texts in order."""

from collections.abc import Iterable
from dataclasses import dataclass, field

LONGEST_HEADING = 150
"""Maximum characters of a heading. A longer one is treated as a paragraph."""


class DocumentError(Exception):
    """A document cannot be read. The message gives the reason and the remedy, without the document's name."""


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, or a paragraph, list or table in markdown."""

    text: str
    level: int | None = None
    """Level of a heading: 0 for the document's title, 1 for the next level, and so on. None: the block is a text."""


@dataclass(slots=True)
class Document:
    """The content of a document."""

    blocks: list[Block] = field(default_factory=list)
    title: str | None = None
    """The title in the document's metadata."""
    notes: list[str] = field(default_factory=list)
    """Notes for a reviewer, such as words that were left out."""


def heading(text: str, level: int) -> Block:
    """Return a heading on one line, or a text block if it is too long for a heading."""
    line = " ".join(text.split())
    return Block(line, level if len(line) <= LONGEST_HEADING else None)


def note_words(what: str, texts: Iterable[str]) -> list[str]:
    """Return a note with the number of words of some texts and the first words, or an empty list if there are no words."""
    words = " ".join(texts).split()
    excerpt = " ".join(words[:12]) + (" ..." if len(words) > 12 else "")
    return [f"{what}: {len(words)} word{'s' * (len(words) != 1)}: {excerpt}"] if words else []
