"""Counts the uses of a holdout. Each use that leads to a choice makes the figures on the holdout more optimistic."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from judges.evaluation.errors import EvaluationError
from judges.evaluation.labelled import LabelledCase
from models.unique_keys import load_json

PLACE = "the file is in the folder of the file that --answers names"


def count_use(file: Path, judge: str, cases: Sequence[LabelledCase]) -> int:
    """Increment the number of uses of held-out cases for one judge.

    Args:
        file: The JSON file with the numbers of uses, `{JUDGE: {HASH OF THE CASES: USES}}`. A missing file is created.
        judge: The name of the judge.
        cases: The held-out cases.

    Returns:
        The number of uses of these cases for this judge, including the new use.

    Raises:
        EvaluationError: The file cannot be read or written.
    """
    try:
        uses = load_json(file.read_text(encoding="utf-8")) if file.exists() else {}
        own_uses = uses.setdefault(judge, {})
        key = fingerprint(cases)
        own_uses[key] = int(own_uses.get(key, 0)) + 1
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(file.name + ".new")
        new.write_text(json.dumps(uses, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        new.replace(file)
    except OSError as error:
        raise EvaluationError(f"{file}: cannot count the uses of the holdout: {error.strerror}; {PLACE}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise EvaluationError(f"{file}: invalid file of holdout uses; correct or remove the file; {PLACE}") from error
    return own_uses[key]  # type: ignore[no-any-return]  # an int by the line that set it


def say_uses(uses: Mapping[str, int]) -> str:
    """Return a sentence with the number of holdout uses of each judge.

    Args:
        uses: Number of uses by judge name.
    """
    counts = ", ".join(f"{'1 time' if count == 1 else f'{count} times'} for {judge}" for judge, count in uses.items())
    return f"this holdout has been used {counts}; each further use makes its figure more optimistic"


def fingerprint(cases: Sequence[LabelledCase]) -> str:
    """Return a hash of the contents and labels of cases, 16 hex digits. The order of the cases does not matter."""
    lines = sorted(case_key(case) + ",".join(sorted(case.expected)) for case in cases)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def case_key(case: LabelledCase) -> str:
    """Return a key that identifies a case and its contents: `ID:HASH`."""
    return f"{case.id}:{hashlib.sha256(case.case.as_json().encode()).hexdigest()[:16]}"
