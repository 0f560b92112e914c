"""`caf schema`: JSON Schemas of the files that people write."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.terminal import leave


def schema(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the files go.")] = Path("docs/schemas"),
) -> None:
    """Write the JSON Schemas of configuration and checkpoint files, for editors and other programs.

    \b
    Example: in an editor that knows the YAML language server, begin config.yaml with
      # yaml-language-server: $schema=docs/schemas/config.json
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in schemas().items():
            (out / name).write_text(text, encoding="utf-8")
            typer.echo(out / name)
    except OSError as error:
        leave(f"{error.filename}: cannot be written: {error.strerror}")


def schemas() -> dict[str, str]:
    """Return the text of each schema by file name."""
    from proxy.config import Config
    from scenarios.scenario import Checkpoint

    return {
        "config.json": _text(Config.model_json_schema(), "config.yaml of the Critical Analysis Filter"),
        "checkpoint.json": _text(Checkpoint.model_json_schema(), "A saved conversation of the Critical Analysis Filter"),
    }


def _text(schema: dict[str, Any], title: str) -> str:
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema | {"title": title}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
