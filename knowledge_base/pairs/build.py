"""Builds question-answer pairs from documents: drafts and checks pairs, groups them into clusters, and writes the pair file."""

import hashlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from knowledge_base.building.slug import slug
from knowledge_base.pairs.clusters import assign_clusters, separate_wordings
from knowledge_base.pairs.drafts import Draft, Writer, extract_draft, few_at_once
from knowledge_base.pairs.gates import Finding, find_conflicts, find_fault, find_wordings
from knowledge_base.pairs.pair import Pair, Taxonomy, fold_wording, replace_file, write_pairs
from knowledge_base.pairs.paragraphs import AspectSection
from knowledge_base.pairs.words import Words
from models.errors import ModelError

MOST_VARIANTS = 15
"""Maximum number of variants per pair. An assistant compares each user's question with all variants."""
BATCH_SIZE = 10
"""Maximum number of pairs in one call that shortens answers or writes variants."""
T = TypeVar("T")


async def draft_pairs(
    sections: Sequence[AspectSection], taxonomy: Taxonomy, stored: Iterable[Pair] = (), writer: Writer | None = None
) -> tuple[list[Pair], list[AspectSection], list[str]]:
    """Draft pairs from sections. Variants and shortened answers of an earlier build are reused without a model call.

    Args:
        sections: The sections of the documents.
        taxonomy: The taxonomy of the knowledge base.
        stored: The pairs of an earlier build. Reviewed pairs are not drafted again.
        writer: The model that drafts. None: extract the first sentences of each section.

    Returns:
        The pairs; the sections for which the model failed; and a list with one message about the failed calls, or an empty list.
    """
    words, known = Words(taxonomy.language), {pair.id: pair for pair in stored}
    if writer is None:
        aspects = {one.name: one for one in taxonomy.aspects}
        extracts = [(one, extract_draft(one, aspects[one.place.aspect], words)) for one in sections]
        return [pair for one, drafts in extracts for pair in _assemble(one, drafts, words, known)], [], []
    written = [*zip(sections, await few_at_once(sections, writer.write, writer.progress), strict=True)]
    failed = {one: drafts for one, drafts in written if isinstance(drafts, ModelError)}
    drafted = [(one, drafts) for one, drafts in written if isinstance(drafts, list)]
    pairs = [pair for one, drafts in drafted for pair in _assemble(one, drafts, words, known)]
    pairs, unshortened = await _shorten(pairs, taxonomy, writer, words)
    pairs, unvaried = await _vary(pairs, taxonomy, writer, known)
    failures = [(one.place.source_reference, error) for one, error in failed.items()]
    failures += [("long answers", error) for error in unshortened] + [("wordings", error) for error in unvaried]
    more = f" and {len(failures) - 1} more calls" if len(failures) > 1 else ""
    return pairs, [*failed], [f"{place}{more}: {error}; build again to continue" for place, error in failures[:1]]


def _assemble(
    section: AspectSection, drafts: Iterable[Draft], words: Words, known: Mapping[str, Pair]
) -> Iterable[Pair]:
    """Yield the pairs of a section's drafts. A draft with an invalid paragraph number gets no context, so it fails the gates."""
    for draft in drafts:
        question, answer, *variants = (" ".join(one.split()) for one in (draft.question, draft.answer, *draft.variants))
        key = hashlib.sha256(question.casefold().encode()).hexdigest()[:8]
        ident = f"{section.focus.id}-{slug(section.place.aspect)}-{key}"
        stored = known.get(ident)
        if not question or not answer or (stored and stored.review):
            continue
        is_known = 0 < draft.paragraph <= len(section.paragraphs)
        pair = Pair(
            **dict(section.place),
            id=ident, question=question, answer=answer, cluster="",
            quotes=tuple(quote.strip() for quote in draft.quotes if quote.strip()),
            context=section.paragraphs[draft.paragraph - 1] if is_known else "",
        )  # fmt: skip
        pair = words.reword(pair, question, answer, draft.recommendation.strip())
        pair = _add_variants(pair, (one for one in variants if words.names_focus(one, section.focus)))
        if stored and pair.complexity == "complex" != stored.complexity and stored.context == pair.context:
            pair = words.reword(pair, question, stored.answer, stored.recommendation)
        yield pair


def _add_variants(pair: Pair, wordings: Iterable[str]) -> Pair:
    clean = (" ".join(one.split()) for one in wordings)
    texts = {fold_wording(one): one for one in reversed([*pair.wordings, *(one for one in clean if one)])}
    variants = [one for one in reversed(texts.values()) if one != pair.question]
    return pair.model_copy(update={"variants": tuple(variants[:MOST_VARIANTS])})


async def _shorten(
    pairs: Sequence[Pair], taxonomy: Taxonomy, writer: Writer, words: Words
) -> tuple[list[Pair], list[ModelError]]:
    """Ask the model for shorter versions of long answers. Return all pairs, with each short answer that passes the gates."""
    long = [one for one in pairs if one.complexity == "complex" and not find_fault(one, taxonomy)]
    short, errors = await _ask_in_batches(long, writer.shorten, writer)
    shortened = {one.id: words.reword(one, one.question, short[one.id]) for one in long if one.id in short}
    passing = {new.id for new in shortened.values() if new.complexity != "complex" and not find_fault(new, taxonomy)}
    return [shortened[one.id] if one.id in passing else one for one in pairs], errors


async def _vary(
    pairs: Sequence[Pair], taxonomy: Taxonomy, writer: Writer, known: Mapping[str, Pair]
) -> tuple[list[Pair], list[ModelError]]:
    """Return the pairs with more variants, from an earlier build if it has some, else from the model.

    The model writes variants only for pairs that pass the gates.
    """
    old = {one.id: known[one.id].variants for one in pairs if one.id in known}
    new = [one for one in pairs if {*old.get(one.id, ())} <= {*one.variants} and not find_fault(one, taxonomy)]
    more, errors = await _ask_in_batches(new, lambda some: writer.vary(some, taxonomy), writer)
    return [_add_variants(one, more.get(one.id, old.get(one.id, ()))) for one in pairs], errors


async def _ask_in_batches(
    pairs: Iterable[Pair], ask: Callable[[Sequence[Pair]], Awaitable[Mapping[str, T]]], writer: Writer
) -> tuple[dict[str, T], list[ModelError]]:
    """Ask the model about pairs in batches. Return the answers by pair id, and the errors of failed batches.

    All pairs of a batch are from one document, so adding a document does not change the requests for other documents.
    """
    by_document = [[*some] for _, some in groupby(pairs, lambda pair: pair.document)]
    batches = [some[n : n + BATCH_SIZE] for some in by_document for n in range(0, len(some), BATCH_SIZE)]
    answers = await few_at_once(batches, ask, writer.progress)
    errors = [one for one in answers if isinstance(one, ModelError)]
    return {id: said for one in answers if not isinstance(one, ModelError) for id, said in one.items()}, errors


def keep_stored(stored: Iterable[Pair], documents: Collection[str], failed: Iterable[AspectSection]) -> list[Pair]:
    """Return the stored pairs that a build keeps.

    These are reviewed pairs, pairs of documents that are not part of the build, and pairs of sections whose drafts failed.

    Args:
        documents: ids of the documents in the build.
        failed: the sections for which the model failed.
    """
    without = [(one.place.document, one.place.aspect) for one in failed]
    return [
        one for one in stored if one.review or one.document not in documents or (one.document, one.aspect) in without
    ]


def select(pairs: Iterable[Pair], taxonomy: Taxonomy) -> tuple[list[Pair], list[Finding]]:
    """Select the pairs of a knowledge base, and assign their clusters. Reviewed pairs pass all gates.

    Of pairs with the same id or question, only the first is kept.

    Returns:
        The pairs that pass the gates, in the order of the taxonomy; and a finding for each dropped pair or variant.
    """
    kept: dict[str, Pair] = {}
    dropped: list[Finding] = []
    places = {place: n for n, place in enumerate(taxonomy.pair_places())}
    for pair in pairs:
        if (pair.focus, pair.aspect) not in places:
            dropped.append(Finding(pair, "place", f"{pair.focus} / {pair.aspect} is not in taxonomy.yaml"))
        elif pair.id in kept:
            dropped.append(Finding(pair, "duplicate", "another pair has its question"))
        elif pair.review is None and (finding := find_fault(pair, taxonomy)):
            dropped.append(finding)
        else:
            faulty = {} if pair.review else find_wordings(pair, taxonomy)
            variants = tuple(text for text in pair.variants if text not in faulty)
            kept[pair.id] = pair.model_copy(update={"variants": variants})
            dropped += faulty.values()
    ordered = sorted(kept.values(), key=lambda pair: places[pair.focus, pair.aspect])
    clustered = assign_clusters(ordered, taxonomy)
    distinct = separate_wordings(clustered)
    gone = {one.id for one in clustered} - {one.id for one in distinct}
    dropped += [Finding(one, "duplicate", "another pair has its question") for one in clustered if one.id in gone]
    conflicts = [one for one in find_conflicts(distinct, taxonomy) if one.pair.review is None]
    gone = {one.pair.id for one in conflicts}
    return assign_clusters([one for one in distinct if one.id not in gone], taxonomy), [*dropped, *conflicts]


def write_built(folder: Path, texts: Mapping[str, str], pairs: Sequence[Pair]) -> None:
    """Write the result of a build: a section for each new document, then the pair file.

    Args:
        folder: the knowledge base.
        texts: section files by id. Existing sections are not overwritten.
        pairs: all pairs of the knowledge base.

    Raises:
        OSError: a file cannot be written.
    """
    for ident, text in texts.items():
        if not (section := folder / f"{ident}.md").exists():
            replace_file(section, text)
    write_pairs(folder, pairs)
