"""Front matter: the YAML between two `---` lines at the top of a markdown file."""

from typing import Any

import yaml

from models.unique_keys import load_yaml


class FrontMatterError(ValueError):
    """The front matter is invalid. The message names the line and the remedy."""


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Split a markdown file into its front matter and its body, stripped of surrounding white space.

    Raises:
        FrontMatterError: the front matter is missing, unterminated, invalid YAML, or not a mapping, or it has a duplicate
            key (a YAML parser would silently keep the last one). For invalid YAML, the message names the line of the file.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise FrontMatterError("has no front matter: the first line must be `---`, then `key: value` lines, then `---`")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise FrontMatterError("has front matter without an end: close it with a line `---`")
    return _mapping("\n".join(lines[1:end])), "\n".join(lines[end + 1 :]).strip()


def _mapping(block: str) -> dict[str, Any]:
    try:
        data = load_yaml(block)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 2}: " if mark else ""  # one for the `---`, one because YAML counts from 0
        problem = getattr(error, "problem", None) or "not readable"
        if problem.startswith("duplicate key"):
            raise FrontMatterError(f"{where}{problem}; keep one") from None
        raise FrontMatterError(
            f"{where}invalid YAML: {problem}; quote values that contain `: ` or ` #` or start with a symbol"
        ) from None
    except (ValueError, RecursionError) as error:  # for example the date 2026-02-31, which YAML tries to convert
        raise FrontMatterError(f"invalid YAML: {error}") from None
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise FrontMatterError("has invalid front matter: expected `key: value` lines")
    return data
