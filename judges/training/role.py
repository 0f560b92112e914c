"""Count which replies of a file the phrases of the local role judge find.

python -m judges.training.role [FILE ...]      (default: role.jsonl, which the phrases were written on)
"""

import json
import sys
from collections import Counter
from pathlib import Path

from judges.case import Case
from judges.local import role
from judges.local.language import Unreadable

HERE = Path(__file__).parent


def is_flagged(text: str) -> bool:
    try:
        return bool(role.observe(Case("", text))[0].played)
    except Unreadable:
        return True


def main() -> None:
    for path in [Path(name) for name in sys.argv[1:]] or [HERE / "role.jsonl"]:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        alarms = Counter((row["label"], row["sort"]) for row in rows if is_flagged(row["text"]))
        for (label, sort), total in sorted(Counter((row["label"], row["sort"]) for row in rows).items()):
            print(
                f"{path.name} {'plays' if label == 'yes' else 'does not play'} {sort}: {alarms[label, sort]} of {total} flagged"
            )


if __name__ == "__main__":
    main()
