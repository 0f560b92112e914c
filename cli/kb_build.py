"""Implements `caf kb build` and `caf kb eval --pairs`: calls models and prints the results."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import typer

from assistants.registry import ENGINES
from cli.drawing import cost_text, figure_table, progress_bars, table_console
from cli.judging.output import quiet_logs
from cli.terminal import leave, plain_errors
from knowledge_base.pairs.build import draft_pairs, keep_stored, select, write_built
from knowledge_base.pairs.drafts import Writer, few_at_once
from knowledge_base.pairs.gates import Finding
from knowledge_base.pairs.pair import PAIRS_FILE, TAXONOMY_FILE, Pair, Taxonomy
from knowledge_base.pairs.pair_eval import OUTCOMES, STYLES, Question, Style, count_outcomes, rephrase
from knowledge_base.pairs.paragraphs import AspectSection, ReadDocuments, read_documents
from models.answer_cache import AnswerCache, CachingEngine, cache_hits
from models.client import open_models
from models.errors import ModelError
from models.openai_engine import make_session
from models.usage import Ledger
from proxy.config.config import load_config

JOURNAL = "pairs.journal.jsonl"


def build_pairs(
    documents: list[Path], out: Path, taxonomy: Taxonomy, stored: Sequence[Pair], alias: str | None, config: Path
) -> tuple[list[Pair], list[Finding], ReadDocuments]:
    """Build and write pairs. Return the pairs, the dropped pairs, and the read documents with their problems."""
    places = taxonomy.pair_places()
    if lost := [one for one in stored if one.review and (one.focus, one.aspect) not in places]:
        what = f"reviewed pair {lost[0].id!r} is on {lost[0].focus} / {lost[0].aspect}"
        leave(f"{out / PAIRS_FILE}: {what}, which taxonomy.yaml lacks: add them there, or delete the pair")
    if alias is None and (out / JOURNAL).exists():
        leave(
            f"{out / JOURNAL}: a model wrote these pairs: give --model ALIAS, or delete this file to extract pairs instead"
        )
    with progress_bars() as bars:
        bar = bars.add_task("documents", total=len(documents), cost="")
        read = read_documents(documents, taxonomy, done=lambda: bars.advance(bar))
    pairs, failed, failures = asyncio.run(_draft(read.sections, out, taxonomy, stored, alias, config))
    read.problems += failures
    if alias is None and read.sections and not pairs:
        leave(
            f"{out / TAXONOMY_FILE}: no aspect of the documents has `questions` to extract: add some, or give --model ALIAS"
        )
    kept, findings = select([*keep_stored(stored, read.texts, failed), *pairs], taxonomy)
    if alias is None and (gone := {pair.id for pair in stored} - {pair.id for pair in kept}):
        leave(
            f"{out / PAIRS_FILE}: {len(gone)} of its {len(stored)} pairs would be lost (the first is {min(gone)!r}), and a model "
            "wrote them: give --model ALIAS, or another --out"
        )
    if read.texts:
        write_built(out, read.texts, kept)
    return kept, findings, read


async def _draft(
    sections: list[AspectSection],
    out: Path,
    taxonomy: Taxonomy,
    stored: Sequence[Pair],
    alias: str | None,
    config: Path,
) -> tuple[list[Pair], list[AspectSection], list[str]]:
    if alias is None or not sections:
        return await draft_pairs(sections, taxonomy, stored)
    cache_hits.set(hits := list[str]())
    async with _asking(alias, config, "calls", out / JOURNAL) as writer:
        drafted = await draft_pairs(sections, taxonomy, stored, writer)
    cost = f", total {cost_text(writer.ledger.cost)}" if writer.ledger.cost else ""
    count = f"{len(writer.ledger.calls)} answers, {len(hits)} of them from {JOURNAL}"
    typer.echo(f"{alias}: {count}; {writer.ledger.tokens:,} tokens{cost}")
    return drafted


def print_outcomes(
    pairs: list[Pair], taxonomy: Taxonomy, questions: list[Question], alias: str | None, number: int, config: Path
) -> None:
    """Print the outcomes of BM25 for questions and for stored questions that a model rephrased, like Table 5.2 of the thesis."""
    asked = {"questions": [one for one in questions if one[1]], "of no pair": [one for one in questions if not one[1]]}
    if alias:
        chosen = random.Random(0).sample(pairs, min(number, len(pairs)))
        asked |= {style: asyncio.run(_rephrase(chosen, style, taxonomy, alias, config)) for style in STYLES}
    table = figure_table(("n", "asked"), OUTCOMES)
    for name, some in asked.items():
        counts = count_outcomes(some, pairs, taxonomy)
        if some:
            table.add_row(str(len(some)), name, *(f"{counts[one]} / {counts[one] / len(some):.2f}" for one in OUTCOMES))
    table_console().print(table)
    typer.echo(
        f"Measured: BM25 over question, variants, aspect and answer of {len(pairs)} served pairs; no threshold.\n"
        "Not measured: an assistant's own matcher, its thresholds and its dialogue."
    )


async def _rephrase(pairs: list[Pair], style: Style, taxonomy: Taxonomy, alias: str, config: Path) -> list[Question]:
    async with _asking(alias, config, style) as writer:
        said = await few_at_once(
            pairs,
            lambda pair: rephrase(writer.models, alias, pair.question, style, taxonomy.language, writer.ledger),
            writer.progress,
        )
    if errors := [one for one in said if isinstance(one, ModelError)]:
        leave(f"{len(errors)} of {len(said)} questions were not rephrased: {errors[0]}")
    return [(text, pair) for text, pair in zip(said, pairs, strict=True) if isinstance(text, str)]


@asynccontextmanager
async def _asking(alias: str, config: Path, title: str, journal: Path | None = None) -> AsyncIterator[Writer]:
    """Yield a writer that asks the model and shows a progress bar. Answers in the journal are reused."""
    with plain_errors(config):
        settings = load_config(config).models
        if alias not in settings:
            leave(f"{config}: no model alias {alias!r} (configured: {', '.join(settings) or 'none'})")
        quiet_logs()
        cache = AnswerCache(journal) if journal else None
        ledger = Ledger()
        async with make_session() as session:
            models = open_models(
                settings, session, ENGINES,
                wrap_engine=lambda name, engine: CachingEngine(engine, cache, name) if cache else engine,
            )  # fmt: skip
            with progress_bars() as bars:
                bar = bars.add_task(title, total=0, cost="")

                def progress(more: int, done: int) -> None:
                    total = (bars.tasks[0].total or 0) + more
                    bars.update(bar, total=total, advance=done, cost=cost_text(ledger.cost or 0))

                yield Writer(models, alias, ledger, progress)
