"""Reads and writes files of scenarios: YAML files with one family each, and JSONL files with one scenario per line."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from models.unique_keys import describe_json_error, load_json
from models.validation_errors import describe_faults
from scenarios import files
from scenarios.files import ScenarioError
from scenarios.scenario import VERDICTS, Family, Scenario, missing_twins


@dataclass(frozen=True, slots=True)
class FamilyFile:
    """A family and the path of its file."""

    family: Family
    path: Path


def load(path: Path) -> Family:
    """Read and validate the file of one family. Its `knowledge_base` becomes relative to the working directory.

    Raises:
        ScenarioError: The file is invalid; it lists every problem by file, id and field.
    """
    data = files.read(path, "a family of scenarios", ", ".join(Family.model_fields))
    return _validate_family(data, path)


def load_all(paths: Iterable[Path]) -> list[FamilyFile]:
    """Read files and folders of scenarios: YAML families, and JSONL files with one row per line.

    Raises:
        ScenarioError: It lists every problem of every file, and ids or families that two files share.
    """
    files_read, problems = read_all(paths)
    if problems:
        raise ScenarioError(problems)
    return files_read


def read_all(paths: Iterable[Path]) -> tuple[list[FamilyFile], list[str]]:
    """Read files and folders like `load_all`. Return the valid files, and the problems of the invalid files."""
    files_read: list[FamilyFile] = []
    problems: list[str] = []
    for path in (file for path_given in paths for file in _scenario_files(path_given, problems)):
        try:
            families = load_rows(path) if path.suffix == ".jsonl" else [load(path)]
        except ScenarioError as error:
            problems += error.problems
        else:
            files_read += [FamilyFile(family, path) for family in families]
    return files_read, [*problems, *duplicates_across_files(files_read)]


def load_rows(path: Path) -> list[Family]:
    """Read a JSONL file. Each row is a scenario with at least `response` or `user_message`.

    Rows may name a `family` and its `split`. A row without a family forms a family of one, for resampling. A row without an id
    gets an id from its line number.

    Raises:
        ScenarioError: The file is invalid; it lists every problem by line and field.
    """
    problems: list[str] = []
    return from_rows(_read_lines(path, problems), path, problems)


def _read_lines(path: Path, problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the JSON object of each line. For an invalid line, append to `problems` instead."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise ScenarioError([f"{path}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise ScenarioError([f"{path}: is not UTF-8 text (byte {error.start})"]) from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = load_json(line)
        except (ValueError, RecursionError) as error:
            problems.append(f"{path}:{number}: {describe_json_error(error)}")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            problems.append(f"{path}:{number}: expected an object with keys such as response, sources, expect")


def from_rows(
    rows: Iterable[tuple[int, dict[str, Any]]], path: Path, problems: list[str], unit: Literal["line", "row"] = "line"
) -> list[Family]:
    """Group rows into families.

    Args:
        rows: Numbers and contents of the rows.
        path: The file of the rows, for error messages.
        problems: Problems from reading the rows. Problems of their contents are appended.
        unit: What the numbers count, such as "line" or "row".

    Raises:
        ScenarioError: A row is invalid; it lists every problem by number and field.
    """
    groups: dict[str, dict[str, Any]] = {}
    numbers: dict[str, int] = {}
    prefix = f"{path}:" if unit == "line" else f"{path}: row "
    for number, row in rows:
        row["id"] = str(row["id"] if row.get("id") is not None else f"{_slug(path.stem)}-{number}")
        if (first := numbers.setdefault(row["id"], number)) != number:
            problems.append(f"{prefix}{number}: id: duplicate {row['id']!r}, first used in {unit} {first}")
        problems += _add_row(groups, row, f"{prefix}{number}")
    if not problems:  # otherwise the twin may be in an invalid row
        missing = [one for data in groups.values() for one in missing_twins(data["scenarios"])]
        problems += [f"{prefix}{numbers[id]}: {fault}" for id, fault in missing]
    if problems:
        raise ScenarioError(problems)
    if not groups:
        raise ScenarioError([f"{path}: the file has no rows"])
    return [_resolve_knowledge_base(Family.model_validate(data), path) for data in groups.values()]


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip("._-") or "row"


_FAMILY_FIELDS = ("split", "knowledge_base", "role", "sensitive_topics")


def _add_row(groups: dict[str, dict[str, Any]], row: dict[str, Any], where: str) -> list[str]:
    """Add a row to its family in `groups`. Return the problems of the row; with problems, the row is not added."""
    row = {key: value for key, value in row.items() if value is not None}
    about = {key: row.pop(key) for key in _FAMILY_FIELDS if key in row}
    name = str(row.pop("family", row["id"]))
    earlier = groups.get(name, {})
    differing = [key for key in about if key in earlier and earlier[key] != about[key]]
    try:
        scenario = Scenario.model_validate(row)
        Family.model_validate({"family": name, "scenarios": [{"id": "x", "response": "x"}]} | about)
    except ValidationError as error:
        return [f"{where}: {fault}" for fault in describe_faults(error, Scenario, row | about)]
    if differing:
        return [f"{where}: {differing[0]}: differs from an earlier row of the family {name!r}"]
    groups.setdefault(name, {"family": name, "scenarios": []}).update(about)
    groups[name]["scenarios"].append(scenario)
    return []


def dumps(family: Family) -> str:
    """Return a family as YAML."""
    data = family.model_dump(mode="json", exclude_defaults=True)
    for scenario in data["scenarios"]:
        scenario["expect"] = {
            judge: verdicts[0] if len(verdicts) == 1 else sorted(verdicts, key=VERDICTS.index)
            for judge, verdicts in scenario.get("expect", {}).items()
        }
    return files.dumps({"family": family.family, "split": family.split} | data)


def _validate_family(data: dict[str, Any], path: Path) -> Family:
    scenarios = data.get("scenarios")
    ids = (
        [scenario.get("id") if isinstance(scenario, dict) else None for scenario in scenarios]
        if isinstance(scenarios, list)
        else []
    )
    problems = [f"{id}: id: duplicate" for id in _duplicates([id for id in ids if isinstance(id, str)])]
    try:
        family = Family.model_validate(data)
    except ValidationError as error:
        problems += [_name_by_id(fault, ids) for fault in describe_faults(error, Family, data)]
    if problems:
        raise ScenarioError([f"{path}: {problem}" for problem in problems])
    return _resolve_knowledge_base(family, path)


def _resolve_knowledge_base(family: Family, path: Path) -> Family:
    if family.knowledge_base is None:
        return family
    return family.model_copy(update={"knowledge_base": path.parent / family.knowledge_base})


def _name_by_id(fault: str, ids: Sequence[Any]) -> str:
    """Replace the number of a scenario in a message by its id."""
    if (match := re.match(r"scenarios\.(\d+)(\.|: )", fault)) and isinstance(id := ids[int(match[1])], str):
        return f"{id}: {fault[match.end() :]}"
    return fault


def _scenario_files(location: Path, problems: list[str]) -> Iterator[Path]:
    location = files.find_shipped(location)
    if not location.is_dir():
        yield location
        return
    paths = sorted(path for path in location.rglob("*") if path.suffix in (".yaml", ".yml", ".jsonl"))
    if not paths:
        problems.append(f"{location}: found no .yaml or .jsonl file")
    yield from paths


def duplicates_across_files(files_read: Sequence[FamilyFile]) -> Iterator[str]:
    homes: dict[str, Path] = {}
    ids: dict[str, Path] = {}
    for file in files_read:
        if (home := homes.setdefault(file.family.family, file.path)) != file.path:
            yield f"{file.path}: family: {file.family.family!r} is also in {home}: a family must be in one file"
        for scenario in file.family.scenarios:
            if scenario.id in ids:
                yield f"{file.path}: {scenario.id}: id: duplicate, also in {ids[scenario.id]}"
            ids[scenario.id] = file.path


def _duplicates(values: Sequence[str]) -> list[str]:
    earlier: set[str] = set()
    return [value for value in values if value in earlier or earlier.add(value)]  # type: ignore[func-returns-value]
