"""Print a table of the verdicts of the local emergency judge on labelled messages.

    python -m judges.evaluation.training.emergencies [newest|holdout|dev|learned] [--by language|form|kind]

learned  talk/emergencies.jsonl, from which the patterns and weights were made
dev      talk/dev.jsonl, by four authors who saw neither patterns nor weights; used only to choose the thresholds at the top of
         judges/local/emergency.py
holdout  talk/holdout.jsonl, by two more authors; not used for any choice
newest   talk/newest.jsonl, by a later author; not used for any choice
"""

import argparse
from collections import Counter, defaultdict
from pathlib import Path

from judges.case import emergency_case
from judges.judge import LocalJudge
from models.unique_keys import load_json

TALK = Path(__file__).parent / "talk"
FILES = {
    "newest": TALK / "newest.jsonl",
    "holdout": TALK / "holdout.jsonl",
    "dev": TALK / "dev.jsonl",
    "learned": TALK / "emergencies.jsonl",
}
COLUMNS = {"reject": "emergency", "warn": "concern", "unjudged": "unreadable", "accept": "nothing"}
"""The columns of the table: verdicts and their titles."""


def count_verdicts(rows: str, by: str | None) -> dict[tuple[str, str], Counter[str]]:
    """Count the verdicts of the local emergency judge on the messages of a file.

    Args:
        rows: The file, a key of `FILES`.
        by: Another field of the messages by which to count; None: only by label.

    Returns:
        The counts by (label, value of the other field).
    """
    judge = LocalJudge("emergency")
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for line in FILES[rows].read_text(encoding="utf-8").splitlines():
        row = load_json(line)
        verdict = judge.judge_now(emergency_case(row["text"], [])).verdict
        counts[row["label"], row.get(by, "") if by else ""][verdict] += 1
    return counts


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", choices=tuple(FILES), default="holdout")
    parser.add_argument("--by", choices=("language", "form", "kind"))
    options = parser.parse_args()
    print(f"{'':34}{'n':>6}" + "".join(f"{column:>12}" for column in COLUMNS.values()))
    for (label, part), verdicts in sorted(count_verdicts(options.rows, options.by).items()):
        print(
            f"{label + ' ' + part:34}{verdicts.total():6}" + "".join(f"{verdicts[verdict]:12}" for verdict in COLUMNS)
        )


if __name__ == "__main__":
    main()
