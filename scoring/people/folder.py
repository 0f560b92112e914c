"""Reads the files of a run that concern people as raters, and merges returned ratings into the run.

transcripts.jsonl        the conversations
checkpoints.json         messages before each sample: {checkpoint or id of a question: [{role, content}]}
ratings.jsonl            all ratings
rating/key-NAME.json     the replies behind the ids of a rater's page
rating/self-NAME.json    both ratings of the replies that this rater saw twice
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from models.unique_keys import DuplicateKeyError, refuse_duplicates
from models.validation_errors import describe_faults
from scenarios.checkpoint import Message
from scoring.folder import FILES, LineT, RunError, RunFolder
from scoring.people.returned_ratings import AcceptedRatings, ReturnError, SelfAgreement, accept, key_of, parse
from scoring.people.sheet import Key
from scoring.transcript import HUMAN, Exchange, RatingLine

CHECKPOINTS = "checkpoints.json"
TRANSCRIPTS, RATINGS = FILES[Exchange], FILES[RatingLine]
RATING = "rating"
"""Name of the folder in a run for keys, pages and the self-agreement of raters."""


def exchanges(run: Path) -> list[Exchange]:
    """Read the exchanges of a run.

    Raises:
        RunError: The transcript is missing, or a line is invalid.
    """
    path = run / TRANSCRIPTS
    if not path.is_file():
        raise RunError(f"{path}: there is no such file: give the folder of a run, as in `caf drift run --out FOLDER`")
    return RunFolder(run).read(Exchange)


def checkpoints(run: Path) -> dict[str, list[Message]]:
    """Read the messages before samples, by name of the checkpoint or id of the question. Empty if the file does not exist."""
    path = run / CHECKPOINTS
    if not path.exists():
        return {}
    try:
        refuse_duplicates(path.read_bytes())
        return TypeAdapter(dict[str, list[Message]]).validate_json(path.read_bytes())
    except DuplicateKeyError as error:
        raise RunError(f"{path}: {error}") from None
    except ValidationError as error:
        raise RunError(f"{path}: expected {{name: [{{role, content}}]}}: {describe_faults(error)[0]}") from error


def keys(run: Path) -> dict[str, Key]:
    """Read the keys of all pages of the run, by id of the page."""
    return {key.page: key for key in map(key_in, sorted((run / RATING).glob("key-*.json")))}


def read_self_agreement(run: Path) -> list[SelfAgreement]:
    """Read the raters' self-agreement, sorted by rater.

    Raises:
        RunError: A file is invalid.
    """
    paths = sorted((run / RATING).glob("self-*.json"))
    return [
        _read(SelfAgreement, path, "expected ratings of replies shown twice", "import them again") for path in paths
    ]


def key_path(run: Path, rater: str) -> Path:
    return run / RATING / f"key-{rater}.json"


def key_in(path: Path) -> Key:
    """Read the key of a page.

    Raises:
        RunError: The file is not a key.
    """
    return _read(Key, path, "the file is not the key of a page", "export again under another name")


def _read(kind: type[LineT], path: Path, fault: str, remedy: str) -> LineT:
    try:
        refuse_duplicates(path.read_bytes())
        return kind.model_validate_json(path.read_bytes())
    except DuplicateKeyError as error:
        raise RunError(f"{path}: {error}") from None
    except ValidationError as error:
        raise RunError(f"{path}: {fault}: {describe_faults(error)[0]}; {remedy}") from error


def accept_files(
    paths: Sequence[Path], keys: Mapping[str, Key], *, partial: bool = False
) -> dict[str, AcceptedRatings]:
    """Read and validate the files that raters returned. Return their ratings by name of the rater.

    Raises:
        ReturnError: A file is invalid; it lists the problems of all files, and no file is accepted.
    """
    accepted: dict[str, AcceptedRatings] = {}
    problems: list[str] = []
    for file in paths:
        try:
            returned = parse(file.read_bytes())
            ratings = accept(returned, key_of(returned, keys), partial=partial)
        except OSError as error:
            problems.append(f"{file}: cannot be read: {error.strerror}")
            continue
        except ReturnError as error:
            problems += [f"{file}: {problem}" for problem in error.problems]
            continue
        if returned.rater in accepted:
            problems.append(f"{file}: {returned.rater!r} returned two of the given files: give one file for each rater")
        accepted[returned.rater] = ratings
    if problems:
        raise ReturnError(problems)
    return accepted


def merge_ratings(run: Path, accepted: Mapping[str, AcceptedRatings], *, replace: bool = False) -> dict[Path, str]:
    """Merge new ratings into those of the run. Return the files to write, by path: all ratings, and self-agreements.

    Args:
        accepted: Ratings by the name of the rater.
        replace: Replace earlier ratings of these raters.

    Raises:
        RunError: A rater already has ratings and `replace` is false, or the file of ratings is damaged.
    """
    rater_names = {HUMAN + rater for rater in accepted}
    ratings: list[RatingLine] = []
    for rating in RunFolder(run).read(RatingLine):
        if rating.rater not in rater_names:
            ratings.append(rating)
        elif not replace:
            raise RunError(
                f"{run / RATINGS}: the run already has ratings of {rating.rater}: to replace them, give --replace"
            )
    ratings += [one for some in accepted.values() for one in some.ratings]
    return {run / RATINGS: "".join(f"{one.model_dump_json(exclude_defaults=True)}\n" for one in ratings)} | {
        run / RATING / f"self-{rater}.json": f"{one.twins.model_dump_json(indent=1)}\n"
        for rater, one in accepted.items()
    }
