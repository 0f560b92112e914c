"""Implements `caf kb import`: reads documents, writes sections, prints the results."""

import asyncio
from pathlib import Path

import typer

from assistants.registry import ENGINES
from cli.drawing import cost_text, progress_bars
from cli.judging.output import quiet_logs
from cli.terminal import config_path, plain_errors, printable
from knowledge_base.building.importing import ReadDocuments, delete_sections, read_documents, write_sections
from knowledge_base.building.model_summary import write_summaries
from knowledge_base.building.plan import Decision, Plan, Step
from knowledge_base.building.sections import Section
from knowledge_base.building.summary import EXTRACTED, extract_summary
from models.client import open_models
from models.openai_engine import make_session
from models.usage import Ledger, estimate_tokens
from proxy.config.config import load_config


def read(files: list[Path], prefix: str, present: dict[str, str], leave_out: list[str]) -> ReadDocuments:
    with progress_bars() as bars:
        bar = bars.add_task("documents", total=len(files), cost="")
        return read_documents(files, present, prefix=prefix, leave_out=leave_out, done=lambda path: bars.advance(bar))


def write(plan: Plan, sections: list[Section], into: Path, alias: str | None, config: Path | None) -> list[str]:
    """Write and delete the planned sections. Return one message for each summary that the model failed to write."""
    new = [one.section for one in plan.having("add", "replace") if one.section is not None]
    extracts = {section.id: (extract_summary(section), EXTRACTED) for section in new}
    problems: list[str] = []
    if alias is None or not new:
        write_sections(plan, extracts, into)
    else:
        path = config_path(config)
        with plain_errors(path):
            problems = asyncio.run(_write_with_model(plan, sections, extracts, into, alias, path))
    delete_sections(plan, into)
    return problems


async def _write_with_model(
    plan: Plan,
    sections: list[Section],
    extracts: dict[str, tuple[str, str]],
    into: Path,
    alias: str,
    path: Path,
) -> list[str]:
    """Have a model write the summaries. A document's sections are written once all its summaries are ready."""
    quiet_logs()
    settings = load_config(path).models
    ledger = Ledger()
    problems = []
    async with make_session() as session:
        models = open_models(settings, session, ENGINES)
        with progress_bars() as bars:
            bar = bars.add_task("summaries", total=len(extracts), cost="")
            for document in dict.fromkeys(section.document for section in sections):
                beside = [section for section in sections if section.document == document]
                pending = [section for section in beside if section.id in extracts]
                answers = await write_summaries(
                    models, alias, pending, beside, ledger,
                    done=lambda: bars.update(bar, advance=1, cost=cost_text(ledger.cost or 0)),
                )  # fmt: skip
                chosen = {}
                for section_id, answer in answers.items():
                    if isinstance(answer, str) and answer:
                        chosen[section_id] = (answer, alias)
                    else:
                        chosen[section_id] = extracts[section_id]
                        reason = "an empty answer" if isinstance(answer, str) else f"{type(answer).__name__}: {answer}"
                        problems.append(
                            f"{section_id}: {alias} gave no summary ({reason}), so it was extracted: try again with --overwrite"
                        )
                write_sections(plan, chosen, into)
    return problems


def print_plan(plan: Plan, read: ReadDocuments, into: Path, dry_run: bool, alias: str | None) -> None:
    for note in read.notes:
        typer.echo(f"note     {printable(note)}")
    if dry_run:
        for decision in plan.having("add", "replace"):
            if decision.section is not None:
                tokens = estimate_tokens(decision.section.text)
                typer.echo(f"{decision.step:<8} {decision.id}  {tokens:,} tokens  {printable(decision.section.title)}")
    for decision in plan.having("delete", "outdated", "orphan", "keep", "keep_orphan", "clash"):
        typer.echo(f"{_WORDS[decision.step]:<8} {printable(_explain(decision))}")
    for document in read.beginnings:
        own = [section for section in read.sections if section.document == document]
        tokens = sum(estimate_tokens(section.text) for section in own)
        typer.echo(f"{printable(document)}: {len(own)} section{'s' * (len(own) != 1)}, {tokens:,} tokens")
    counted: tuple[tuple[str, Step], ...] = (
        ("added", "add"),
        ("replaced", "replace"),
        ("deleted", "delete"),
        ("unchanged", "none"),
    )
    counts = [f"{len(some)} {word}" for word, step in counted if (some := plan.having(step))]
    left = len(plan.having("outdated", "orphan", "keep", "keep_orphan", "clash"))
    counts += [f"{left} unchanged"] if left else []
    would = "would be " if dry_run else ""
    typer.echo(f"{into}: {would}{', '.join(counts) or 'nothing to write'}")
    if plan.having("add", "replace") and not dry_run:
        by = f"written by {alias}" if alias else "the first sentences of the text"
        typer.echo(
            f"summaries: {by}. Read and correct each section, then write `reviewed: true`. `caf check {into}` counts the others."
        )


_WORDS: dict[Step, str] = {
    "delete": "delete", "outdated": "differs", "orphan": "gone", "keep": "kept", "keep_orphan": "kept", "clash": "problem",
}  # fmt: skip


def _explain(decision: Decision) -> str:
    return {
        "delete": f"{decision.id}: no longer in its document",
        "outdated": f"{decision.id}: its {decision.reason} has changed: replace it with --overwrite",
        "orphan": f"{decision.id}: no longer in its document: delete it with --overwrite",
        "keep": f"{decision.id}: was {decision.reason}, and its document has changed since: compare them",
        "keep_orphan": f"{decision.id}: was {decision.reason}, and is no longer in its document: delete it if it is outdated",
        "clash": f"{decision.id}: the folder has a section with this id, and {decision.reason}: use --prefix, or rename one",
    }[decision.step]
