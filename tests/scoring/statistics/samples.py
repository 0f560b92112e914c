"""Rows for statistics, written as the scores of samples."""

from collections.abc import Sequence

from scoring.rows import Row


def sample(
    arm: str, scores: Sequence[float | None], checkpoint: str = "a", role: str = "dietician", number: int = 0
) -> list[Row]:
    """Return one sample, a reply for each score, from turn 1."""
    return [Row(arm, role, checkpoint, number, turn, score) for turn, score in enumerate(scores, start=1)]


def clustered(arm: str, scores: Sequence[Sequence[float | None]]) -> list[Row]:
    """Return one sample for each list of scores, each from a checkpoint of its own."""
    return [row for n, given in enumerate(scores) for row in sample(arm, given, f"c{n:02}")]
