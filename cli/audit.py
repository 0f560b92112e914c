"""`caf audit`: check the audit log."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from cli.terminal import PROBLEMS, ConfigOption, config_path, leave, plain_errors, printable
from proxy.audit.chain import Chain, Head, head_line, read_heads
from proxy.audit.folder import FolderFault, Report, last_heads
from proxy.audit.folder import verify as check
from proxy.config.config import load_config

app = typer.Typer(
    help="""Check the audit log.

    To keep an audit log, set `audit: {folder: data/audit}` in the configuration. It records the outcome of each turn, and every
    change of configuration and keys, with random ids and without texts of conversations. Each record holds the hash of the
    previous one, in one chain per process, so that changes can be detected.

    \b
    Examples:
      caf audit verify
      caf audit head >> /mnt/elsewhere/heads.txt
      caf audit verify --head /mnt/elsewhere/heads.txt
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)

FolderArgument = Annotated[
    Path | None, typer.Argument(metavar="[FOLDER]", help="The audit log; default: audit.folder of the configuration.")
]


@app.command()
def verify(
    folder: FolderArgument = None,
    head: Annotated[
        Path | None,
        typer.Option("--head", metavar="FILE", help="Output of `caf audit head`; these records must still exist."),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Check every chain, and print the file and line of its first fault.

    Changed, missing, added and moved lines are faults. Each chain names earlier chains; a named chain that is missing or too
    short is a fault too. The oldest chains may be deleted, which a note reports. A chain that was truncated looks like the log of
    a crashed process. To detect truncation, store the output of `caf audit head` where nobody who can change the log can change it.

    \b
    Exit codes: 0 no faults; 1 faults found; 2 no audit log.
    """
    path = _folder_to_check(folder, config)
    expected_heads = [] if head is None else _read_heads_file(head)
    try:
        report = check(path, expected_heads)
    except OSError as error:
        leave(f"{error.filename or path}: cannot be read: {error.strerror}")
    for line in report_lines(report):
        typer.echo(printable(line))
    faults = [*report.faults] if report.chains or report.faults else [f"{path}: found no chain"]
    for fault in faults:
        typer.echo(printable(f"fault  {fault}"))
    if faults:
        raise typer.Exit(PROBLEMS)
    typer.echo(f"{path}: no faults in {sum(chain.head.seq + 1 for chain in report.chains)} records")


@app.command("head")
def head_(folder: FolderArgument = None, config: ConfigOption = None) -> None:
    """Print the last hash of each chain. Store the output outside the log, and check it with `caf audit verify --head`.

    \b
    Example:
      caf audit head | mail -s "audit heads" auditor@example.org
    """
    path = _folder_to_check(folder, config)
    try:
        heads = last_heads(path)
    except OSError as error:
        leave(f"{error.filename or path}: cannot be read: {error.strerror}")
    except FolderFault as fault:
        typer.echo(f"caf: {printable(str(fault))}: for details, run `caf audit verify`", err=True)
        raise typer.Exit(PROBLEMS) from None
    for head in heads:
        typer.echo(head_line(head))


def report_lines(report: Report) -> Iterator[str]:
    """Yield the report lines of `caf audit verify`: one line for each intact chain, then the notes."""
    for chain in report.chains:
        lost = f", {chain.lost} records lost (as the chain records)" if chain.lost else ""
        yield f"{chain.name}  {chain.head.seq + 1} records, {_describe_end(chain, report)}{lost}"
    for note in report.notes:
        yield f"note   {note}"


def _describe_end(chain: Chain, report: Report) -> str:
    if chain.ending == "closed":
        return "closed"
    if chain.name in report.open_chains:
        return "being written"
    where = " within a line" if chain.ending == "torn" else ""
    return f"not closed: the process crashed, or the end was cut off{where}"


def _folder_to_check(folder_option: Path | None, config: Path | None) -> Path:
    if folder_option is not None:
        return folder_option
    path = config_path(config)
    with plain_errors(path):
        settings = load_config(path).audit
    if settings is None:
        leave(f"{path}: no audit log is configured: set audit: {{folder: data/audit}}, or give FOLDER")
    return settings.folder


def _read_heads_file(path: Path) -> list[Head]:
    try:
        heads = read_heads(path.read_text(encoding="utf-8"))
    except OSError as error:
        leave(f"{path}: cannot be read: {error.strerror}")
    except ValueError as error:  # UnicodeDecodeError too
        leave(f"{path}: {error}")
    if not heads:
        leave(f"{path}: the file has no heads: write them with `caf audit head > FILE`")
    return heads
