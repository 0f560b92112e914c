"""Scenarios of other people's data, and ours for other people's programs: rows of a table to scenarios and back."""

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from scenarios import tables
from scenarios.files import ScenarioError
from scenarios.scenario import VERDICTS, Family, Identifier, Read, Scenario, from_rows
from scenarios.tables import Format, Table

FIELDS = tuple("id family split user_message history response citations sources tags note expect".split())
"""What columns can be mapped to."""
OF_FAMILY = ("family_knowledge_base", "family_role", "family_sensitive_topics")
"""Columns for what else a family has. Not by the fields' own names: `role` is something else in many a public set."""
LISTS = ("citations", "sources", "tags")
EXPECT = "expect_"
_IDENTIFIER = re.compile(get_args(Identifier)[1].metadata[0].pattern)


@dataclass(frozen=True, slots=True)
class Label:
    """A column that says what one judge should say."""

    judge: str
    column: str
    verdicts: Mapping[str, Sequence[str]]
    """By value, as text in lower case."""

    def of(self, value: Any, names: Sequence[str] = ()) -> Sequence[str] | None:
        """Return the verdicts for a value; None: it is not mapped."""
        return next((self.verdicts[text] for text in _spellings(value, names) if text in self.verdicts), None)


@dataclass(frozen=True, slots=True)
class Plan:
    """How rows become scenarios."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """By field: its column, or several with commas between; empty: none, not even one of its own name."""
    label: Label | None = None
    skip_unlabelled: bool = False
    """Leave out rows whose label is not mapped; else they are faults."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of a table."""

    text: str
    """JSONL, as `load_rows` reads it."""
    families: list[Family]
    skipped: int
    """Rows without a label that is mapped."""
    unused: list[str]
    """Columns that were not taken."""


def load(path: Path, plan: Plan, format: Format | None = None, out: Path | None = None) -> Imported:
    """Read a table as scenarios.

    Args:
        format: Default: by the file's ending.
        out: Where the rows will go: knowledge bases are named relative to it. None: by absolute paths.

    Raises:
        ScenarioError: With every fault, by row and field; or the columns there are, if one is missing.
    """
    table = tables.read(path, format)
    if not len(table.rows):
        raise ScenarioError([f"{path}: holds no rows"])
    columns = _columns(table, plan, path)
    used = list(dict.fromkeys(column for some in columns.values() for column in some))
    if plan.label is not None and plan.label.column not in used:
        used.append(plan.label.column)
    problems: list[str] = []
    lines: list[tuple[int, str]] = []
    skipped = 0
    for number, row in enumerate(table.select(used), 1):
        scenario = _scenario(row, columns, f"{_identifier(path.stem)}-{number}")
        _rebase(scenario, path.parent, out)
        if plan.label is not None:
            value = row.get(plan.label.column)
            verdicts = plan.label.of(value, table.names.get(plan.label.column, ()))
            if verdicts is None and plan.skip_unlabelled:
                skipped += 1
                continue
            if verdicts is None:
                known = ", ".join(map(repr, plan.label.verdicts))
                problems.append(
                    f"{path}: row {number}: {plan.label.column}: {value!r:.80} is no label; there is {known}"
                )
                continue
            scenario["expect"] = {**(scenario.get("expect") or {}), plan.label.judge: list(verdicts)}
        line = json.dumps(scenario, ensure_ascii=False, default=str)
        if re.search("[\ud800-\udfff]", line):
            problems.append(f"{path}: row {number}: holds half of a character (a surrogate alone), which no file can")
            continue
        lines.append((number, line))
    if not lines and not problems:
        raise ScenarioError([f"{path}: no row has a label that is mapped; {skipped} were skipped"])
    families = from_rows(((number, json.loads(line)) for number, line in lines), path, problems, "row")
    unused = [column for column in table.columns if column not in used]
    return Imported("".join(f"{line}\n" for _, line in lines), families, skipped, unused)


def export(read: Sequence[Read], out: Path, *, overwrite: bool = False) -> None:
    """Write scenarios as a flat table in the format that the file's ending names; `load` gives the same ones back.

    Raises:
        ScenarioError: The ending names none, or the file cannot be written.
    """
    rows = [_flat(one.family, scenario, out) for one in read for scenario in one.family.scenarios]
    judges = dict.fromkeys(column for row in rows for column in row if column.startswith(EXPECT))
    of_family = [column for column in OF_FAMILY if any(column in row for row in rows)]
    tables.write(rows, [*FIELDS[:-1], *of_family, *judges], out, overwrite=overwrite)


def parse_labels(text: str) -> dict[str, list[str]]:
    """Read "supported=accept,hallucinated=warn|reject".

    Raises:
        ValueError: It is not like that, or a value stands twice; the message says what.
    """
    verdict = "|".join(VERDICTS)
    pair = re.compile(rf"\s*(\S.*?)\s*=\s*((?:{verdict})(?:\s*\|\s*(?:{verdict}))*)\s*(?:,|$)", re.DOTALL)
    found: dict[str, list[str]] = {}
    end = 0
    while end < len(text):
        if (match := pair.match(text, end)) is None:
            raise ValueError(
                f"{text[end:]!r} is none; give VALUE=accept, =warn or =reject, or several as in no=warn|reject"
            )
        value = match[1].casefold()
        if value in found:
            raise ValueError(f"{match[1]!r} stands twice; values are compared without regard to capitals")
        found[value] = _parts(match[2])
        end = match.end()
    if not found:
        raise ValueError("is empty; give VALUE=VERDICT, as in supported=accept,hallucinated=reject")
    return found


# From a table


def _columns(table: Table, plan: Plan, path: Path) -> dict[str, list[str]]:
    """Return the columns for each field."""
    there = list(table.columns)
    found = {
        name: [name]
        for name in [*FIELDS, *OF_FAMILY, *(column for column in there if column.startswith(EXPECT))]
        if name in there and name not in plan.columns
    }
    for name, given in plan.columns.items():
        several = name in LISTS and given not in there
        found[name] = [part.strip() for part in given.split(",")] if several and given else [given] if given else []
    wanted = [column for columns in found.values() for column in columns]
    missing = [c for c in dict.fromkeys([*wanted, *([plan.label.column] if plan.label else [])]) if c not in there]
    if missing:
        raise ScenarioError([f"{path}: has no column {', '.join(map(repr, missing))}; it has {', '.join(there)}"])
    if not found.get("response") and not found.get("user_message"):
        raise ScenarioError(
            [f"{path}: has no column `response` or `user_message`; say which is, by --map; it has {', '.join(there)}"]
        )
    return found


def _scenario(row: Mapping[str, Any], columns: Mapping[str, Sequence[str]], default: str) -> dict[str, Any]:
    """Return a row as `load_rows` takes it, with nothing that is empty."""
    made: dict[str, Any] = {"id": default}
    expect: dict[str, Any] = {}
    for name, sources in columns.items():
        values = [value for value in (row.get(source) for source in sources) if not _empty(value)]
        if not values:
            continue
        if name in LISTS:
            made[name] = [_bare(value) for value in _listed(values, name)]
        elif name in ("history", "family_sensitive_topics"):
            value = _unpacked(values[0], list)
            made[name.removeprefix("family_")] = [*map(_bare, value)] if isinstance(value, list) else value
        elif name == "expect":
            value = _unpacked(values[0], dict)
            made[name] = _bare(value)
        elif name.startswith(EXPECT):
            value = values[0]
            expect[name.removeprefix(EXPECT)] = value if isinstance(value, list) else _parts(_text(value))
        else:
            made[name.removeprefix("family_")] = _text(values[0])
    if expect:
        whole = made.get("expect", {})
        made["expect"] = whole | expect if isinstance(whole, dict) else whole
    made |= {name: _identifier(made[name]) for name in ("id", "family") if isinstance(made.get(name), str)}
    if made.get("family") == made["id"]:
        del made["family"]
    return made


def _identifier(text: str) -> str:
    """Return a text as an id: as it is if it can be one, else what can be kept of it with a hash."""
    if _IDENTIFIER.match(text):
        return text
    kept = re.sub(r"[^A-Za-z0-9]+", "-", text)[:60].strip("-")
    return f"{kept or 'x'}-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:8]}"


def _rebase(scenario: dict[str, Any], folder: Path, out: Path | None) -> None:
    if isinstance(given := scenario.get("knowledge_base"), str):
        scenario["knowledge_base"] = _seen_from(folder / given, out)


def _seen_from(path: Path, file: Path | None) -> str:
    return str(path.resolve()) if file is None else os.path.relpath(path.resolve(), file.resolve().parent)


def _empty(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _text(value: Any) -> Any:
    """Return numbers and the like as texts; what has parts stays as it is, and is told."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str | list | dict) else str(value)


def _listed(values: Sequence[Any], name: str) -> Iterator[Any]:
    """Yield what stands in columns of texts, of lists, or of JSON texts of lists."""
    for value in values:
        unpacked = _unpacked(value, list)
        if isinstance(unpacked, list) and all(isinstance(part, str | dict) for part in unpacked):
            value = unpacked
        if isinstance(value, str) and name in ("citations", "tags"):
            value = _parts(value)
        yield from _leaves(value)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    elif not _empty(value) and not (isinstance(value, str) and not value.strip()):
        yield _text(value)


def _unpacked(value: Any, kind: type) -> Any:
    """Return what a JSON text of that kind holds; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] == ("[" if kind is list else "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _bare(value: Any) -> Any:
    """Return an object without the keys that Arrow adds because other rows have them."""
    return {key: part for key, part in value.items() if part is not None} if isinstance(value, dict) else value


def _parts(text: Any) -> Any:
    return [part.strip() for part in text.split("|") if part.strip()] if isinstance(text, str) else text


def _spellings(value: Any, names: Sequence[str]) -> Iterator[str]:
    """Yield the texts by which a label's value may be mapped, the plainest first."""
    if _empty(value):
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


def _flat(family: Family, scenario: Scenario, out: Path) -> dict[str, str | None]:
    row: dict[str, str | None] = {
        "id": scenario.id,
        "family": family.family,
        "split": family.split,
        "user_message": scenario.user_message or None,
        "history": _packed([{one.role: one.content} for one in scenario.history]),
        "response": scenario.response or None,
        "citations": _joined(scenario.citations),
        "sources": _packed([one.model_dump(exclude_defaults=True) for one in scenario.sources]),
        "tags": _joined(scenario.tags),
        "note": scenario.note or None,
    }
    if family.knowledge_base is not None:
        row["family_knowledge_base"] = _seen_from(family.knowledge_base, out)
    if family.role is not None:
        row["family_role"] = family.role
    if family.sensitive_topics is not None:
        row["family_sensitive_topics"] = json.dumps(family.sensitive_topics, ensure_ascii=False)
    for judge, verdicts in scenario.expect.items():
        row[EXPECT + judge] = "|".join(sorted(verdicts, key=VERDICTS.index))
    return row


def _packed(parts: Sequence[Any]) -> str | None:
    return json.dumps(parts, ensure_ascii=False) if parts else None


def _joined(parts: Sequence[str]) -> str | None:
    """Return texts with | between them; as JSON where they could not be told apart again."""
    plain = all(part and part == part.strip() and "|" not in part and part[0] != "[" for part in parts)
    return ("|".join(parts) or None) if plain else _packed(parts)
