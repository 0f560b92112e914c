"""`caf key`: make, list and revoke API keys."""

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from cli.terminal import ConfigOption, config_path, leave, plain_errors, printable
from proxy.audit.admin import record_command
from proxy.auth import keys
from proxy.auth.keys import KeyRecord
from proxy.config.config import Config, ConfigError, load_config

DEFAULT = Path("data/keys.json")

app = typer.Typer(
    help="""Make, list and revoke API keys.

    A proxy has keys when its configuration says `keys: {file: data/keys.json}`; without, only programs on its own machine may
    ask. Of a key only a salted hash is kept. Where the configuration has an audit log, what is done here is recorded there (not
    with --file alone, which belongs to no configuration).

    \b
    Examples:
      caf key create clinic-app --requests-per-minute 60 --daily-budget 5
      caf key create staff --permission chat --permission trace
      caf key list
      caf key revoke 3f9a01bc
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)

FileOption = Annotated[
    Path | None,
    typer.Option(
        "--file", metavar="FILE", help="The keys; default: keys.file of the configuration, else data/keys.json."
    ),
]


def _require_positive(value: float | None) -> float | None:
    """The option's own `min` would take 0 as well."""
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter(f"{value:g} is no number above 0; without this option there is no budget")
    return value


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Whose it is.")],
    permission: Annotated[
        list[str] | None,
        typer.Option(
            "--permission",
            "-p",
            metavar="WHAT",
            help="chat (the default), trace, admin, unfiltered, evidence, act or console; may be repeated.",
        ),
    ] = None,
    chatbot: Annotated[
        list[str] | None,
        typer.Option("--chatbot", metavar="NAME", help="Only this chatbot; may be repeated. Default: all."),
    ] = None,
    requests_per_minute: Annotated[int | None, typer.Option(min=1, help="At most so many requests a minute.")] = None,
    tokens_per_minute: Annotated[
        int | None, typer.Option(min=1, help="At most so many tokens a minute, of all calls of its turns.")
    ] = None,
    daily_budget: Annotated[
        float | None,
        typer.Option(
            callback=_require_positive,
            help="Money a day (UTC), in the currency of `models.<alias>.price`.",
        ),
    ] = None,
    max_concurrent: Annotated[
        int | None, typer.Option(min=1, help="At most so many requests under way at a time.")
    ] = None,
    file: FileOption = None,
    config: ConfigOption = None,
) -> None:
    """Make a key and show it, once.

    \b
    Example:
      caf key create clinic-app --chatbot schizophrenia --requests-per-minute 60
    """
    path, settings = _key_file_and_config(file, config)
    if settings is not None and (unknown := [bot for bot in chatbot or () if bot not in settings.chatbots]):
        leave(f"--chatbot: {', '.join(map(repr, unknown))}: not configured; there is {', '.join(settings.chatbots)}")
    if not name.isprintable():
        leave("NAME: holds characters that cannot be shown")
    records = _load_records(path, missing_is_empty=True)
    try:
        new = keys.create(
            name, permission or ["chat"], chatbot, requests_per_minute=requests_per_minute,  # type: ignore[arg-type]
            tokens_per_minute=tokens_per_minute, daily_budget=daily_budget, max_concurrent=max_concurrent,
        )  # fmt: skip
    except ValidationError as error:
        leave(*(f"{fault['loc'][0]}: {fault['msg']}" for fault in error.errors(include_input=False)))
    _save_and_record([*records, new.record], path, settings, "key_create", new.record)
    if same := [one.id for one in records if one.name == name and one.revoked is None]:
        typer.echo(f"caf: {name!r} has a key already, which stays valid: {', '.join(same)}", err=True)
    typer.echo(f"key {new.record.id} for {name!r}, kept in {path}; this is the only time it is shown:", err=True)
    typer.echo(new.text)


@app.command("list")
def list_(file: FileOption = None, config: ConfigOption = None) -> None:
    """List the keys; their secrets are nowhere.

    \b
    Example:
      caf key list
    """
    path, _ = _key_file_and_config(file, config)
    for record in _load_records(path):
        limits = {
            "requests/min": record.requests_per_minute, "tokens/min": record.tokens_per_minute,
            "a day": record.daily_budget, "at a time": record.max_concurrent,
        }  # fmt: skip
        limits_text = ", ".join(f"{value:g} {unit}" for unit, value in limits.items() if value is not None)
        state = f"revoked {record.revoked:%Y-%m-%d}" if record.revoked else f"created {record.created:%Y-%m-%d}"
        bots = "all chatbots" if record.chatbots is None else ", ".join(record.chatbots)
        typer.echo(
            printable(
                f"{record.id}  {record.name:20}  {state}  {', '.join(record.permissions)}  {bots}  {limits_text}"
            ).rstrip()
        )


@app.command()
def revoke(
    ident: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `caf key list` shows it.")],
    file: FileOption = None,
    config: ConfigOption = None,
) -> None:
    """Revoke a key: a running proxy refuses it within a second.

    \b
    Example:
      caf key revoke 3f9a01bc
    """
    path, settings = _key_file_and_config(file, config)
    records = _load_records(path)
    by_id = {one.id: one for one in records}
    if ident not in by_id:
        keys = ", ".join(f"{one.id} ({one.name})" for one in records)
        leave(printable(f"there is no key with the id {ident!r} in {path}; there are {keys or 'none'}"))
    if by_id[ident].revoked is not None:
        leave(f"the key {ident!r} is revoked already, since {by_id[ident].revoked:%Y-%m-%d}")
    now = datetime.now(UTC).replace(microsecond=0)
    changed = [one.model_copy(update={"revoked": now}) if one.id == ident else one for one in records]
    _save_and_record(changed, path, settings, "key_revoke", by_id[ident].model_copy(update={"revoked": now}))
    typer.echo(f"revoked {ident} ({printable(by_id[ident].name)})")


def _key_file_and_config(file_option: Path | None, config: Path | None) -> tuple[Path, Config | None]:
    """Return the key file, and the configuration that it belongs to; None with --file alone."""
    if file_option is not None and config is None:
        return file_option, None
    path = config_path(config)
    with plain_errors(path):
        settings = load_config(path)
    file = settings.keys.file if settings.keys is not None else None
    return file_option or file or DEFAULT, settings


def _save_and_record(records: list[KeyRecord], path: Path, config: Config | None, action: str, key: KeyRecord) -> None:
    """Write the keys, and record in the configuration's audit log what was done to one of them."""
    audit = None if config is None else config.audit
    try:
        if audit is None:
            keys.save(records, path)
            return

        with record_command(audit, action, key) as log:
            keys.save(records, path)
    except keys.KeyFileError as error:
        leave(str(error))
    except ConfigError as error:
        leave(*error.problems)
    if log.dropped:
        typer.echo(f"caf: done, but not recorded: the audit log in {audit.folder} cannot be written", err=True)


def _load_records(path: Path, *, missing_is_empty: bool = False) -> list[KeyRecord]:
    if missing_is_empty and not path.exists():
        return []
    try:
        return list(keys.load(path).values())
    except keys.KeyFileError as error:
        leave(str(error))
