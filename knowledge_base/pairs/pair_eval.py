"""Measures how often BM25 finds the right pair for a question, and groups questions that an assistant could not answer.

A model can rephrase the test questions, as users would ask them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from knowledge_base.bm25 import Language
from knowledge_base.pairs.clusters import PairIndex, group_similar
from knowledge_base.pairs.pair import Pair, Taxonomy, load_data
from knowledge_base.pairs.words import Words
from models.client import Models
from models.errors import UpstreamRefused
from models.request import text_of
from models.usage import Ledger

Outcome = Literal["direct", "offer", "equivalent direct", "equivalent offer", "wrong", "declined"]
"""Result of the search for a question's pair. `direct`: the pair ranks first; `offer`: the pair ranks second or third;
`equivalent direct`, `equivalent offer`: another pair of its cluster does; `wrong`: none of these; `declined`: the search finds
nothing, because no pair shares a word with the question."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Style = Literal["basic", "older person"]
"""How a model rephrases a test question: plainly, or as an older person would ask it."""
STYLES: tuple[Style, ...] = get_args(Style)
OFFERS = 3
"""Number of ranks that count: the first is an answer, the others are offers."""
MATCH_STEP = "match"
"""Name of the trace note in which an assistant records how it matched a question. The first word of `detail` is the band, the
result of the match."""
MISSES = ("fallback", "rephrase", "uncovered_health", "other")
"""The bands of unanswered questions."""
_LONGEST_NUMBER = 3
"""Maximum digits of a number that is not masked. A longer number, in any grouping, may be a telephone number or birthday."""
_NUMBER = re.compile(rf"\d(?:[\s/.()\u2013-]{{0,3}}\d){{{_LONGEST_NUMBER},}}")
_BLOOD_PRESSURE = re.compile(r"\d{2,3} ?/ ?\d{2,3}")


class Miss(NamedTuple):
    """A question that the assistant did not answer."""

    question: str
    """The question, with identifying text masked."""
    band: str
    """The result of the match, one of MISSES."""


Question = tuple[str, Pair | None]
"""A test question with the pair that answers it. None: no pair does."""


def count_outcomes(asked: Iterable[Question], pairs: Sequence[Pair], taxonomy: Taxonomy) -> Counter[Outcome]:
    """Search the pair for each test question, and count the outcomes."""
    index = PairIndex(pairs, taxonomy)
    return Counter(outcome(index.rank(question, OFFERS), right) for question, right in asked)


def outcome(ranked: list[Pair], right: Pair | None) -> Outcome:
    """Return the outcome of one search.

    Args:
        ranked: the pairs that the search found, best first, one per cluster.
        right: the pair that answers the question. None: no pair does.
    """
    if not ranked:
        return "declined"
    if right is None or right.cluster not in (clusters := [one.cluster for one in ranked]):
        return "wrong"
    place = clusters.index(right.cluster)
    if ranked[place].id == right.id:
        return "offer" if place else "direct"
    return "equivalent offer" if place else "equivalent direct"


def group_misses(traces: Iterable[Mapping[str, Any]], words: Words) -> list[list[Miss]]:
    """Return the unanswered questions in stored traces, grouped by similarity, largest group first."""
    misses = []
    for trace in traces:
        notes = [note["detail"].split() for note in trace.get("notes", ()) if note["step"] == MATCH_STEP]
        misses += [Miss(_mask(trace["user_message"]), band) for band, *_ in filter(None, notes) if band in MISSES]
    return sorted(group_similar(misses, lambda miss: (None, words.stems(miss.question))), key=len, reverse=True)


def _mask(text: str) -> str:
    """Replace words that may identify a person with `[...]`: addresses and long numbers, but not blood pressures."""
    text = _NUMBER.sub(lambda found: found[0] if _BLOOD_PRESSURE.fullmatch(found[0]) else "[...]", text)
    return " ".join("[...]" if "@" in one or "://" in one or _has_long_number(one) else one for one in text.split())


def _has_long_number(word: str) -> bool:
    """Return whether a word has more than `_LONGEST_NUMBER` digits in total, even with letters between them."""
    return sum(map(str.isdigit, _BLOOD_PRESSURE.sub("", word))) > _LONGEST_NUMBER


async def rephrase(models: Models, alias: str, question: str, style: Style, language: Language, ledger: Ledger) -> str:
    """Ask a model to rephrase a test question with the prompts and sampling parameters of `rephrase.yaml`.

    If the model refuses the parameters, the request is repeated without them.

    Raises:
        ModelError: the call failed.
    """
    prompt = load_data("rephrase.yaml")["german" if language == "german" else "english"][style]
    messages = [*prompt["messages"], {"role": "user", "content": question}]
    body = {"messages": messages}
    try:
        answer = await models.complete(alias, body | prompt["options"], step="rephrase", ledger=ledger)
    except UpstreamRefused:
        answer = await models.complete(alias, body, step="rephrase", ledger=ledger)
    return " ".join(text_of(answer["choices"][0]["message"]).split())
