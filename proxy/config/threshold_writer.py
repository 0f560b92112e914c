"""Writes thresholds into a configuration file and leaves everything else as it is, to the space.

The text is edited at the places where YAML's own marks say that the values stand. (Loading and dumping with ruamel.yaml was
tried: it lays flow collections and indentations out anew, and loses the comments inside of flow collections.)
"""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from models.unique_keys import load_yaml
from proxy.config.blueprint import assemble
from proxy.config.config import ConfigError, load_config
from proxy.config.settings import PACKAGES, SHIPPED

Edit = tuple[int, int, str]
"""From and to which character, and what stands there afterwards."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A judge's threshold to be written."""

    place: int
    """Its place in the chatbot's list of judges, from 0."""
    judge: str
    accept_below: float
    weights: str
    """The id of the weights that it was calibrated for."""
    evidence: str
    """One line that says how the value was come by; it becomes a comment above it."""


def write_thresholds(path: Path, chatbot: str, thresholds: Sequence[Threshold]) -> None:
    """Write thresholds into a configuration file, all or none, keeping everything else as it is.

    Raises:
        ConfigError: The file cannot be read or written, or would not load afterwards, or would mean something else besides.
    """
    path = path.resolve()  # the file itself, not a link to it
    if path == SHIPPED and path.parent != PACKAGES:
        raise ConfigError(
            [f"{path}: belongs to the installed package; write to a configuration of your own (`caf init`)"]
        )
    try:
        with open(path, encoding="utf-8", newline="") as file:
            before = file.read()
        text = with_thresholds(before, chatbot, thresholds)
        beside = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            with open(
                os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8", newline=""
            ) as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            shutil.copymode(path, beside)
            assemble(load_config(beside))  # in the same folder, so that its relative paths lead where they will
            with open(path, encoding="utf-8", newline="") as file:
                if file.read() != before:
                    raise ConfigError([f"{path}: somebody has changed it meanwhile; run the command again"])
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError([f"{path}: cannot be written: {error.strerror}"]) from error


def with_thresholds(text: str, chatbot: str, thresholds: Sequence[Threshold]) -> str:
    """Return the text of a configuration with thresholds.

    Raises:
        ConfigError: The text is laid out in a way in which they cannot be put in.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    judges = _value(_value(_value(root, "chatbots"), chatbot), "judges")
    if not isinstance(judges, yaml.SequenceNode):
        raise _unsupported_layout(chatbot)
    line_end = "\r\n" if "\r\n" in text else "\n"
    edits: list[Edit] = []
    for one in thresholds:
        node = judges.value[one.place]
        put, line_of = _put(node, one, text, line_end)
        comment = f"# accept_below of {one.judge}: {' '.join(one.evidence.split())}"
        edits += put if line_of is None else [*_comment(text, line_of, one.judge, comment, line_end), *put]
    changed = text
    for start, end, new in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        changed = changed[:start] + new + changed[end:]
    if _load(changed) != _expected(text, chatbot, thresholds):
        raise _unsupported_layout(chatbot)
    return changed


def _put(node: yaml.Node, one: Threshold, text: str, line_end: str) -> tuple[list[Edit], int | None]:
    """Return the edits that put a value in, and where the line is above which its evidence stands; None: it is in an edit."""
    value = f'{{score: {one.accept_below!r}, weights: "{one.weights}"}}'
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, yaml.ScalarNode):  # `- role`
        return [(start, end, f"{{name: {text[start:end]}, accept_below: {value}}}")], start
    assert isinstance(node, yaml.MappingNode)
    for key, old in node.value:
        if key.value == "accept_below":
            return [*_replace_value(old, one, value, line_end)], start if node.flow_style else key.start_mark.index
    key, name = next((pair for pair in node.value if pair[0].value == "name"), node.value[-1])
    if node.flow_style:
        last = node.value[-1][1].end_mark.index
        return [(last, last, f", accept_below: {value}")], start
    # Below the line of the name, which is one line: nothing that follows can then become part of another value.
    line_stop = text.find("\n", name.end_mark.index)
    at = len(text) if line_stop < 0 else line_stop + 1
    indent = " " * key.start_mark.column
    comment = f"# accept_below of {one.judge}: {' '.join(one.evidence.split())}"
    lines = f"{indent}{comment}{line_end}{indent}accept_below: {value}{line_end}"
    return [(at, at, lines if line_stop >= 0 else line_end + lines)], None


def _replace_value(old: yaml.Node, one: Threshold, value: str, line_end: str) -> Iterator[Edit]:
    """Yield the edits that replace an old value: a number as a whole, of a mapping its two values, each where it stands."""
    if not isinstance(old, yaml.MappingNode) or not old.value:
        yield old.start_mark.index, old.end_mark.index, value
        return
    new = {"score": repr(one.accept_below), "weights": f'"{one.weights}"'}
    for key, node in old.value:
        if key.value in new:
            yield node.start_mark.index, node.end_mark.index, new.pop(key.value)
    first = old.value[0][0].start_mark
    between = ", " if old.flow_style else line_end + " " * first.column
    for name, text in new.items():
        yield first.index, first.index, f"{name}: {text}{between}"


def _comment(text: str, position: int, judge: str, comment: str, line_end: str) -> Iterator[Edit]:
    """Yield the edits that put the evidence above the line of a position, in place of what stood there of the same judge."""
    start = text.rfind("\n", 0, position) + 1
    indent = re.match(r"[ \t]*", text[start:])
    above = start
    while above and (
        line := re.match(r"[ \t]*#[^\n]*\n", text[(before := text.rfind("\n", 0, above - 1) + 1) : above])
    ):
        if line[0].lstrip().startswith(f"# accept_below of {judge}: "):
            yield before, above, ""
        above = before
    yield start, start, f"{indent[0] if indent else ''}{comment}{line_end}"


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for name, value in pairs if name.value == key), None)


def _load(text: str) -> Any:
    try:
        return load_yaml(text)
    except yaml.YAMLError:
        return None


def _expected(text: str, chatbot: str, thresholds: Sequence[Threshold]) -> Any:
    """Return what the text should mean: what it meant, and the thresholds. Copied, so that shared parts show as faults."""
    data = deepcopy(_load(text))
    judges = [deepcopy(judge) for judge in data["chatbots"][chatbot]["judges"]]
    for one in thresholds:
        judge = judges[one.place]
        judge = {"name": judge} if isinstance(judge, str) else judge
        judges[one.place] = judge | {"accept_below": {"score": one.accept_below, "weights": one.weights}}
    bot = dict(data["chatbots"][chatbot]) | {"judges": judges}
    return data | {"chatbots": data["chatbots"] | {chatbot: bot}}


def _unsupported_layout(chatbot: str) -> ConfigError:
    return ConfigError(
        [
            f"chatbots.{chatbot}.judges: is written in a way in which nothing can be put in safely (an anchor or a merge key, "
            "perhaps); write it out, or put `accept_below` in by hand"
        ]
    )
