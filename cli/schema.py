"""`caf schema`: writes JSON Schemas of the YAML and JSON files that people write for CAF."""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from pydantic import BaseModel

from cli.terminal import leave
from proxy.config.config import Config
from scenarios.checkpoint import Checkpoint
from scenarios.questions import QuestionSet
from scenarios.scenario import Family
from scoring.experiment import Experiment
from scoring.transcript import Exchange


def schema(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder to write the schemas into; created if necessary.")
    ] = Path("docs/schemas"),
) -> None:
    """Write the JSON Schemas of CAF's files.

    The schemas describe every key of configurations, scenarios, checkpoints, questions, experiments and transcripts. Editors use
    them to complete and check these files.

    \b
    Examples:
      caf schema
      caf schema --out schemas
    For an editor with the YAML language server, begin config.yaml with this line:
      # yaml-language-server: $schema=docs/schemas/config.json
    """
    texts = schemas()
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (out / name).write_text(text, encoding="utf-8")
    except OSError as error:
        leave(f"{error.filename}: the schema cannot be written: {error.strerror}")
    for name in texts:  # outside the `try`, because a closed pipe is an OSError too
        typer.echo(out / name)


def schemas() -> dict[str, str]:
    """Return the text of each JSON Schema, by file name."""
    return {
        "config.json": _text(Config, "config.yaml of the Critical Analysis Filter"),
        "checkpoint.json": _text(Checkpoint, "A saved conversation of the Critical Analysis Filter"),
        "scenario.json": _text(Family, "A family of scenarios of the Critical Analysis Filter"),
        "questions.json": _text(QuestionSet, "Ordinary questions for experiments of the Critical Analysis Filter"),
        "experiment.json": _text(Experiment, "An experiment of the Critical Analysis Filter"),
        "transcript.json": _text(Exchange, "A line of transcripts.jsonl, which an experiment writes"),
    }


def _text(model: type[BaseModel], title: str) -> str:
    """Return the JSON Schema of a model as text. The docstrings below fields become descriptions."""
    schema = model.model_json_schema()
    named = {kind.__name__: kind for kind in _models_in(model)}
    for name, part in {model.__name__: schema, **schema.get("$defs", {})}.items():
        for field, text in _field_descriptions(named[name]).items():
            part["properties"][field]["description"] = text
        if hasattr(named[name], "_shorthand"):  # the name of the validator in our models that also accepts a string
            whole_form = dict(part)
            part.clear()
            part["anyOf"] = [{"type": "string"}, whole_form]
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the pydantic models in a type annotation, and the models of their fields."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from _models_in(field.annotation)
    for part in get_args(annotation):
        yield from _models_in(part)


def _field_descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Return the strings below the fields of a model, by field name.

    pydantic's option `use_attribute_docstrings` would read them whenever the class is created, which slows down every start of the
    proxy.
    """
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(body, ast.ClassDef)
    texts = {}
    for pair in pairwise(body.body):
        match pair:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                texts[name] = " ".join(text.split())
    return texts
