"""What stands in the folder of a run for people who rate, and the writing of what they gave.

transcripts.jsonl        what was said
checkpoints.json         what was said before samples: {checkpoint or id of a question: [{role, content}]}
ratings.jsonl            all ratings
rating/key-NAME.json     what the ids of a rater's page stand for
rating/self-NAME.json    how that rater rated the same replies again
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scoring.folder import FILES, RunError, RunFolder
from scoring.people.returned_ratings import AcceptedRatings, ReturnError, SelfAgreement, accept, key_of, parse
from scoring.people.sheet import HistoryMessage, Key
from scoring.transcript import HUMAN, Exchange, RatingLine

CHECKPOINTS = "checkpoints.json"
TRANSCRIPTS, RATINGS = FILES[Exchange], FILES[RatingLine]
RATING = "rating"
"""The folder within a run that holds keys, pages and what was rated twice."""


def exchanges(run: Path) -> list[Exchange]:
    """Read the transcript.

    Raises:
        RunError: There is no transcript, or a line of it is none.
    """
    path = run / TRANSCRIPTS
    if not path.is_file():
        raise RunError(f"{path}: no such file; name the folder that `caf drift run --out` wrote")
    return RunFolder(run).read(Exchange)


def checkpoints(run: Path) -> dict[str, list[HistoryMessage]]:
    """Read the messages before samples, by checkpoint or question, with role and content only."""
    held = _read_object(run / CHECKPOINTS)
    try:
        return {
            name: [HistoryMessage(one["role"], one["content"]) for one in messages] for name, messages in held.items()
        }
    except (TypeError, KeyError) as error:
        raise RunError(
            f"{run / CHECKPOINTS}: is to hold {{name: [{{role, content}}]}}, and something is not so"
        ) from error


def keys(run: Path) -> dict[str, Key]:
    """Read the keys of all pages that the run was exported to, by page."""
    found = [key for path in sorted((run / RATING).glob("key-*.json")) if (key := key_in(path))]
    return {key.page: key for key in found}


def read_self_agreement(run: Path) -> list[SelfAgreement]:
    """Read the raters' self-agreement, sorted by rater.

    Raises:
        RunError: A file says something else.
    """
    found = []
    for path in sorted((run / RATING).glob("self-*.json")):
        try:
            found.append(SelfAgreement.model_validate_json(path.read_bytes()))
        except ValidationError as error:
            raise RunError(
                f"{path}: does not say what was rated twice: {_first_fault(error)}; import it again"
            ) from error
    return found


def key_path(run: Path, rater: str) -> Path:
    return run / RATING / f"key-{rater}.json"


def key_in(path: Path) -> Key | None:
    """Read a key; None where there is none.

    Raises:
        RunError: The file is something else.
    """
    if not path.exists():
        return None
    try:
        return Key.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise RunError(f"{path}: is no key: {_first_fault(error)}; export again under another name") from error


def accept_files(
    files: Sequence[Path], keys: Mapping[str, Key], *, partial: bool = False
) -> dict[str, AcceptedRatings]:
    """Read raters' files, by the name of the rater.

    Raises:
        ReturnError: With what is wrong with any file; then none is accepted.
    """
    accepted: dict[str, AcceptedRatings] = {}
    problems: list[str] = []
    for file in files:
        try:
            returned = parse(file.read_bytes())
            one = accept(returned, key_of(returned, keys), partial=partial)
        except OSError as error:
            problems.append(f"{file}: cannot be read: {error.strerror}")
            continue
        except ReturnError as error:
            problems += [f"{file}: {problem}" for problem in error.problems]
            continue
        if returned.rater in accepted:
            problems.append(f"{file}: is the second file of {returned.rater!r}; give one file for each rater")
        accepted[returned.rater] = one
    if problems:
        raise ReturnError(problems)
    return accepted


def merge_ratings(run: Path, accepted: Mapping[str, AcceptedRatings], *, replace: bool = False) -> dict[Path, str]:
    """Return the run's ratings with those of these raters added, and their self-agreement, by file.

    Args:
        accepted: Ratings by the name of the rater.
        replace: Replace earlier ratings of these raters.

    Raises:
        RunError: A rater has ratings already and `replace` is false, or the file of ratings is damaged.
    """
    path = run / RATINGS
    lines: list[str] = []
    ours = {HUMAN + rater for rater in accepted}
    for number, line in _numbered_lines(path) if path.exists() else ():
        if not line.endswith("}"):  # its writer was killed within it; readers pass it over
            lines.append(line)
            continue
        try:
            rater = RatingLine.model_validate_json(line).rater
        except ValidationError as error:
            raise RunError(
                f"{path}: line {number} is no rating: {_first_fault(error)}; repair or remove it first"
            ) from error
        if rater not in ours:
            lines.append(line)
        elif not replace:
            raise RunError(f"{path}: has ratings of {rater} already; give --replace to have these instead")
    lines += [one.model_dump_json() for some in accepted.values() for one in some.ratings]
    twins = {
        run / RATING / f"self-{rater}.json": one.twins.model_dump_json(indent=1) for rater, one in accepted.items()
    }
    return {path: "".join(f"{line}\n" for line in lines)} | {file: f"{text}\n" for file, text in twins.items()}


def write(files: Mapping[Path, str]) -> None:
    """Write files atomically, all or none, readable by their owner alone.

    Raises:
        RunError: One cannot be written, and then none is.
    """
    beside = {path: path.with_name(f".{path.name}.{os.getpid()}.new") for path in files}
    path = Path()
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(os.open(beside[path], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
        for path, new in beside.items():
            new.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        for new in beside.values():
            new.unlink(missing_ok=True)


def _read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object; {} when there is no such file."""
    if not path.exists():
        return {}
    try:
        held = json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        raise RunError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(held, dict):
        raise RunError(f"{path}: is to hold a JSON object, and holds a {type(held).__name__}")
    return held


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Return the lines that hold something, with their numbers."""
    try:
        # Not splitlines(): JSON texts may hold U+2028 and its kin as they are.
        lines = path.read_bytes().decode().split("\n")
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RunError(f"{path}: is not UTF-8 text (byte {error.start})") from error
    return ((number, line) for number, line in enumerate(lines, 1) if line.strip())


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}".removeprefix(": ")
