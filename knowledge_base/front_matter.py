"""Parses front matter, the YAML between two `---` lines at the top of a markdown file."""

from typing import Any

import yaml

from models.unique_keys import load_yaml


class FrontMatterError(ValueError):
    """The front matter of a file is invalid. The message gives the problem and the remedy, without the file name."""


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Split a markdown file into its front matter and its body.

    Returns:
        The keys of the front matter, and the body without surrounding white space.

    Raises:
        FrontMatterError: the front matter is missing, unterminated, invalid YAML or not a mapping, or has a duplicate key.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise FrontMatterError(
            "the file has no front matter: expected a line `---`, then `key: value` lines, then a line `---`"
        )
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise FrontMatterError("the front matter has no end: expected a second line `---` after it")
    return _mapping("\n".join(lines[1:end])), "\n".join(lines[end + 1 :]).strip()


def _mapping(block: str) -> dict[str, Any]:
    try:
        data = load_yaml(block)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 2}: " if mark else ""  # one for the `---`, one because YAML counts from 0
        problem = getattr(error, "problem", None) or "the text cannot be parsed"
        if problem.startswith("duplicate key"):
            raise FrontMatterError(f"{where}{problem}; delete one of them") from None
        raise FrontMatterError(
            f"{where}invalid YAML: {problem}; quote values that contain `: ` or ` #` or start with a symbol"
        ) from None
    except (ValueError, RecursionError) as error:  # for example the date 2026-02-31, which YAML tries to convert
        raise FrontMatterError(f"invalid YAML in the front matter: {error}; correct the value") from None
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise FrontMatterError("the front matter is not a mapping: expected `key: value` lines")
    return data
