"""Document, the result of all readers: the headings and texts of a file, in order. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

LONGEST_HEADING = 150
"""Maximum characters of a heading. A longer one is treated as a paragraph."""


class DocumentError(Exception):
    """A document cannot be read. The message gives the reason and the remedy; callers prepend the path."""


@dataclass(frozen=True, slots=True)
class Block:
    """One element of a document: a heading, or a paragraph, list or table as markdown."""

    text: str
    level: int | None = None
    """Level of a heading: 0 for the document's title, 1 for top-level headings, and so on. None: the block is not a heading."""


@dataclass(slots=True)
class Document:
    """The content of a document, independent of the file format."""

    blocks: list[Block] = field(default_factory=list)
    title: str | None = None
    """Title from the document's metadata, or None."""
    notes: list[str] = field(default_factory=list)
    """Notes for the reviewer of the sections, for example about omitted words."""


def heading(text: str, level: int) -> Block:
    """Return a heading as one line. A text longer than LONGEST_HEADING becomes a paragraph."""
    line = " ".join(text.split())
    return Block(line, level if len(line) <= LONGEST_HEADING else None)


def note_words(what: str, texts: Iterable[str]) -> list[str]:
    """Return one note for the reviewer about omitted or doubtful texts: `WHAT: 3 words: FIRST WORDS`. Without words, return []."""
    words = " ".join(texts).split()
    excerpt = " ".join(words[:12]) + (" ..." if len(words) > 12 else "")
    return [f"{what}: {len(words)} word{'s' * (len(words) != 1)}: {excerpt}"] if words else []
