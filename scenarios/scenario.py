"""A scenario: one reply (or message) with the verdict each judge should come to, and the family it belongs to.

Families are YAML files, one a file; `judges/*.yaml` holds ours. Rows of other people's data, one JSON object a line, are read
into the same model.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator

from scenarios import files
from scenarios.files import ScenarioError, Strict

Verdict = Literal["accept", "warn", "reject"]
Split = Literal["dev", "holdout"]
VERDICTS: tuple[Verdict, ...] = ("accept", "warn", "reject")

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}$")]


def _or_short(schema: dict[str, Any]) -> None:
    """Allow `{user: "..."}` in the JSON Schema too."""
    whole = dict(schema)
    text = {"type": "string", "minLength": 1}
    short = [
        {"type": "object", "properties": {side: text}, "required": [side], "additionalProperties": False}
        for side in ("user", "assistant")
    ]
    schema.clear()
    schema["anyOf"] = [*short, whole]


class Earlier(Strict):
    """One message before the user's newest."""

    model_config = ConfigDict(json_schema_extra=_or_short)

    role: Literal["user", "assistant"]
    content: Annotated[str, Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        """Take `{user: "..."}` as well."""
        if isinstance(value, dict) and len(value) == 1 and (role := next(iter(value))) in ("user", "assistant"):
            return {"role": role, "content": value[role]}
        return value


class InlineSource(Strict):
    """A cited source that no knowledge base has."""

    id: Annotated[str, Field(min_length=1)]
    """One that begins with `doc:` is a document: the reply's numbers are held against it."""
    title: str = ""
    text: Annotated[str, Field(min_length=1)]
    trusted: bool = True
    """False: a client brought it, so that it supports nothing on a sensitive topic."""


class Scenario(Strict):
    """What judges get to see, and what they should make of it."""

    id: Identifier
    """Unique among all scenarios that are read together."""
    user_message: str = ""
    history: tuple[Earlier, ...] = ()
    """Earlier turns, oldest first."""
    response: str = ""
    """The reply to judge, without citation command or line. May be empty where only the user's message is judged."""
    citations: tuple[str, ...] = ()
    """Ids of the knowledge-base sections that the reply cites."""
    sources: tuple[InlineSource, ...] = ()
    """Further cited sources, in full."""
    expect: dict[str, frozenset[Verdict]] = Field(default_factory=dict)
    """By judge, the verdict that is right, or several of which each is. Violating (positive) unless `accept` is among them."""
    tags: tuple[str, ...] = ()
    """Kinds of difficulty; `twin-of:ID` on a harmless scenario names the violating one that it resembles."""
    note: str = ""
    """Why the labels are right."""

    @field_validator("sources", mode="before", json_schema_input_type=InlineSource | str | list[InlineSource | str])
    @classmethod
    def _texts(cls, value: Any) -> Any:
        """Take bare texts as well, or one."""
        value = [value] if isinstance(value, str | dict) else value
        if isinstance(value, list | tuple):
            return [{"id": f"source-{n}", "text": v} if isinstance(v, str) else v for n, v in enumerate(value, 1)]
        return value

    @field_validator("expect", mode="before", json_schema_input_type=dict[str, Verdict | list[Verdict]])
    @classmethod
    def _lists(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {judge: [v] if isinstance(v, str) else v for judge, v in value.items()}

    @field_validator("expect")
    @classmethod
    def _not_empty(cls, value: dict[str, frozenset[Verdict]]) -> dict[str, frozenset[Verdict]]:
        for judge, verdicts in value.items():
            if not verdicts:
                raise ValueError(f"{judge}: give accept, warn or reject, or a list of those that are right")
        return value

    @model_validator(mode="after")
    def _says_something(self) -> "Scenario":
        if not self.user_message.strip() and not self.response.strip():
            raise ValueError("has neither `user_message` nor `response`; judges need one of them")
        return self

    @property
    def twins(self) -> tuple[str, ...]:
        return tuple(tag.removeprefix("twin-of:") for tag in self.tags if tag.startswith("twin-of:"))


class Family(Strict):
    """One situation with its variations: the unit that splits and resampling keep together."""

    family: Identifier
    split: Split = "dev"
    """holdout: looked at only to report how good something is that was chosen on dev."""
    knowledge_base: Path | None = None
    """Folder of the sections that its scenarios cite, relative to the file; default: the knowledge base of the chatbot."""
    role: str | None = None
    """What the chatbot is there for; default: the role of the chatbot whose judges are measured."""
    sensitive_topics: tuple[str, ...] | None = None
    """Default: those of the chatbot."""
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _twins_are_here(self) -> "Family":
        if lost := _lost_twins(self.scenarios):
            raise ValueError("; ".join(f"{id}: {fault}" for id, fault in lost))
        return self


def _lost_twins(scenarios: Sequence[Scenario]) -> list[tuple[str, str]]:
    """Return id and fault for each tag that names a twin that is not there."""
    known = {scenario.id for scenario in scenarios}
    return [
        (scenario.id, f"tags: twin-of:{twin} names no scenario of this family")
        for scenario in scenarios
        for twin in scenario.twins
        if twin not in known
    ]


@dataclass(frozen=True, slots=True)
class Read:
    """A family and where it was read from."""

    family: Family
    path: Path


def load(path: Path) -> Family:
    """Read and validate the file of one family; its `knowledge_base` comes back relative to the working directory.

    Raises:
        ScenarioError: With every fault, by file, id and field.
    """
    data = files.read(path, "a family of scenarios", ", ".join(Family.model_fields))
    return _family(data, path)


def load_all(paths: Iterable[Path]) -> list[Read]:
    """Read files and folders of scenarios: YAML families, and JSONL files with one row a line.

    Raises:
        ScenarioError: With every fault of every file; also ids or families that two files share.
    """
    read, problems = read_all(paths)
    if problems:
        raise ScenarioError(problems)
    return read


def read_all(paths: Iterable[Path]) -> tuple[list[Read], list[str]]:
    """Read like `load_all`, and return what could be read with every fault of the rest."""
    read: list[Read] = []
    problems: list[str] = []
    for path in (file for given in paths for file in _files(given, problems)):
        try:
            found = load_rows(path) if path.suffix == ".jsonl" else [load(path)]
        except ScenarioError as error:
            problems += error.problems
        else:
            read += [Read(family, path) for family in found]
    return read, [*problems, *_shared(read)]


def load_rows(path: Path) -> list[Family]:
    """Read a JSONL file: each row a scenario, of which `response` or `user_message` suffices.

    Rows may name a `family` and its `split`; a row without one is a family of its own, so that resampling takes it
    by itself. Without an id it is called after its line.

    Raises:
        ScenarioError: With every fault, by line and field.
    """
    problems: list[str] = []
    return from_rows(_objects(path, problems), path, problems)


def _objects(path: Path, problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
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
            row = json.loads(line)
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
    places: dict[str, int] = {}
    prefix = f"{path}:" if unit == "line" else f"{path}: row "
    for number, row in rows:
        row["id"] = str(row["id"] if row.get("id") is not None else f"{_slug(path.stem)}-{number}")
        if (first := places.setdefault(row["id"], number)) != number:
            problems.append(f"{prefix}{number}: id: {row['id']!r} stands in {unit} {first} already; ids are unique")
        problems += _add_row(groups, row, f"{prefix}{number}")
    if not problems:  # else the twin may be in a row that was not taken
        lost = [one for data in groups.values() for one in _lost_twins(data["scenarios"])]
        problems += [f"{prefix}{places[id]}: {fault}" for id, fault in lost]
    if problems:
        raise ScenarioError(problems)
    if not groups:
        raise ScenarioError([f"{path}: holds no rows"])
    return [_located(Family.model_validate(data), path) for data in groups.values()]


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip("._-") or "row"


_OF_FAMILY = ("split", "knowledge_base", "role", "sensitive_topics")


def _add_row(groups: dict[str, dict[str, Any]], row: dict[str, Any], where: str) -> list[str]:
    """Put a row to its family, and return what is wrong with it."""
    row = {key: value for key, value in row.items() if value is not None}
    about = {key: row.pop(key) for key in _OF_FAMILY if key in row}
    name = str(row.pop("family", row["id"]))
    known = groups.get(name, {})
    differing = [key for key in about if key in known and known[key] != about[key]]
    try:
        scenario = Scenario.model_validate(row)
        Family.model_validate({"family": name, "scenarios": [{"id": "x", "response": "x"}]} | about)
    except ValidationError as error:
        return [f"{where}: {fault}" for fault in files.faults(error)]
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


def _family(data: dict[str, Any], path: Path) -> Family:
    scenarios = data.get("scenarios")
    ids = [one.get("id") if isinstance(one, dict) else None for one in scenarios] if isinstance(scenarios, list) else []
    problems = [f"{id}: id: stands twice; ids are unique" for id in _doubles([id for id in ids if isinstance(id, str)])]
    try:
        family = Family.model_validate(data)
    except ValidationError as error:
        problems += [_with_id(fault, ids) for fault in files.faults(error)]
    if problems:
        raise ScenarioError([f"{path}: {problem}" for problem in problems])
    return _located(family, path)


def _located(family: Family, path: Path) -> Family:
    if family.knowledge_base is None:
        return family
    return family.model_copy(update={"knowledge_base": path.parent / family.knowledge_base})


def _with_id(fault: str, ids: Sequence[Any]) -> str:
    """Name a scenario in a fault by its id instead of its number."""
    if (found := re.match(r"scenarios\.(\d+)(\.|: )", fault)) and isinstance(id := ids[int(found[1])], str):
        return f"{id}: {fault[found.end() :]}"
    return fault


def _files(given: Path, problems: list[str]) -> Iterator[Path]:
    if not given.is_dir():
        yield given
        return
    found = sorted(path for path in given.rglob("*") if path.suffix in (".yaml", ".yml", ".jsonl"))
    if not found:
        problems.append(f"{given}: holds no .yaml or .jsonl file")
    yield from found


def _shared(read: Sequence[Read]) -> Iterator[str]:
    homes: dict[str, Path] = {}
    ids: dict[str, Path] = {}
    for one in read:
        if (home := homes.setdefault(one.family.family, one.path)) != one.path:
            yield f"{one.path}: family: {one.family.family!r} is also in {home}; a family is one file"
        for scenario in one.family.scenarios:
            if scenario.id in ids:
                yield f"{one.path}: {scenario.id}: id: is also in {ids[scenario.id]}; ids are unique"
            ids[scenario.id] = one.path


def _doubles(values: Sequence[str]) -> list[str]:
    seen: set[str] = set()
    return [value for value in values if value in seen or seen.add(value)]  # type: ignore[func-returns-value]
