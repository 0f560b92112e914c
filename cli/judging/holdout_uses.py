"""Looks at held-out cases: whoever sees their figures may choose by them, so each run that reads some is counted and told."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli.terminal import leave

if TYPE_CHECKING:
    from cli.judging.bench import Bench
    from judges.evaluation.labelled import Labelled

USES = "holdout-uses.json"
"""Beside the answers: how often which holdout was used."""


def count_looks(bench: "Bench", cases: "Sequence[Labelled]", data: list[Path], answers: Path) -> str | None:
    """Count that a run is about to judge held-out cases. To be called before it asks: a look that cannot be counted is none.

    Args:
        data: Where the cases are from; the whole holdout there is counted, so that parts of it share one count.
        answers: The file of answers, beside which the uses stand.

    Returns:
        The line to tell when the figures are shown; None: nothing held out is among the cases.
    """
    from judges.evaluation.holdout import HoldoutError, count_use, told

    judges = list(dict.fromkeys(case.judge for case in cases if case.split == "holdout" and case.expected))
    if not judges:
        return None
    whole = bench.holdout(data, judges)
    file = answers.with_name(USES)
    try:
        uses = {judge: count_use(file, judge, [case for case in whole if case.judge == judge]) for judge in judges}
    except HoldoutError as error:
        leave(f"{error}; it stands beside the file that --answers names")
    return told(uses)
