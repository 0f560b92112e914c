"""Files of scenarios: YAML families, one a file, and JSONL files of other people's rows, one scenario a line."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from models.unique_keys import load_json
from scenarios import files
from scenarios.files import ScenarioError
from scenarios.scenario import VERDICTS, Family, Scenario, missing_twins


@dataclass(frozen=True, slots=True)
class FamilyFile:
    """A family and where it was read from."""

    family: Family
    path: Path


def load(path: Path) -> Family:
    """Read and validate the file of one family; its `knowledge_base` comes back relative to the working directory.

    Raises:
        ScenarioError: With every fault, by file, id and field.
    """
    data = files.read(path, "a family of scenarios", ", ".join(Family.model_fields))
    return _validate_family(data, path)


def load_all(paths: Iterable[Path]) -> list[FamilyFile]:
    """Read files and folders of scenarios: YAML families, and JSONL files with one row a line.

    Raises:
        ScenarioError: With every fault of every file; also ids or families that two files share.
    """
    files_read, problems = read_all(paths)
    if problems:
        raise ScenarioError(problems)
    return files_read


def read_all(paths: Iterable[Path]) -> tuple[list[FamilyFile], list[str]]:
    """Read like `load_all`, and return what could be read with every fault of the rest."""
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
    """Read a JSONL file: each row a scenario, of which `response` or `user_message` suffices.

    Rows may name a `family` and its `split`; a row without one is a family of its own, so that resampling takes it
    by itself. Without an id it is called after its line.

    Raises:
        ScenarioError: With every fault, by line and field.
    """
    problems: list[str] = []
    return from_rows(_read_lines(path, problems), path, problems)


def _read_lines(path: Path, problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number and object of each line, and note the lines that hold none."""
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
            problems.append(f"{path}:{number}: not JSON: {error}")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            problems.append(f"{path}:{number}: is no object; a row has keys such as response, sources, expect")


def from_rows(
    rows: Iterable[tuple[int, dict[str, Any]]], path: Path, problems: list[str], unit: Literal["line", "row"] = "line"
) -> list[Family]:
    """Put rows together to families.

    Args:
        rows: With their numbers.
        path: Where they are from.
        problems: Faults found in reading `rows`; more are added.
        unit: What the numbers count.

    Raises:
        ScenarioError: With every fault, by number and field.
    """
    groups: dict[str, dict[str, Any]] = {}
    numbers: dict[str, int] = {}
    prefix = f"{path}:" if unit == "line" else f"{path}: row "
    for number, row in rows:
        row["id"] = str(row["id"] if row.get("id") is not None else f"{_slug(path.stem)}-{number}")
        if (first := numbers.setdefault(row["id"], number)) != number:
            problems.append(f"{prefix}{number}: id: {row['id']!r} stands in {unit} {first} already; ids are unique")
        problems += _add_row(groups, row, f"{prefix}{number}")
    if not problems:  # else the twin may be in a row that was not taken
        missing = [one for data in groups.values() for one in missing_twins(data["scenarios"])]
        problems += [f"{prefix}{numbers[id]}: {fault}" for id, fault in missing]
    if problems:
        raise ScenarioError(problems)
    if not groups:
        raise ScenarioError([f"{path}: holds no rows"])
    return [_resolve_knowledge_base(Family.model_validate(data), path) for data in groups.values()]


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip("._-") or "row"


_FAMILY_FIELDS = ("split", "knowledge_base", "role", "sensitive_topics")


def _add_row(groups: dict[str, dict[str, Any]], row: dict[str, Any], where: str) -> list[str]:
    """Put a row to its family, and return what is wrong with it."""
    row = {key: value for key, value in row.items() if value is not None}
    about = {key: row.pop(key) for key in _FAMILY_FIELDS if key in row}
    name = str(row.pop("family", row["id"]))
    earlier = groups.get(name, {})
    differing = [key for key in about if key in earlier and earlier[key] != about[key]]
    try:
        scenario = Scenario.model_validate(row)
        Family.model_validate({"family": name, "scenarios": [{"id": "x", "response": "x"}]} | about)
    except ValidationError as error:
        return [f"{where}: {fault}" for fault in files.faults(error, Scenario)]
    if differing:
        return [f"{where}: {differing[0]}: differs from that of an earlier row of the family {name!r}"]
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
    problems = [
        f"{id}: id: stands twice; ids are unique" for id in _duplicates([id for id in ids if isinstance(id, str)])
    ]
    try:
        family = Family.model_validate(data)
    except ValidationError as error:
        problems += [_name_by_id(fault, ids) for fault in files.faults(error, Family)]
    if problems:
        raise ScenarioError([f"{path}: {problem}" for problem in problems])
    return _resolve_knowledge_base(family, path)


def _resolve_knowledge_base(family: Family, path: Path) -> Family:
    if family.knowledge_base is None:
        return family
    return family.model_copy(update={"knowledge_base": path.parent / family.knowledge_base})


def _name_by_id(fault: str, ids: Sequence[Any]) -> str:
    """Name a scenario in a fault by its id instead of its number."""
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
        problems.append(f"{location}: holds no .yaml or .jsonl file")
    yield from paths


def duplicates_across_files(files_read: Sequence[FamilyFile]) -> Iterator[str]:
    homes: dict[str, Path] = {}
    ids: dict[str, Path] = {}
    for file in files_read:
        if (home := homes.setdefault(file.family.family, file.path)) != file.path:
            yield f"{file.path}: family: {file.family.family!r} is also in {home}; a family is one file"
        for scenario in file.family.scenarios:
            if scenario.id in ids:
                yield f"{file.path}: {scenario.id}: id: is also in {ids[scenario.id]}; ids are unique"
            ids[scenario.id] = file.path


def _duplicates(values: Sequence[str]) -> list[str]:
    earlier: set[str] = set()
    return [value for value in values if value in earlier or earlier.add(value)]  # type: ignore[func-returns-value]
