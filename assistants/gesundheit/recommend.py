"""Selects the next question to recommend to the user. All functions are pure."""

from collections.abc import Iterable, Sequence

from assistants.gesundheit.dialogue import State
from knowledge_base.pairs.pair import Pair


def recommend(state: State, pairs: Sequence[Pair]) -> Pair | None:
    """Return the next pair to recommend; None if no pair is left.

    Only beginner pairs that were neither answered nor recommended are considered. The first choice is a pair of the last answer's
    focus, then of its subtopic, then of its topic. Among these, aspects that came up least often come first.
    """
    last = state.last or next((pair for pair in pairs if pair.focus == state.focus), None)
    if last is None:
        return None
    gone = {pair.cluster for pair in (*state.answered, *state.recommended)}
    open_pairs = [
        pair for pair in pairs if pair.complexity == "beginner" and pair.recommendation and pair.cluster not in gone
    ]
    for circle in (
        [pair for pair in open_pairs if pair.focus == last.focus],
        [pair for pair in open_pairs if (pair.topic, pair.subtopic) == (last.topic, last.subtopic)],
        [pair for pair in open_pairs if pair.topic == last.topic],
    ):
        if circle:
            return min(circle, key=lambda pair: _times_spoken_of(pair, (*state.answered, *state.recommended)))
    return None


def _times_spoken_of(pair: Pair, before: Iterable[Pair]) -> int:
    return sum((one.focus, one.aspect) == (pair.focus, pair.aspect) for one in before)
