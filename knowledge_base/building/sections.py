"""Divides a document into sections. Pure.

A heading with everything below it becomes one section if the result is as short as a usual section, or if its subsections would
be tiny. Otherwise each subheading becomes a section. A section that is still too long is split between paragraphs, then between
list items and table rows, then between sentences. No word is lost: the title of a section contains the headings above it.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from knowledge_base.building.document import Block, Document
from knowledge_base.building.slug import document_slug, section_id
from knowledge_base.library import make_inert
from models.usage import BYTES_PER_TOKEN, estimate_tokens

MOST_TOKENS = 1_500
"""Default maximum of the estimated tokens of a section's text."""
_USUAL_TOKENS = 600
"""Usual number of tokens of a section, as in the knowledge base on schizophrenia."""
_TINY_TOKENS = 150
"""Subsections with fewer tokens on average stay in one section, because a single fact is hard to find and to understand."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff\ud800-\udfff]")
BETWEEN_HEADINGS = " – "


@dataclass(frozen=True, slots=True)
class Section:
    """A section built from a document. The summary is added later."""

    id: str
    title: str
    text: str
    origin: str
    """Document and heading that the section comes from, such as `leaflet.pdf#Side effects`."""
    subheadings: tuple[str, ...] = ()
    """Headings within the text."""
    notes: tuple[str, ...] = ()
    """Notes of the document reader, for the reviewer."""

    @property
    def document(self) -> str:
        return self.origin.partition("#")[0]


@dataclass(slots=True)
class _Node:
    """A node of the heading tree: a heading, the texts directly below it, and its subheadings."""

    heading: str = ""
    texts: list[str] = field(default_factory=list)
    parts: list["_Node"] = field(default_factory=list)
    tokens: int = 0
    """Estimated number of tokens of the whole subtree."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """The texts of one or more future sections, with the headings above them."""

    headings: tuple[str, ...]
    texts: tuple[str, ...]
    subheadings: tuple[str, ...] = ()


def build_sections(
    document: Document, name: str, *, prefix: str = "", taken_ids: Collection[str] = (), max_tokens: int = MOST_TOKENS
) -> list[Section]:
    """Divide a document into sections.

    Args:
        document: the document.
        name: the file name, with its extension.
        prefix: text to put before all section ids.
        taken_ids: ids that belong to sections of other documents.
        max_tokens: maximum estimated tokens of a section's text.
    """
    stem = name.rpartition(".")[0] or name
    whole = document.title or stem.replace("_", " ").replace("-", " ").strip() or name
    whole = whole[:1].upper() + whole[1:]
    ids = {*taken_ids}
    notes = tuple(_one_line(_clean(note)) for note in document.notes)
    sections = []
    blocks = [Block(text, block.level) for block in document.blocks if (text := _clean(block.text))]
    for piece in _divide(_build_tree(blocks), (), max_tokens):
        title = BETWEEN_HEADINGS.join(piece.headings) or _one_line(_clean(whole))
        for part, text in enumerate(_pack(piece.texts, max_tokens), 1):
            ident = section_id(document_slug(stem, prefix), piece.headings, part, ids)
            ids.add(ident)
            origin = f"{name}#{piece.headings[-1]}" if piece.headings else name
            sections.append(
                Section(ident, f"{title} ({part})" if part > 1 else title, text, origin, piece.subheadings, notes)
            )
    return sections


def _clean(text: str) -> str:
    """Remove control characters and soft hyphens, and make commands inert.

    Commands in titles, ids and summaries must be made inert here. Later, only the commands in texts are made inert.
    """
    return make_inert(_CONTROL.sub(" ", text.replace("\u00ad", ""))).strip()


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _build_tree(blocks: Sequence[Block]) -> _Node:
    """Return the tree of a document's headings. A heading without content becomes bold text below the heading above it."""
    if len(blocks) > 1 and blocks[0].level == blocks[1].level and blocks[0].level:
        blocks = [Block(blocks[0].text, 0), *blocks[1:]]  # a title with the same level as the headings below it
    root = _Node()
    path: list[tuple[int, _Node]] = [(-1, root)]
    for n, block in enumerate(blocks):
        following = blocks[n + 1].level if n + 1 < len(blocks) else -1
        if block.level is None or (following is not None and following <= block.level):
            path[-1][1].texts.append(block.text if block.level is None else f"**{block.text}**")
            continue
        while path[-1][0] >= block.level:
            path.pop()
        node = _Node(_one_line(block.text))
        path[-1][1].parts.append(node)
        path.append((block.level, node))
    _count_tokens(root)
    return root


def _count_tokens(node: _Node) -> int:
    node.tokens = sum(map(estimate_tokens, [node.heading, *node.texts])) + sum(map(_count_tokens, node.parts))
    return node.tokens


def _divide(node: _Node, above: tuple[str, ...], max_tokens: int) -> Iterator[_Piece]:
    headings = (*above, node.heading) if node.heading else above
    only_leads_on = not node.texts and len(node.parts) == 1
    is_short = node.tokens <= min(_USUAL_TOKENS, max_tokens)
    has_tiny_parts = node.parts and node.tokens <= 0.9 * max_tokens and node.tokens < _TINY_TOKENS * len(node.parts)
    if (is_short or has_tiny_parts) and not only_leads_on:
        texts, subheadings = _flatten(node, 2)
        text = "\n\n".join(texts)
        if estimate_tokens(text) < max_tokens:  # `text` also has heading marks and blank lines
            yield _Piece(headings, (text,), tuple(subheadings))
            return
    if node.texts:
        yield _Piece(headings, tuple(node.texts))
    for part in node.parts:
        yield from _divide(part, headings, max_tokens)


def _flatten(node: _Node, level: int) -> tuple[list[str], list[str]]:
    """Return the texts and headings of a subtree in order, and separately its headings."""
    texts, subheadings = list(node.texts), []
    for part in node.parts:
        own, below = _flatten(part, level + 1)
        texts += [f"{'#' * min(level, 6)} {part.heading}", *own]
        subheadings += [part.heading, *below]
    return texts, subheadings


def _pack(texts: Sequence[str], max_tokens: int) -> Iterator[str]:
    """Join texts into parts of similar length, as few as the limit allows, and split texts above the limit."""
    pieces = [piece for text in texts for piece in split_text(text, max_tokens)]
    total = sum(_size(piece) for piece in pieces)
    limit = max_tokens * BYTES_PER_TOKEN
    aim = total / max(1, -(-total // limit))
    current: list[str] = []
    size = 0
    for piece in pieces:
        if current and (
            size + _size(piece) > limit or (size + _size(piece) / 2 > aim and not current[-1].endswith(":"))
        ):
            yield "\n\n".join(current)
            current, size = [], 0
        current.append(piece)
        size += _size(piece)
    if current:
        yield "\n\n".join(current)


def _size(text: str) -> int:
    """Return the number of bytes of a text, including the blank line after it."""
    return len(text.encode(errors="replace")) + 2


_BREAKS = (
    r"\n(?=[-*+] |\d{1,3}[.)] )",  # between the items of a list
    r"\n",
    r"(?<=[.!?…。！？])\s+",
    r"\s+",
)
"""Patterns of the positions where a text may be split, best first."""
_UNDER_HEAD = re.compile(r"\|(?: ?:?-+:? ?\|)+")


def split_text(text: str, max_tokens: int) -> list[str]:
    """Split a text into parts of at most `max_tokens` tokens, at the best positions. Parts of a table repeat its header."""
    limit = max_tokens * BYTES_PER_TOKEN - 2
    if _size(text) <= limit:
        return [text] if text.strip() else []
    head, rows = _split_table(text.strip())
    if rows and (rest := max_tokens - estimate_tokens(head) - 1) > max_tokens // 2:
        return [head + part for part in _split_at(rows, (r"\n", *_BREAKS[3:]), rest)]
    return _split_at(text, _BREAKS, max_tokens)


def _split_table(text: str) -> tuple[str, str]:
    """Split a text that ends with a table into the text up to the table's header and the rows. Without a table, rows are empty."""
    lines = text.split("\n")
    rows = list(takewhile(lambda line: len(line) > 1 and line[0] == line[-1] == "|", reversed(lines)))
    first = len(lines) - len(rows)
    under = next((n for n in range(first + 1, len(lines) - 1) if _UNDER_HEAD.fullmatch(lines[n])), len(lines))
    return "\n".join(lines[: under + 1]) + "\n", "\n".join(lines[under + 1 :])


def _split_at(text: str, breaks: Sequence[str], max_tokens: int) -> list[str]:
    limit = max_tokens * BYTES_PER_TOKEN - 2
    if _size(text) <= limit:
        return [text]
    if not breaks:
        return list(_split_characters(text, limit - 2))
    parts: list[str] = []
    between = ""
    start = 0
    cuts = [(match.start(), match.end()) for match in re.finditer(breaks[0], text)]
    for cut, following in [*cuts, (len(text), len(text))]:
        piece = text[start:cut]
        if parts and _size(parts[-1] + between + piece) <= limit:
            parts[-1] += between + piece
        else:
            parts += _split_at(piece, breaks[1:], max_tokens)
        between, start = text[cut:following], following
    return [part for part in parts if part.strip()]


def _split_characters(text: str, limit: int) -> Iterator[str]:
    """Split a text into pieces of at most `limit` bytes, between characters."""
    rest = text.encode(errors="replace")
    while rest:
        piece = rest[:limit].decode(errors="ignore")
        yield piece
        rest = rest[len(piece.encode()) :]
