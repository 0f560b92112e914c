"""What `caf kb build` and `caf kb eval --pairs` do with a model, and what they print."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import typer

from assistants.registry import ENGINES
from cli.drawing import cost_text, figure_table, progress_bars, table_console
from cli.judging.output import quiet_logs
from cli.terminal import leave, plain_errors
from knowledge_base.pairs.build import draft_pairs, keep_stored, select, vary_pairs, write_built
from knowledge_base.pairs.drafts import Writer, few_at_once
from knowledge_base.pairs.gates import Finding
from knowledge_base.pairs.measure import OUTCOMES, STYLES, Question, Style, count_outcomes, rephrase
from knowledge_base.pairs.pair import Pair, Taxonomy
from knowledge_base.pairs.paragraphs import AspectSection, ReadDocuments, read_documents
from models.answer_cache import AnswerCache, CachingEngine, cache_hits
from models.client import Models, open_models
from models.errors import ModelError
from models.openai_engine import make_session
from models.usage import Ledger
from proxy.config.config import load_config

JOURNAL = "pairs.journal.jsonl"


def build_pairs(
    documents: list[Path], out: Path, taxonomy: Taxonomy, stored: Sequence[Pair], alias: str | None, config: Path
) -> tuple[list[Pair], list[Finding], ReadDocuments]:
    """Build pairs and write them; return them, what was dropped, and what was read and went wrong."""
    with progress_bars() as bars:
        bar = bars.add_task("documents", total=len(documents), cost="")
        read = read_documents(documents, taxonomy, done=lambda: bars.advance(bar))
    pairs, failed = asyncio.run(_draft(read.sections, out, taxonomy, alias, config))
    read.problems += [f"{one.place.source_reference}: {error}" for one, error in failed.items()]
    kept, findings = select([*keep_stored(stored, read.texts, failed), *pairs], taxonomy)
    if alias:
        kept = asyncio.run(_vary(kept, out, taxonomy, alias, config))
    if read.texts:
        write_built(out, read.texts, kept)
    return kept, findings, read


async def _draft(
    sections: list[AspectSection], out: Path, taxonomy: Taxonomy, alias: str | None, config: Path
) -> tuple[list[Pair], dict[AspectSection, ModelError]]:
    if alias is None or not sections:
        return await draft_pairs(sections, taxonomy)
    cache_hits.set(hits := list[str]())
    async with _asking(alias, config, "sections", len(sections), out / JOURNAL) as (models, ledger, done):
        drafted = await draft_pairs(sections, taxonomy, Writer(models, alias, ledger), done)
    cost = f", {cost_text(ledger.cost)} in all" if ledger.cost else ""
    count = f"{len(ledger.calls)} answers, {len(hits)} of them from {JOURNAL}"
    typer.echo(f"{alias}: {count}; {ledger.tokens:,} tokens{cost}")
    return drafted


async def _vary(pairs: list[Pair], out: Path, taxonomy: Taxonomy, alias: str, config: Path) -> list[Pair]:
    async with _asking(alias, config, "wordings", -(-len(pairs) // 10), out / JOURNAL) as (models, ledger, done):
        return await vary_pairs(pairs, taxonomy, Writer(models, alias, ledger), done)


def print_outcomes(
    pairs: list[Pair], taxonomy: Taxonomy, questions: list[Question], alias: str | None, number: int, config: Path
) -> None:
    """Print what the search makes of questions, and of stored ones that a model rephrases, as the thesis' Table 5.2."""
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


async def _rephrase(pairs: list[Pair], style: Style, taxonomy: Taxonomy, alias: str, config: Path) -> list[Question]:
    async with _asking(alias, config, style, len(pairs)) as (models, ledger, done):
        said = await few_at_once(
            pairs, lambda pair: rephrase(models, alias, pair.question, style, taxonomy.language, ledger), done
        )
    if errors := [one for one in said if isinstance(one, ModelError)]:
        leave(f"{len(errors)} of {len(said)} questions were not rephrased: {errors[0]}")
    return [(text, pair) for text, pair in zip(said, pairs, strict=True) if isinstance(text, str)]


@asynccontextmanager
async def _asking(
    alias: str, config: Path, title: str, total: int, journal: Path | None = None
) -> AsyncIterator[tuple[Models, Ledger, Callable[[], None]]]:
    """Yield models, a ledger of their calls, and what advances a progress bar. What the journal has is not asked again."""
    with plain_errors(config):
        settings = load_config(config).models
        if alias not in settings:
            leave(f"{config}: has no model alias {alias!r}; it has {', '.join(settings) or 'none'}")
        quiet_logs()
        cache = AnswerCache(journal) if journal else None
        ledger = Ledger()
        async with make_session() as session:
            models = open_models(
                settings, session, ENGINES,
                wrap_engine=lambda name, engine: CachingEngine(engine, cache, name) if cache else engine,
            )  # fmt: skip
            with progress_bars() as bars:
                bar = bars.add_task(title, total=total, cost="")
                yield models, ledger, lambda: bars.update(bar, advance=1, cost=cost_text(ledger.cost or 0))
