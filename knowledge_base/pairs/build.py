"""Pairs of documents: drafted, held against the gates, clustered, joined to the stored ones, and written in one step."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from knowledge_base.building.slug import slug
from knowledge_base.pairs.drafts import Done, Draft, Writer, extract_draft, few_at_once
from knowledge_base.pairs.gates import Finding, find_conflicts, find_fault
from knowledge_base.pairs.pair import Pair, Taxonomy, write_pairs
from knowledge_base.pairs.paragraphs import AspectSection
from knowledge_base.pairs.similarity import assign_clusters
from knowledge_base.pairs.words import Words
from models.errors import ModelError

MOST_VARIANTS = 6
AT_ONCE = 10
"""Pairs in one call that shortens answers or varies questions."""


async def draft_pairs(
    sections: Sequence[AspectSection], taxonomy: Taxonomy, writer: Writer | None = None, done: Done = lambda: None
) -> tuple[list[Pair], dict[AspectSection, ModelError]]:
    """Return the pairs of sections, drafted by a model or extracted, and the sections for which the model failed."""
    words = Words(taxonomy.language)
    if writer is None:
        aspects = {one.name: one for one in taxonomy.aspects}
        drafted = [(one, extract_draft(one, aspects[one.place.aspect])) for one in sections]
        return [pair for one, drafts in drafted for pair in _assemble(one, drafts, words)], {}
    written = [*zip(sections, await few_at_once(sections, writer.write, done), strict=True)]
    failed = {one: drafts for one, drafts in written if isinstance(drafts, ModelError)}
    pairs = [pair for one, drafts in written if isinstance(drafts, list) for pair in _assemble(one, drafts, words)]
    return await _shorten(pairs, taxonomy, writer, words), failed


def _assemble(section: AspectSection, drafts: Iterable[Draft], words: Words) -> list[Pair]:
    """Make pairs of the drafts of a section. One that names no paragraph of it has no context, and passes no gate."""
    pairs = []
    for draft in drafts:
        question, answer, *variants = (" ".join(one.split()) for one in (draft.question, draft.answer, *draft.variants))
        if not question or not answer:
            continue
        key = hashlib.sha256(question.casefold().encode()).hexdigest()[:8]
        others = [one for one in dict.fromkeys(variants) if one != question and words.names_focus(one, section.focus)]
        is_known = 0 < draft.paragraph <= len(section.paragraphs)
        pair = Pair(
            **dict(section.place),
            id=f"{section.focus.id}-{slug(section.place.aspect)}-{key}",
            question=question,
            variants=tuple(others[:MOST_VARIANTS]),
            answer=answer,
            quotes=tuple(quote.strip() for quote in draft.quotes if quote.strip()),
            context=section.paragraphs[draft.paragraph - 1] if is_known else "",
            cluster="",
        )
        pairs.append(words.reword(pair, question, answer, draft.recommendation.strip()))
    return pairs


async def _shorten(pairs: Sequence[Pair], taxonomy: Taxonomy, writer: Writer, words: Words) -> list[Pair]:
    """Return the pairs, with a shorter answer where one was too long and the short one passes the gates."""
    long = [one for one in pairs if one.complexity == "complex" and not find_fault(one, taxonomy)]
    batches = [some[n : n + AT_ONCE] for some in _by_document(long) for n in range(0, len(some), AT_ONCE)]
    answers = [one for one in await few_at_once(batches, writer.shorten) if isinstance(one, dict)]
    short = {pair: answer for one in answers for pair, answer in one.items()}
    shortened = {one.id: words.reword(one, one.question, short[one.id]) for one in long if one.id in short}
    passing = {new.id for new in shortened.values() if new.complexity != "complex" and not find_fault(new, taxonomy)}
    return [shortened[one.id] if one.id in passing else one for one in pairs]


async def vary_pairs(
    pairs: Sequence[Pair], taxonomy: Taxonomy, writer: Writer, done: Done = lambda: None
) -> list[Pair]:
    """Return the pairs with further wordings of their questions; where the model fails, with those that they have."""
    foci = {focus.id: focus for focus in taxonomy.foci}
    batches = [some[n : n + AT_ONCE] for some in _by_document(pairs) for n in range(0, len(some), AT_ONCE)]
    answers = await few_at_once(batches, lambda some: writer.vary(some, foci[some[0].focus]), done)
    more = {pair: wordings for one in answers if isinstance(one, dict) for pair, wordings in one.items()}
    return [
        pair.model_copy(update={"variants": (*pair.variants, *_new_wordings(pair, more.get(pair.id, ())))})
        for pair in pairs
    ]


def _new_wordings(pair: Pair, wordings: Iterable[str]) -> list[str]:
    clean = dict.fromkeys(" ".join(one.split()) for one in wordings)
    return [one for one in clean if one and one != pair.question and one not in pair.variants]


def _by_document(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Group pairs by document, so that a document that is added does not change what is asked of the others."""
    return [[*some] for _, some in groupby(pairs, lambda pair: pair.document)]


def keep_stored(stored: Iterable[Pair], foci: Collection[str], failed: Iterable[AspectSection]) -> list[Pair]:
    """Return the stored pairs that a build keeps: reviewed ones, and those of documents and sections that it has no drafts of."""
    open_sections = [(one.focus.id, one.place.aspect) for one in failed]
    return [one for one in stored if one.review or one.focus not in foci or (one.focus, one.aspect) in open_sections]


def select(pairs: Iterable[Pair], taxonomy: Taxonomy) -> tuple[list[Pair], list[Finding]]:
    """Return the pairs that pass the gates, in the taxonomy's order and with their clusters, and why the others do not.

    What a person has reviewed passes. Of pairs with one id the first is kept.
    """
    kept: dict[str, Pair] = {}
    dropped: list[Finding] = []
    places = [(focus.id, aspect.name) for focus in taxonomy.foci for aspect in taxonomy.aspects]
    for pair in pairs:
        if (pair.focus, pair.aspect) not in places:
            dropped.append(Finding(pair, "place", f"{pair.focus} / {pair.aspect} is not in taxonomy.yaml"))
        elif pair.id in kept:
            dropped += [] if kept[pair.id].review else [Finding(pair, "duplicate", "its question is there already")]
        elif pair.review is None and (finding := find_fault(pair, taxonomy)):
            dropped.append(finding)
        else:
            kept[pair.id] = pair
    ordered = sorted(kept.values(), key=lambda pair: places.index((pair.focus, pair.aspect)))
    conflicts = [one for one in find_conflicts(assign_clusters(ordered, taxonomy), taxonomy) if one.pair.review is None]
    gone = {one.pair.id for one in conflicts}
    return assign_clusters([one for one in ordered if one.id not in gone], taxonomy), [*dropped, *conflicts]


def write_built(folder: Path, texts: Mapping[str, str], pairs: Sequence[Pair]) -> None:
    """Write the documents that the knowledge base has no section of, then the pairs."""
    for focus, text in texts.items():
        if not (section := folder / f"{focus}.md").exists():
            section.write_text(text, encoding="utf-8", newline="\n")
    write_pairs(folder, pairs)
