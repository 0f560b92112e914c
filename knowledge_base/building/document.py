"""Pure: a document as its readers return it, an outline of headings and texts in their order."""

from collections.abc import Iterable
from dataclasses import dataclass, field

LONGEST_HEADING = 150
"""Characters; a longer one is a paragraph in the dress of a heading."""


class DocumentError(Exception):
    """A document cannot be read; the message says why and what to do, without its name."""


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, or a paragraph, list or table in markdown."""

    text: str
    level: int | None = None
    """Of a heading: 0 is the document's title, 1 the highest below it. None: a text."""


@dataclass(slots=True)
class Document:
    """What stands in a document."""

    blocks: list[Block] = field(default_factory=list)
    title: str | None = None
    """What the document calls itself outside its text."""
    notes: list[str] = field(default_factory=list)
    """What a reviewer should know of the reading, such as words that were left out."""


def heading(text: str, level: int) -> Block:
    """Return a heading on one line; a text where it is too long for one."""
    line = " ".join(text.split())
    return Block(line, level if len(line) <= LONGEST_HEADING else None)


def note_words(what: str, texts: Iterable[str]) -> list[str]:
    """Return a note that counts the words of some texts and begins with the first of them; none where there are no words."""
    words = " ".join(texts).split()
    excerpt = " ".join(words[:12]) + (" ..." if len(words) > 12 else "")
    return [f"{what}: {len(words)} word{'s' * (len(words) != 1)}: {excerpt}"] if words else []
