"""Converts tables of other programs to scenarios, and scenarios to tables."""

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from models.unique_keys import DuplicateKeyError, load_json
from scenarios import tables
from scenarios.files import ScenarioError
from scenarios.scenario import VERDICTS, Family, Identifier, Scenario
from scenarios.scenario_files import FamilyFile, from_rows
from scenarios.tables import Format, Table

FIELDS = tuple("id family split user_message history response citations sources tags note expect".split())
"""Fields to which columns can be mapped."""
FAMILY_COLUMNS = ("family_knowledge_base", "family_role", "family_sensitive_topics")
"""Columns for the other fields of a family. The names differ from the fields, because many data sets use `role` differently."""
LIST_FIELDS = ("citations", "sources", "tags")
EXPECT_PREFIX = "expect_"
_IDENTIFIER = re.compile(get_args(Identifier)[1].metadata[0].pattern)


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """A column with the expected verdict of one judge."""

    judge: str
    column: str
    verdicts: Mapping[str, Sequence[str]]
    """Verdicts by the column's value, as text in lower case."""

    def verdicts_for(self, value: Any, names: Sequence[str] = ()) -> Sequence[str] | None:
        """Return the expected verdicts for a value of the column; None if the value is not mapped."""
        return next((self.verdicts[text] for text in _spellings(value, names) if text in self.verdicts), None)


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """How to convert rows of a table to scenarios: the options of `caf scenario import`."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Column of each field, or several columns separated by commas. An empty text ignores even a column with the field's name."""
    label: LabelColumn | None = None
    skip_unlabelled: bool = False
    """Whether to skip rows whose label is not mapped. Otherwise, such rows are errors."""


@dataclass(frozen=True, slots=True)
class ImportedScenarios:
    """The scenarios from a table."""

    text: str
    """The scenarios as JSONL, in the form that `scenario_files.load_rows` reads."""
    families: list[Family]
    skipped: int
    """Number of rows without a mapped label."""
    unused: list[str]
    """Columns that were not used."""


def load(path: Path, plan: ImportPlan, format: Format | None = None, out: Path | None = None) -> ImportedScenarios:
    """Read a table as scenarios.

    Args:
        format: The format of the file; None: from the file name extension.
        out: Target file of the rows. Paths of knowledge bases become relative to it; None: absolute.

    Raises:
        ScenarioError: The file is invalid; it lists every problem by row and field, or the available columns if one is missing.
    """
    table = tables.read(path, format)
    if not len(table.rows):
        raise ScenarioError([f"{path}: the file has no rows"])
    columns = _map_columns(table, plan, path)
    used = list(dict.fromkeys(column for some in columns.values() for column in some))
    if plan.label is not None and plan.label.column not in used:
        used.append(plan.label.column)
    problems: list[str] = []
    lines: list[tuple[int, str]] = []
    skipped = 0
    for number, row in enumerate(table.select(used), 1):
        try:
            scenario = _row_to_scenario(row, columns, f"{_identifier(path.stem)}-{number}")
        except DuplicateKeyError as error:
            problems.append(f"{path}: row {number}: {error.msg} in {error.doc!r:.80}")
            continue
        _rebase(scenario, path.parent, out)
        if plan.label is not None:
            value = row.get(plan.label.column)
            verdicts = plan.label.verdicts_for(value, table.names.get(plan.label.column, ()))
            if verdicts is None and plan.skip_unlabelled:
                skipped += 1
                continue
            if verdicts is None:
                mapped_values = ", ".join(map(repr, plan.label.verdicts))
                problems.append(
                    f"{path}: row {number}: {plan.label.column}: {value!r:.80}: expected one of {mapped_values}"
                )
                continue
            scenario["expect"] = {**(scenario.get("expect") or {}), plan.label.judge: list(verdicts)}
        line = json.dumps(scenario, ensure_ascii=False, default=str)
        if re.search("[\ud800-\udfff]", line):
            problems.append(
                f"{path}: row {number}: contains a lone surrogate (half of a character), which cannot be written as UTF-8"
            )
            continue
        lines.append((number, line))
    if not lines and not problems:
        raise ScenarioError([f"{path}: no row has a mapped label; {skipped} rows were skipped"])
    families = from_rows(((number, json.loads(line)) for number, line in lines), path, problems, "row")
    unused = [column for column in table.columns if column not in used]
    return ImportedScenarios("".join(f"{line}\n" for _, line in lines), families, skipped, unused)


def export(families: Sequence[FamilyFile], out: Path, *, overwrite: bool = False) -> None:
    """Write scenarios as a flat table in the format of the file's extension. `load` restores the same scenarios.

    Raises:
        ScenarioError: The extension is unknown, or the file cannot be written.
    """
    rows = [_flatten(one.family, scenario, out) for one in families for scenario in one.family.scenarios]
    judges = dict.fromkeys(column for row in rows for column in row if column.startswith(EXPECT_PREFIX))
    of_family = [column for column in FAMILY_COLUMNS if any(column in row for row in rows)]
    tables.write(rows, [*FIELDS[:-1], *of_family, *judges], out, overwrite=overwrite)


def parse_labels(text: str) -> dict[str, list[str]]:
    """Parse a mapping such as "supported=accept,hallucinated=warn|reject".

    Raises:
        ValueError: The text is invalid or has a duplicate value.
    """
    verdict = "|".join(VERDICTS)
    pair = re.compile(rf"\s*(\S.*?)(?<!\s)\s*=\s*((?:{verdict})(?:\s*\|\s*(?:{verdict}))*)\s*(?:,|$)", re.DOTALL)
    verdicts: dict[str, list[str]] = {}
    end = 0
    while end < len(text):
        if (match := pair.match(text, end)) is None:
            raise ValueError(
                f"{text[end:]!r}: expected VALUE=accept, =warn or =reject, or several verdicts as in no=warn|reject"
            )
        value = match[1].casefold()
        if value in verdicts:
            raise ValueError(f"duplicate value {match[1]!r}: letter case is ignored")
        verdicts[value] = _split_parts(match[2])
        end = match.end()
    if not verdicts:
        raise ValueError("is empty: expected VALUE=VERDICT, as in supported=accept,hallucinated=reject")
    return verdicts


# From a table


def _map_columns(table: Table, plan: ImportPlan, path: Path) -> dict[str, list[str]]:
    """Return the columns that fill each field."""
    available = list(table.columns)
    mapping = {
        name: [name]
        for name in [*FIELDS, *FAMILY_COLUMNS, *(column for column in available if column.startswith(EXPECT_PREFIX))]
        if name in available and name not in plan.columns
    }
    for name, column in plan.columns.items():
        is_list = name in LIST_FIELDS and column not in available
        mapping[name] = (
            [part.strip() for part in column.split(",")] if is_list and column else [column] if column else []
        )
    used = [column for columns in mapping.values() for column in columns]
    missing = [c for c in dict.fromkeys([*used, *([plan.label.column] if plan.label else [])]) if c not in available]
    if missing:
        raise ScenarioError(
            [f"{path}: the table has no column {', '.join(map(repr, missing))} (columns: {', '.join(available)})"]
        )
    if not mapping.get("response") and not mapping.get("user_message"):
        columns = ", ".join(available)
        raise ScenarioError(
            [f"{path}: no column `response` or `user_message` in the table: map one with --map (columns: {columns})"]
        )
    return mapping


def _row_to_scenario(row: Mapping[str, Any], columns: Mapping[str, Sequence[str]], default: str) -> dict[str, Any]:
    """Return a row as a JSON object in the form that `load_rows` reads, without empty values."""
    scenario: dict[str, Any] = {"id": default}
    expect: dict[str, Any] = {}
    for name, sources in columns.items():
        values = [value for value in (row.get(source) for source in sources) if not _is_empty(value)]
        if not values:
            continue
        if name in LIST_FIELDS:
            scenario[name] = [_drop_empty_keys(value) for value in _list_values(values, name)]
        elif name in ("history", "family_sensitive_topics"):
            value = _unpack_json(values[0], list)
            scenario[name.removeprefix("family_")] = (
                [*map(_drop_empty_keys, value)] if isinstance(value, list) else value
            )
        elif name == "expect":
            value = _unpack_json(values[0], dict)
            scenario[name] = _drop_empty_keys(value)
        elif name.startswith(EXPECT_PREFIX):
            value = values[0]
            expect[name.removeprefix(EXPECT_PREFIX)] = (
                value if isinstance(value, list) else _split_parts(_to_text(value))
            )
        else:
            scenario[name.removeprefix("family_")] = _to_text(values[0])
    if expect:
        verdicts = scenario.get("expect", {})
        scenario["expect"] = verdicts | expect if isinstance(verdicts, dict) else verdicts
    scenario |= {name: _identifier(scenario[name]) for name in ("id", "family") if isinstance(scenario.get(name), str)}
    if scenario.get("family") == scenario["id"]:
        del scenario["family"]
    return scenario


def _identifier(text: str) -> str:
    """Return a text as an id. An invalid text is reduced to its valid characters, and a hash is appended."""
    if _IDENTIFIER.match(text):
        return text
    prefix = re.sub(r"[^A-Za-z0-9]+", "-", text)[:60].strip("-")
    return f"{prefix or 'x'}-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:8]}"


def _rebase(scenario: dict[str, Any], folder: Path, out: Path | None) -> None:
    if isinstance(folder_name := scenario.get("knowledge_base"), str):
        scenario["knowledge_base"] = _relative_path(folder / folder_name, out)


def _relative_path(path: Path, file: Path | None) -> str:
    return str(path.resolve()) if file is None else os.path.relpath(path.resolve(), file.resolve().parent)


def _is_empty(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _to_text(value: Any) -> Any:
    """Convert a number or another scalar to a text. Lists and objects are returned unchanged, for validation to reject."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str | list | dict) else str(value)


def _list_values(values: Sequence[Any], name: str) -> Iterator[Any]:
    """Yield the values of columns. A column holds texts, lists, or lists as JSON texts."""
    for value in values:
        parsed_value = _unpack_json(value, list)
        if isinstance(parsed_value, list) and all(isinstance(part, str | dict) for part in parsed_value):
            value = parsed_value
        if isinstance(value, str) and name in ("citations", "tags"):
            value = _split_parts(value)
        yield from _leaves(value)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    elif not _is_empty(value) and not (isinstance(value, str) and not value.strip()):
        yield _to_text(value)


def _unpack_json(value: Any, kind: type) -> Any:
    """Parse a JSON text if its value has the given type; return any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] == ("[" if kind is list else "{"):
        try:
            return load_json(value)
        except DuplicateKeyError:
            raise
        except (ValueError, RecursionError):
            return value
    return value


def _drop_empty_keys(value: Any) -> Any:
    """Remove null values from an object. Arrow adds them for keys that only other rows have."""
    return {key: part for key, part in value.items() if part is not None} if isinstance(value, dict) else value


def _split_parts(text: Any) -> Any:
    return [part.strip() for part in text.split("|") if part.strip()] if isinstance(text, str) else text


def _spellings(value: Any, names: Sequence[str]) -> Iterator[str]:
    """Yield the texts under which --labels may list a value, simplest first. `true` is also `1`, `1.0` is also `1`."""
    if _is_empty(value):
        return
    text = str(value).strip().casefold()
    yield text
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names):
        yield names[value].strip().casefold()
    if text in ("true", "false"):
        yield str(int(text == "true"))
    if re.fullmatch(r"-?\d+\.0+", text):
        yield text.partition(".")[0]


# To a table


def _flatten(family: Family, scenario: Scenario, out: Path) -> dict[str, str | None]:
    row: dict[str, str | None] = {
        "id": scenario.id,
        "family": family.family,
        "split": family.split,
        "user_message": scenario.user_message or None,
        "history": _pack_json([{one.role: one.content} for one in scenario.history]),
        "response": scenario.response or None,
        "citations": _join_texts(scenario.citations),
        "sources": _pack_json([one.model_dump(exclude_defaults=True) for one in scenario.sources]),
        "tags": _join_texts(scenario.tags),
        "note": scenario.note or None,
    }
    if family.knowledge_base is not None:
        row["family_knowledge_base"] = _relative_path(family.knowledge_base, out)
    if family.role is not None:
        row["family_role"] = family.role
    if family.sensitive_topics is not None:
        row["family_sensitive_topics"] = json.dumps(family.sensitive_topics, ensure_ascii=False)
    for judge, verdicts in scenario.expect.items():
        row[EXPECT_PREFIX + judge] = "|".join(sorted(verdicts, key=VERDICTS.index))
    return row


def _pack_json(parts: Sequence[Any]) -> str | None:
    return json.dumps(parts, ensure_ascii=False) if parts else None


def _join_texts(parts: Sequence[str]) -> str | None:
    """Join texts with |. If a text contains |, return a JSON list instead."""
    plain = all(part and part == part.strip() and "|" not in part and part[0] != "[" for part in parts)
    return ("|".join(parts) or None) if plain else _pack_json(parts)
