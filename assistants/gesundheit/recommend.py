"""Selects the next question to recommend. Pure."""

from collections.abc import Iterable, Sequence

from assistants.gesundheit.dialogue import State
from knowledge_base.pairs.pair import Pair


def recommend(state: State, pairs: Sequence[Pair]) -> Pair | None:
    """Return a beginner pair that was neither answered nor recommended: of the same focus, subtopic or topic, in this order.

    After a passage of a document, its focus counts. The aspects of a focus take turns, in the order of the pairs.
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
