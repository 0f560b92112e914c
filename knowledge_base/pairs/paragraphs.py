"""Reads documents and selects the paragraphs to build pairs from. A heading above each must name an aspect of the taxonomy."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from knowledge_base.building.document import Block, Document, DocumentError
from knowledge_base.building.reading import read_document
from knowledge_base.building.section_file import parse_section, render_section
from knowledge_base.building.sections import Section, split_text
from knowledge_base.building.slug import slug
from knowledge_base.building.summary import EXTRACTED, extract_summary
from knowledge_base.library import make_inert
from knowledge_base.pairs.pair import Focus, Place, Taxonomy
from knowledge_base.pairs.words import Words

MOST_TOKENS, MOST_PARAGRAPHS = 500, 6
"""Maximum tokens of a paragraph, and maximum paragraphs of an AspectSection, which is one model call. Longer ones are split."""
FEWEST_WORDS = 4
"""Minimum words of a paragraph. A shorter paragraph has too little content for a question and is skipped."""


@dataclass(frozen=True, slots=True)
class AspectSection:
    """Paragraphs of a document about one aspect of one focus. Pairs are drafted from them in one model call."""

    focus: Focus
    place: Place
    paragraphs: tuple[str, ...] = ()


@dataclass(slots=True)
class ReadDocuments:
    """Result of reading documents: the paragraphs to build pairs from, notes and problems."""

    texts: dict[str, str] = field(default_factory=dict)
    """By section id, the document as a section file of the knowledge base."""
    sections: list[AspectSection] = field(default_factory=list)
    empty_paragraphs: int = 0
    """Number of skipped paragraphs, with fewer than FEWEST_WORDS words."""
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_documents(paths: Sequence[Path], taxonomy: Taxonomy, done: Callable[[], None] = lambda: None) -> ReadDocuments:
    """Read documents of any supported format. An unreadable document is reported in `problems`.

    Args:
        done: callback after each document.
    """
    read = ReadDocuments()
    for path in dict.fromkeys(paths):
        try:
            _read_into(read, path, taxonomy)
        except DocumentError as error:
            read.problems.append(f"{path}: {error}")
        done()
    return read


def _read_into(read: ReadDocuments, path: Path, taxonomy: Taxonomy) -> None:
    document = read_document(path)
    text = path.read_text(encoding="utf-8-sig", errors="replace") if path.suffix.lower() == ".md" else ""
    parsed = parse_section(text)
    headings = (block.text for block in document.blocks if block.level is not None)
    title = parsed[0].title if parsed else document.title or next(headings, path.stem)
    whole = _find_focus(path, title, taxonomy)
    ident = whole.place.document
    if ident in read.texts:
        raise DocumentError(
            f"the document has the same section id {ident!r} as another document; merge the two documents, "
            "or list both in `documents` of the focus in taxonomy.yaml"
        )
    source = "; ".join(parsed[0].references) if parsed and parsed[0].references else f"{title} ({path.name})"
    sections, empty = [], 0
    for heading, aspect, texts in _below_headings(title, document.blocks, taxonomy):
        paragraphs = [part for one in texts for part in split_text(make_inert(one), MOST_TOKENS)]
        full = tuple(one for one in paragraphs if len(one.split()) >= FEWEST_WORDS)
        empty += len(paragraphs) - len(full)
        if aspect is None:
            words = sum(len(one.split()) for one in full)
            read.notes += [f"{path}: {heading!r} names no aspect; {words} words left out"] if full else []
            continue
        here = {"source": source, "source_reference": f"{path.name}#{heading}", "aspect": aspect}
        section = replace(whole, place=whole.place.model_copy(update=here))
        starts = range(0, len(full), MOST_PARAGRAPHS)
        sections += [replace(section, paragraphs=full[n : n + MOST_PARAGRAPHS]) for n in starts]
    if not sections:
        raise DocumentError(
            "the document has no text below a heading that names an aspect; add its headings to `aspects` in taxonomy.yaml"
        )
    read.notes += [f"{path}: {note}" for note in document.notes]
    read.texts[ident] = text if parsed else _render(document, ident, title, path)
    read.sections += sections
    read.empty_paragraphs += empty


def _find_focus(path: Path, title: str, taxonomy: Taxonomy) -> AspectSection:
    """Return the focus of a document, as an AspectSection without paragraphs.

    The id or title of the document must be in the names or `documents` of the focus.

    Raises:
        DocumentError: no focus matches the document.
    """
    ident, own_names = slug(path.stem), {path.stem.casefold(), slug(path.stem), title.strip().casefold()}
    for topic, subtopic, focus in taxonomy.places():
        names = (focus.id, focus.name, *focus.other_names, *focus.documents)
        if not own_names.isdisjoint(name.casefold() for name in names):
            place = Place(
                document=ident if ident in focus.documents else focus.id, source="", source_reference="",
                topic=topic.name, subtopic=subtopic.name, subsubtopic=title, focus=focus.id, aspect="",
            )  # fmt: skip
            return AspectSection(focus, place)
    raise DocumentError(
        f"the document matches no focus in taxonomy.yaml; rename the file to the id of a focus, "
        f"or add {ident!r} as a focus or to the `documents` of a focus"
    )


def _below_headings(
    title: str, blocks: Sequence[Block], taxonomy: Taxonomy
) -> Iterator[tuple[str, str | None, list[str]]]:
    """Yield each heading that has texts directly below it, with its aspect and these texts. The title counts as a heading.

    The aspect is named by the heading itself, else by the nearest higher heading. None: no heading names an aspect.
    """
    words = Words(taxonomy.language)
    above: list[tuple[int, str | None]] = []
    texts = list[str]()
    heading, level = title, -1
    for block in (*blocks, Block("", 0)):
        if block.level is None:
            if texts and texts[-1].endswith(":"):  # a list stays with its introduction
                texts[-1] += f"\n\n{block.text}"
            else:
                texts.append(block.text)
            continue
        above = [*(one for one in above if one[0] < level), (level, _find_aspect(heading, taxonomy, words))]
        if texts:
            yield heading, next((aspect for _, aspect in reversed(above) if aspect), None), texts
        heading, level, texts = block.text, block.level, []


def _find_aspect(heading: str, taxonomy: Taxonomy, words: Words) -> str | None:
    """Return the aspect that a heading names, or None.

    A heading names an aspect if it equals one of the aspect's names, or else contains all words of a name. The longest name wins.
    """
    names = [(name, aspect.name) for aspect in taxonomy.aspects for name in (aspect.name, *aspect.headings)]
    if whole := next((aspect for name, aspect in names if name.casefold() == heading.strip().casefold()), None):
        return whole
    stems = set(words.stems(heading))
    parts = [(len(own), aspect) for name, aspect in names if (own := set(words.stems(name))) and own <= stems]
    return max(parts, key=lambda one: one[0])[1] if parts else None


def _render(document: Document, focus: str, title: str, path: Path) -> str:
    """Return a document as a section file of the knowledge base, with an extracted summary."""
    lines = [one.text if one.level is None else f"{'#' * max(one.level, 1)} {one.text}" for one in document.blocks]
    section = Section(focus, title, make_inert("\n\n".join(lines)), path.name)
    return render_section(section, extract_summary(section), EXTRACTED)
