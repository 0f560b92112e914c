"""How often BM25 finds a pair, on given questions or on a model's rephrasings; and which questions no pair has answered."""

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
"""The pair comes first, second or third; so does another one of its cluster; neither; no pair shares a word."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Style = Literal["basic", "older person"]
STYLES: tuple[Style, ...] = get_args(Style)
OFFERS = 3
MATCH_STEP = "match"
"""The note of a trace that says how a question was matched; its first word is a band."""
MISSES = ("fallback", "rephrase", "uncovered_health", "other")
_LONGEST_NUMBER = 3
"""Digits of a number that is shown: longer ones may be a telephone number or a birthday, however they are grouped."""
_NUMBER = re.compile(rf"\d(?:[\s/.()\u2013-]{{0,3}}\d){{{_LONGEST_NUMBER},}}")
_BLOOD_PRESSURE = re.compile(r"\d{2,3} ?/ ?\d{2,3}")


class Miss(NamedTuple):
    """A question that no pair has answered."""

    question: str
    band: str


Question = tuple[str, Pair | None]
"""A question with the pair that answers it; None: no pair does."""


def count_outcomes(asked: Iterable[Question], pairs: Sequence[Pair], taxonomy: Taxonomy) -> Counter[Outcome]:
    """Count what becomes of questions."""
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
    """Return the questions of stored traces that no pair has answered, similar ones together, the most frequent first."""
    misses = []
    for trace in traces:
        notes = [note["detail"].split() for note in trace.get("notes", ()) if note["step"] == MATCH_STEP]
        misses += [Miss(_mask(trace["user_message"]), band) for band, *_ in filter(None, notes) if band in MISSES]
    return sorted(group_similar(misses, lambda miss: (None, words.stems(miss.question))), key=len, reverse=True)


def _mask(text: str) -> str:
    """Leave out what may say who somebody is, as far as its form tells: addresses and long numbers, but no blood pressure."""
    text = _NUMBER.sub(lambda found: found[0] if _BLOOD_PRESSURE.fullmatch(found[0]) else "[...]", text)
    return " ".join("[...]" if "@" in one or "://" in one or _has_long_number(one) else one for one in text.split())


def _has_long_number(word: str) -> bool:
    """Tell whether a word has many digits, also between letters."""
    return sum(map(str.isdigit, _BLOOD_PRESSURE.sub("", word))) > _LONGEST_NUMBER


async def rephrase(models: Models, alias: str, question: str, style: Style, language: Language, ledger: Ledger) -> str:
    """Have a model ask a question in other words: with the thesis' prompts, and its parameters if the model takes them."""
    prompt = load_data("rephrase.yaml")["german" if language == "german" else "english"][style]
    messages = [*prompt["messages"], {"role": "user", "content": question}]
    body = {"messages": messages}
    try:
        answer = await models.complete(alias, body | prompt["options"], step="rephrase", ledger=ledger)
    except UpstreamRefused:
        answer = await models.complete(alias, body, step="rephrase", ledger=ledger)
    return " ".join(text_of(answer["choices"][0]["message"]).split())
