"""`caf key`: make, list and revoke API keys."""

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from cli.terminal import ConfigOption, config_path, leave, plain_errors, printable
from models.validation_errors import describe_faults
from proxy.audit.admin import record_command
from proxy.auth import keys
from proxy.auth.keys import KeyRecord
from proxy.config.config import Config, ConfigError, load_config

DEFAULT = Path("data/keys.json")

app = typer.Typer(
    help="""Make, list and revoke API keys.

    To require keys, set `keys: {file: data/keys.json}` in the configuration. Without keys, the proxy accepts only requests from its
    own machine. The file holds only salted hashes of keys. If the configuration has an audit log, it records these commands; with
    --file alone, no configuration is read, and nothing is recorded.

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
        "--file", metavar="FILE", help="File of the keys; default: keys.file of the configuration, else data/keys.json."
    ),
]


def _require_positive(value: float | None) -> float | None:
    """Return a value if it is above 0. The option `min` of typer would accept 0."""
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter(f"{value:g}: expected a number above 0; for no budget, leave the option out")
    return value


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the key's owner.")],
    permission: Annotated[
        list[str] | None,
        typer.Option(
            "--permission",
            "-p",
            metavar="WHAT",
            help="Permission: chat (the default), trace, admin, unfiltered, evidence, act or console; may be repeated.",
        ),
    ] = None,
    chatbot: Annotated[
        list[str] | None,
        typer.Option("--chatbot", metavar="NAME", help="Only this chatbot; may be repeated. Default: all."),
    ] = None,
    requests_per_minute: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of requests per minute.")
    ] = None,
    tokens_per_minute: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of tokens per minute, in all model calls for this key's turns."),
    ] = None,
    daily_budget: Annotated[
        float | None,
        typer.Option(
            callback=_require_positive,
            help="Maximum cost per day (UTC), in the currency of `models.<alias>.price`.",
        ),
    ] = None,
    max_concurrent: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of requests at the same time.")
    ] = None,
    file: FileOption = None,
    config: ConfigOption = None,
) -> None:
    """Make a key and show it once.

    \b
    Example:
      caf key create clinic-app --chatbot schizophrenia --requests-per-minute 60
    """
    path, settings = _key_file_and_config(file, config)
    if settings is not None and (unknown := [bot for bot in chatbot or () if bot not in settings.chatbots]):
        leave(
            f"--chatbot: {', '.join(map(repr, unknown))}: no such chatbot (configured: {', '.join(settings.chatbots)})"
        )
    if not name.isprintable():
        leave(f"NAME {name!r}: contains control characters: use printable characters only")
    records = _load_records(path, missing_is_empty=True)
    try:
        new = keys.create(
            name, permission or ["chat"], chatbot, requests_per_minute=requests_per_minute,  # type: ignore[arg-type]
            tokens_per_minute=tokens_per_minute, daily_budget=daily_budget, max_concurrent=max_concurrent,
        )  # fmt: skip
    except ValidationError as error:
        leave(*describe_faults(error, KeyRecord))
    _save_and_record([*records, new.record], path, settings, "key_create", new.record)
    if same := [one.id for one in records if one.name == name and one.revoked is None]:
        typer.echo(f"caf: {name!r} already has a key, which stays valid: {', '.join(same)}", err=True)
    typer.echo(f"key {new.record.id} for {name!r}, stored in {path}. It is shown only this once:", err=True)
    typer.echo(new.text)


@app.command("list")
def list_(file: FileOption = None, config: ConfigOption = None) -> None:
    """List the keys, without their secrets, which are not stored.

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
        leave(printable(f"{path}: no key with the id {ident!r} (keys: {keys or 'none'})"))
    if by_id[ident].revoked is not None:
        leave(f"the key {ident!r} was already revoked on {by_id[ident].revoked:%Y-%m-%d}")
    now = datetime.now(UTC).replace(microsecond=0)
    changed = [one.model_copy(update={"revoked": now}) if one.id == ident else one for one in records]
    _save_and_record(changed, path, settings, "key_revoke", by_id[ident].model_copy(update={"revoked": now}))
    typer.echo(f"revoked {ident} ({printable(by_id[ident].name)})")


def _key_file_and_config(file_option: Path | None, config: Path | None) -> tuple[Path, Config | None]:
    """Return the key file and the configuration. The configuration is None if only --file is given."""
    if file_option is not None and config is None:
        return file_option, None
    path = config_path(config)
    with plain_errors(path):
        settings = load_config(path)
    file = settings.keys.file if settings.keys is not None else None
    return file_option or file or DEFAULT, settings


def _save_and_record(records: list[KeyRecord], path: Path, config: Config | None, action: str, key: KeyRecord) -> None:
    """Write the key file, and record the change of one key in the audit log of the configuration, if it has one."""
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
        typer.echo(
            f"caf: done, but the audit log in {audit.folder} cannot be written, so the change is not recorded", err=True
        )


def _load_records(path: Path, *, missing_is_empty: bool = False) -> list[KeyRecord]:
    if missing_is_empty and not path.exists():
        return []
    try:
        return list(keys.load(path).values())
    except keys.KeyFileError as error:
        leave(str(error))
