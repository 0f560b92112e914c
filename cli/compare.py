"""`caf compare`: asks your own questions with the filter on and off, and shows the replies side by side."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.conversation import ChatError, list_chatbots, open_session
from cli.judging.output import quiet_logs
from cli.terminal import PROBLEMS, ConfigOption, config_path, leave, plain_errors, print_json, printable
from scenarios import own_questions
from scenarios.files import ScenarioError
from scenarios.own_questions import OwnQuestion
from scoring.folder import RunError, RunFolder
from scoring.plan import Sample

if TYPE_CHECKING:
    from scoring.experiments.compare import OpenArms
    from scoring.experiments.side_by_side import Pair

KEY_VARIABLE = "CAF_API_KEY"
COLUMNS = 80
"""Width of the table in a pipe, in characters."""


def compare(
    questions: Annotated[
        Path | None, typer.Argument(metavar="QUESTIONS", help="Questions, a .txt or .jsonl file; see docs/compare.md.")
    ] = None,
    config: ConfigOption = None,
    chatbot: Annotated[
        str | None, typer.Option("--chatbot", metavar="NAME", help="The chatbot; default: the first one.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help=f"Ask a running proxy at this address; its key comes from {KEY_VARIABLE}."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Only the first N questions.")] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            "--into", "--out", "-o", metavar="FOLDER", help="Folder of the comparison; default: data/compare/NAME-HASH."
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget", min=0, help="Stop before the calls cost more; in the currency of `models.<alias>.price`."
        ),
    ] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, max=256, help="Maximum number of requests at a time.")
    ] = 4,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the estimate, and ask nothing.")] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", "-y", help="Do not ask for confirmation. Required without a terminal if the run may cost money."
        ),
    ] = False,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="FOLDER", help="Show an earlier comparison, without model calls."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print results.json instead of the table.")] = False,
) -> None:
    """Compare replies to your own questions with the filter on and off.

    The folder gets report.html, results.json and the journal of the run. To resume a stopped run, give the same command again:
    replies in the folder are not requested again.

    If the run may cost money, the command asks for confirmation. Without a terminal, as in CI, it needs --yes. A run may cost
    money if it uses --url, a model with a price, or a model without a price that needs a key or is on another machine.

    \b
    Examples:
      caf compare questions.txt --dry-run
      caf compare questions.jsonl --config config.yaml --into compare/monday
      caf compare questions.txt --url http://127.0.0.1:8080 --chatbot info
      caf compare --replay compare/monday --json

    \b
    Exit codes:
      0  every question has both replies and meets its expectations
      1  a reply is missing, an expectation is not met, or the run was stopped
      2  wrong usage or configuration, the budget is spent, or --yes is missing
    """
    from scoring.experiments.compare import read_comparison

    if (questions is None) == (replay is None):
        raise typer.BadParameter("expected either a file of questions or --replay FOLDER")
    if url is not None and (config is not None or budget is not None):
        raise typer.BadParameter("--config and --budget do not apply to --url: the running proxy has its own")
    quiet_logs()
    path = config_path(config)
    try:
        with plain_errors(path):
            if replay is not None:
                folder, asked = read_comparison(replay)
            else:
                assert questions is not None
                asked = own_questions.load(questions)[:limit]
                name = re.sub(r"[^A-Za-z0-9._-]+", "-", questions.stem).strip("-._")[:50] or "questions"
                subject = (
                    _configured_subject(name, path, chatbot, questions, asked, budget)
                    if url is None
                    else _served_subject(url, chatbot)
                )
                folder = _choose_folder(into, name, subject, asked)
                _announce(subject, asked, folder, dry_run=dry_run, yes=yes)
                _run(name, subject, asked, folder, concurrency)
        pairs = _report(folder, asked, as_json=as_json)
    except ScenarioError as error:
        leave(*map(printable, error.problems))
    except (RunError, ChatError) as error:
        leave(printable(str(error)))
    if any(pair.failures or pair.errors for pair in pairs):
        raise typer.Exit(PROBLEMS)


@dataclass(frozen=True, slots=True)
class Subject:
    """The chatbot to ask: one of a configuration file, or one of a running proxy."""

    label: str
    """The chatbot and where it is configured or served, for people."""
    description: dict[str, Any]
    """Everything that determines the chatbot's replies, for the manifest."""
    open_arms: "OpenArms"
    estimate: Callable[[Sequence[Sample]], tuple[str, bool]]
    """Given samples, returns a sentence that estimates their calls and costs, and whether they may cost money."""


def _configured_subject(
    name: str, path: Path, chatbot: str | None, file: Path, questions: Sequence[OwnQuestion], budget: float | None
) -> Subject:
    from proxy.config.config import load_config
    from scoring.experiments.compare import check_chatbot, describe_configured, open_configured, plan_experiment
    from scoring.experiments.estimate import estimate

    config = load_config(path)
    experiment = plan_experiment(name, path, chatbot or next(iter(config.chatbots)), file)
    bot = check_chatbot(experiment, config, questions)

    def estimate_samples(samples: Sequence[Sample]) -> tuple[str, bool]:
        by_id = {one.id: one.messages for one in questions}
        need = estimate(bot, config.models, [(sample.arm, by_id[sample.start]) for sample in samples])
        text = f"about {need.calls:,.0f} model calls, {need.tokens:,.0f} tokens"
        text += f", cost {need.cost:.4f}" if need.cost.high else ""
        if need.unpriced:
            text += f", plus the cost of {', '.join(need.unpriced)}, without a `price`"
        return text, need.cost.high > 0 or bool(need.unpriced)

    return Subject(
        f"{experiment.chatbot} of {path}", describe_configured(experiment, bot),
        partial(open_configured, experiment, budget), estimate_samples,
    )  # fmt: skip


def _served_subject(url: str, chatbot: str | None) -> Subject:
    from scoring.experiments.compare import open_served

    if not url.startswith(("http://", "https://")):
        leave(f"--url {url!r}: expected an address such as http://127.0.0.1:8080")
    address = url.rstrip("/").removesuffix("/v1")
    names = asyncio.run(_list_served(address))
    name = chatbot or next(iter(names), None)
    if name is None or name not in names:
        leave(f"--chatbot {name!r}: this chatbot is not served at {address} (served: {', '.join(names) or 'none'})")
    key_variable = KEY_VARIABLE if os.environ.get(KEY_VARIABLE) else None

    def estimate_samples(samples: Sequence[Sample]) -> tuple[str, bool]:
        return f"{len(samples)} requests to {address}; their model calls and cost cannot be estimated", True

    return Subject(
        f"{name} at {address}", {"chatbot": name, "url": address},
        partial(open_served, address, name, key_variable), estimate_samples,
    )  # fmt: skip


async def _list_served(address: str) -> list[str]:
    async with await open_session(os.environ.get(KEY_VARIABLE)) as session:
        return await list_chatbots(session, address)


def _choose_folder(into: Path | None, name: str, subject: Subject, questions: Sequence[OwnQuestion]) -> RunFolder:
    """Return the folder of a comparison. The default name has a hash, so that each configuration gets its own folder."""
    from scoring.experiments.compare import identify
    from scoring.experiments.manifest import hash_json

    identity = hash_json(identify(subject.description, questions))
    return RunFolder(into or Path("data/compare") / f"{name}-{identity[:8]}")


def _announce(
    subject: Subject, questions: Sequence[OwnQuestion], folder: RunFolder, *, dry_run: bool, yes: bool
) -> None:
    """Print the estimate. If the run may cost money, ask for confirmation, or exit if there is no terminal to ask on."""
    from scoring.experiments.compare import pending

    waiting = pending(questions, folder)
    done = 2 * len(questions) - len(waiting)
    text, costs = subject.estimate(waiting)
    in_folder = f", of which {done} are already in {folder.path}" if done else ""
    need = text if waiting else "nothing to ask; for new replies, give another --into"
    typer.echo(f"Chatbot: {printable(subject.label)}", err=not dry_run)
    typer.echo(f"{len(questions)} questions, {2 * len(questions)} replies{in_folder}: {need}", err=not dry_run)
    if dry_run:
        raise typer.Exit
    if waiting and costs and not yes:
        if not sys.stdin.isatty():
            leave(
                "the run may cost money: without a terminal, confirm with --yes, or use --dry-run for the estimate only"
            )
        typer.confirm("Begin?", abort=True, err=True)


def _run(name: str, subject: Subject, questions: Sequence[OwnQuestion], folder: RunFolder, concurrency: int) -> None:
    from scoring.experiments.compare import identify, run_comparison

    try:
        asyncio.run(
            run_comparison(
                questions, folder, identify(subject.description, questions), subject.open_arms, name=name, concurrency=concurrency,
                command=" ".join(["caf", *sys.argv[1:]]), show_progress=_show_progress,
            )
        )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo(f"\ncaf: stopped; give the same command again to resume: {folder.path}", err=True)
        raise typer.Exit(PROBLEMS) from None


@contextmanager
def _show_progress(total: int) -> Iterator[Callable[[str, float | None], None]]:
    from cli.drawing import cost_text, progress_bars

    spent = 0.0
    with progress_bars() as bars:
        task = bars.add_task("replies", total=total, cost="")

        def advance(_: str, cost: float | None) -> None:
            nonlocal spent
            spent += cost or 0.0
            bars.update(task, advance=1, cost=cost_text(spent))

        yield advance


def _report(folder: RunFolder, questions: Sequence[OwnQuestion], *, as_json: bool) -> "list[Pair]":
    """Write results.json and report.html, print the table or the JSON, and list errors."""
    from scoring.experiments.side_by_side import REPORT, RESULTS, read_pairs, render_report, summarise

    pairs = read_pairs(folder, questions)
    results = summarise(folder.manifest(), pairs)
    folder.write(RESULTS, json.dumps(results, ensure_ascii=False, indent=1) + "\n")
    folder.write(REPORT, render_report(results, pairs))
    if as_json:
        print_json(results)
    else:
        _print_table(pairs)
        _print_summary(results["summary"])
        typer.echo(f"Report: {folder.path / REPORT}")
    for pair in pairs:
        for arm, error in pair.errors.items():
            typer.echo(printable(f"caf: {pair.question.id}: no reply with the filter {arm}: {error}"), err=True)
        for one in pair.failures:
            question = _shorten(pair.question.text, 60)
            typer.echo(
                printable(f"FAILED {pair.question.id} {question!r}: expected {one.expected}, got {one.got}"), err=True
            )
    if pairs and all(pair.on is not None and pair.on.outcome == "unfiltered" for pair in pairs):
        typer.echo("caf: no reply was judged: the chatbot has no judges, or the proxy sends no `caf` object", err=True)
    return pairs


def _print_table(pairs: "Sequence[Pair]") -> None:
    """Print one row for each question: outcome, words changed by the filter, calls (on/off), and cost of both replies."""
    from rich.text import Text

    from cli.drawing import figure_table, table_console

    table = figure_table(["id", "question", "outcome", "words", "check"], ["calls", "cost"])
    for pair in pairs:
        changed = f"-{pair.count_words('removed')} +{pair.count_words('added')}" if pair.is_changed else "same"
        costs = [one.cost for one in (pair.on, pair.off) if one is not None and one.cost is not None]
        cells = (
            _shorten(pair.question.id, 10),
            _shorten(pair.question.text, 20),
            pair.on.outcome if pair.on else "–",
            "–" if pair.errors else changed,
            {"unchecked": "–", "failed": "FAILED"}.get(pair.status, pair.status),
            f"{pair.on.calls if pair.on else '–'}/{pair.off.calls if pair.off else '–'}",
            f"{sum(costs):.4f}" if costs else "–",
        )
        table.add_row(*(Text(printable(cell)) for cell in cells))
    table_console(COLUMNS).print(table)


def _print_summary(summary: dict[str, Any]) -> None:
    on, off = (summary["arms"][arm] for arm in ("on", "off"))
    costs = [one["cost"] for one in (on, off) if one["cost"] is not None]
    if summary["error"]:
        typer.echo(f"Questions without a reply: {summary['error']} of {summary['questions']}")
    typer.echo(
        f"Questions: {summary['questions']}. The filter changed or replaced {summary['stepped_in']} replies; "
        f"texts differ in {summary['changed']}."
    )
    typer.echo(
        f"Calls: {on['calls']} on, {off['calls']} off. Tokens: {on['tokens']:,} on, {off['tokens']:,} off."
        + (f" Cost: {sum(costs):.4f}." if costs else "")
    )
    if checked := summary["passed"] + summary["failed"]:
        typer.echo(f"Expectations: {summary['passed']} of {checked} questions pass")


def _shorten(text: str, length: int) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
