"""Loads YAML and JSON, and refuses duplicate keys.

The standard parsers silently keep the last value of a duplicate key, which could for example invert a label. All readers of
files that people edit use this module (tests/test_file_loaders.py). Network bodies and files that only CAF writes do not need it.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

MAX_DEPTH = 100
"""Maximum levels of nesting in YAML. CAF's own files have at most six; deep nesting crashes libyaml and with it the process."""


class DuplicateKeyError(json.JSONDecodeError):
    """A JSON object has a duplicate key. `lineno` and `colno` give the position of the second occurrence."""


def load_yaml(text: str) -> Any:
    """Parse YAML, with libyaml if it is installed, because libyaml is ten times as fast.

    Raises:
        yaml.YAMLError: The text is not YAML, has a duplicate key, or is nested too deeply. A MarkedYAMLError has the position.
        ValueError: A value is invalid, such as the date 2026-02-31.
    """
    fast: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_depth(text, fast)
        return _construct(fast(text))
    except yaml.YAMLError:
        _check_depth(text, yaml.SafeLoader)
        return _construct(yaml.SafeLoader(text))  # the messages of the Python parser are more specific


def _check_depth(text: str, loader: Any) -> None:
    """Raise an error if the text is nested too deeply. Parser events are counted, because that needs no recursion."""
    depth = 0
    event: Any
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            problem = f"nested deeper than {MAX_DEPTH} levels"
            mark: Any = event.start_mark
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def _construct(loader: Any) -> Any:
    try:
        root = loader.get_single_node()
        # Check before construction, which merges the keys of `<<` into a mapping; the mapping may override these.
        for mapping in _mappings(root):
            keys: set[Any] = set()
            for node, _ in mapping.value:
                key = loader.construct_object(node) if _is_plain(node) else node
                if key in keys:
                    raise yaml.MarkedYAMLError(problem=f"duplicate key {node.value!r}", problem_mark=node.start_mark)
                keys.add(key)
        return None if root is None else loader.construct_document(root)
    finally:
        loader.dispose()


def _is_plain(node: yaml.Node) -> bool:
    """Return whether a key is an ordinary scalar. The special keys are `<<`, which may occur several times, and `=`."""
    special = ("tag:yaml.org,2002:merge", "tag:yaml.org,2002:value")
    return isinstance(node, yaml.ScalarNode) and node.tag not in special


def _mappings(root: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    """Yield each mapping of a YAML document once, even if aliases form a cycle."""
    nodes, seen = [root], set()
    while nodes:
        node = nodes.pop()
        if not isinstance(node, yaml.CollectionNode) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield node
            nodes += [child for pair in node.value for child in pair]
        else:
            nodes += node.value


def load_json(text: str | bytes) -> Any:
    """Parse JSON.

    Raises:
        DuplicateKeyError: An object has a duplicate key.
        ValueError: The text is not JSON.
        RecursionError: The text is nested too deeply.
    """
    text = text if isinstance(text, str) else text.decode()
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except KeyError as error:
        raise DuplicateKeyError(f"duplicate key {error.args[0]!r}", text, _place_of_duplicate(text)) from None


def describe_yaml_error(error: Exception) -> str:
    """Return the place and the fault of a YAML text, such as `:3:7: not valid YAML: found unexpected end of stream`.

    Args:
        error: The error of `load_yaml`: a YAMLError, or a ValueError or RecursionError, which have no place.
    """
    mark, opening = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
    problem = str(getattr(error, "problem", None) or error)
    if problem.startswith("mapping values are not allowed"):
        problem += "; check the indentation, or put a value that contains `: ` in quotes"
    elif (
        mark and opening and opening.line < mark.line and ("stream" in problem or problem.startswith("expected ',' or"))
    ):
        problem += f" (the quotes or the bracket opened in line {opening.line + 1})"
    return f"{place}: not valid YAML: {problem}"


def describe_json_error(error: ValueError | RecursionError) -> str:
    """Return the message of an error of `load_json`. It names the position in the text."""
    if isinstance(error, RecursionError):
        return "invalid JSON: nested too deeply"
    if not isinstance(error, json.JSONDecodeError):
        return f"invalid JSON: {error}"
    line = f"line {error.lineno}, " if error.lineno > 1 else ""
    return f"invalid JSON at {line}column {error.colno}: {error.msg}"


def refuse_duplicates(text: str | bytes) -> None:
    """Check JSON for duplicate keys before pydantic parses it, because pydantic accepts them. Invalid JSON is left to pydantic.

    Raises:
        DuplicateKeyError: An object has a duplicate key.
    """
    try:
        load_json(text)
    except DuplicateKeyError:
        raise
    except (ValueError, RecursionError):
        pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise KeyError(next(key for key in keys if keys.count(key) > 1))
    return made


_KEY_OR_BRACE = re.compile(r'("(?>(?:[^"\\]++|\\.)*)"?)(?>(\s*+:)?)|[{}]', re.DOTALL)
"""Matches a string, including the colon after a key, or a brace. An unterminated string extends to the end of the text, so that
the search takes linear time."""


def _place_of_duplicate(text: str) -> int:
    """Return the character offset of the first duplicate key, or 0 if no key is duplicate."""
    objects: list[set[str]] = []
    for token in _KEY_OR_BRACE.finditer(text):
        if token[0] == "{":
            objects.append(set())
        elif token[0] == "}":
            objects.pop()
        elif token[2]:
            key = json.loads(token[1])
            if key in objects[-1]:
                return token.start()
            objects[-1].add(key)
    return 0
