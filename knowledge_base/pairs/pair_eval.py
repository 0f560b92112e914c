"""Evaluates how often BM25 finds the right pair, and groups unanswered questions. A model can rephrase the test questions."""

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
"""`direct`: the pair ranks first; `offer`: second or third; `equivalent ...`: another pair of its cluster does; `wrong`: neither;
`declined`: no pair shares a word with the question."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Style = Literal["basic", "older person"]
STYLES: tuple[Style, ...] = get_args(Style)
OFFERS = 3
MATCH_STEP = "match"
"""Step of the trace note that describes the match of a question. The first word of its detail is the band."""
MISSES = ("fallback", "rephrase", "uncovered_health", "other")
_LONGEST_NUMBER = 3
"""Maximum digits of a number that is shown. Longer numbers, in any grouping, may be a telephone number or birthday."""
_NUMBER = re.compile(rf"\d(?:[\s/.()\u2013-]{{0,3}}\d){{{_LONGEST_NUMBER},}}")
_BLOOD_PRESSURE = re.compile(r"\d{2,3} ?/ ?\d{2,3}")


class Miss(NamedTuple):
    """An unanswered question."""

    question: str
    band: str


Question = tuple[str, Pair | None]
"""A question with the pair that answers it, or None."""


def count_outcomes(asked: Iterable[Question], pairs: Sequence[Pair], taxonomy: Taxonomy) -> Counter[Outcome]:
    """Count the outcomes of questions."""
    index = PairIndex(pairs, taxonomy)
    return Counter(outcome(index.rank(question, OFFERS), right) for question, right in asked)


def outcome(ranked: list[Pair], right: Pair | None) -> Outcome:
    if not ranked:
        return "declined"
    if right is None or right.cluster not in (clusters := [one.cluster for one in ranked]):
        return "wrong"
    place = clusters.index(right.cluster)
    if ranked[place].id == right.id:
        return "offer" if place else "direct"
    return "equivalent offer" if place else "equivalent direct"


def group_misses(traces: Iterable[Mapping[str, Any]], words: Words) -> list[list[Miss]]:
    """Return the unanswered questions of stored traces, grouped by similarity, the largest group first."""
    misses = []
    for trace in traces:
        notes = [note["detail"].split() for note in trace.get("notes", ()) if note["step"] == MATCH_STEP]
        misses += [Miss(_mask(trace["user_message"]), band) for band, *_ in filter(None, notes) if band in MISSES]
    return sorted(group_similar(misses, lambda miss: (None, words.stems(miss.question))), key=len, reverse=True)


def _mask(text: str) -> str:
    """Mask text that may identify a person, by its form: addresses and long numbers, but not blood pressures."""
    text = _NUMBER.sub(lambda found: found[0] if _BLOOD_PRESSURE.fullmatch(found[0]) else "[...]", text)
    return " ".join("[...]" if "@" in one or "://" in one or _has_long_number(one) else one for one in text.split())


def _has_long_number(word: str) -> bool:
    """Return whether a word has more than `_LONGEST_NUMBER` digits, even with letters between them."""
    return sum(map(str.isdigit, _BLOOD_PRESSURE.sub("", word))) > _LONGEST_NUMBER


async def rephrase(models: Models, alias: str, question: str, style: Style, language: Language, ledger: Ledger) -> str:
    """Let a model rephrase a question with the thesis' prompts. The thesis' parameters are used if the model accepts them."""
    prompt = load_data("rephrase.yaml")["german" if language == "german" else "english"][style]
    messages = [*prompt["messages"], {"role": "user", "content": question}]
    body = {"messages": messages}
    try:
        answer = await models.complete(alias, body | prompt["options"], step="rephrase", ledger=ledger)
    except UpstreamRefused:
        answer = await models.complete(alias, body, step="rephrase", ledger=ledger)
    return " ".join(text_of(answer["choices"][0]["message"]).split())
