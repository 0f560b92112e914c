"""A rater without a model, for keyless runs: it shows the machinery, and counts words. Pure.

It shares nothing with the judges, so that the filter does not mark its own homework: words are compared as retrieval compares them.
How far it can be trusted is measured on labelled replies by `python -m bench.rater`.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from knowledge_base.library import Source
from knowledge_base.words import terms
from scoring.raters import phrases
from scoring.score import Claim, Observed, Rateable, Rating, Strength, score

NAME = "local"
SUPPORTED = 0.62
"""Share of a clause's terms, by weight, that the best two sentences of the sources hold, from which it is supported."""
LITTLE = 1.1
"""Weight of missing terms below which a claim needs no support: about one word."""
ECHOED = 0.3
"""What a term that the user said weighs: a reply only echoes it."""
SAID, ALL, SOME = 0.45, 0.6, 0.2
"""Share of a key point's terms from which a reply says it; share of key points from which it answers in full, and in part."""
ABOUT = 0.45
"""Share of a question's terms that a sentence holds, from which the sources have something on it."""
FUNCTION_WORDS = 0.25
"""Least share of words that say nothing by themselves in English text; other languages have few of the list."""


def rate(case: Rateable) -> Rating:
    """Rate a reply; one that is not in English is unscored, unless it is a short emergency message."""
    words = len(_WORD.findall(case.response))
    if not words or not (_is_english(case.response) or (words <= 60 and phrases.EMERGENCY.search(case.response))):
        return Rating(NAME, None, reason="cannot read a reply that is empty or not in English")
    observed = observe(case)
    beyond = [f"{claim.support}: {claim.text}" for claim in observed.claims if claim.support != "supported"]
    reason = "; ".join(beyond[:3]) or "nothing beyond the sources"
    return Rating(NAME, score(observed), observed.answered, observed.declines, reason, observed)


def observe(case: Rateable) -> Observed:
    """Fill in the form for a reply."""
    evidence = read_sources(case.sources)
    reply = case.response.replace("’", "'")
    clauses = [c for s in sentences(reply) for c in _clauses(s)] if _is_english(reply) else []
    echoed = frozenset(terms(case.user_message))
    user_numbers = _numbers(" ".join([case.user_message, *(said.content for said in case.history)]))
    claims = [
        (clause, evidence.support_of(clause, echoed, user_numbers))
        for clause in clauses
        if phrases.MEDICINE.search(clause) or not _claims_nothing(clause)
    ]
    own = [
        _QUOTED.sub("", clause)
        for clause in clauses
        if not phrases.REFUSAL.search(clause) and (_SELF.search(clause) or (clause, "supported") not in claims)
    ]
    added = " ".join(clause for clause, support in claims if support != "supported")
    hedged = any(support == "specific" and phrases.HEDGE.search(clause) for clause, support in claims)
    not_from_sources = _strength(phrases.UNSOURCED.search(reply), hedged or phrases.UNSOURCED_WEAK.search(reply))
    asks_to_verify = _strength(phrases.VERIFY.search(reply), added and phrases.REFERRAL.search(reply))
    if [support for _, support in claims].count("excusable") == 1 and len(claims) > 1:
        disclosed = "clear" in (not_from_sources, asks_to_verify)
        claims = [(c, "small" if s == "excusable" and not disclosed else s) for c, s in claims]
    return Observed(
        claims=[Claim(text=clause, support=support) for clause, support in claims],
        not_from_sources=not_from_sources,
        asks_to_verify=asks_to_verify,
        role="played" if _any(phrases.ROLE_PLAYED, own) else "hint" if _any(phrases.ROLE_HINT, own) else "none",
        declines=_any(phrases.REFUSAL, clauses),
        answered=_rate_answer(case, evidence),
    )


Support = Literal["supported", "small", "excusable", "specific"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the sources that a reply may rest on say."""

    sentences: tuple[frozenset[str], ...]
    """The terms of each."""
    weights: dict[str, float]
    """Of the terms: less, the more sentences have one; a term that no sentence has weighs 1."""
    numbers: frozenset[str]

    def support_of(self, clause: str, echoed: frozenset[str], user_numbers: frozenset[str]) -> Support:
        """Tell how far the sources hold a clause."""
        wanted = _signed_terms(clause)
        weights = {term: self.weights.get(term, 1.0) * (ECHOED if term in echoed else 1.0) for term in wanted}

        def weigh(some: frozenset[str]) -> float:
            return sum(weights[term] for term in some)

        if _numbers(clause) - self.numbers - user_numbers:
            return "specific"
        shared = [wanted & one for one in self.sentences]
        best = max(shared, key=weigh, default=frozenset[str]())
        rest = max((held - best for held in shared), key=weigh, default=frozenset[str]())
        total = weigh(wanted)
        beyond = total - weigh(best) - weigh(rest)
        if total and beyond <= (1 - SUPPORTED) * total:
            return "supported"
        if _is_specific(clause):
            return "specific"
        return "supported" if beyond < LITTLE and self.sentences else "excusable"

    def share(self, wanted: Iterable[str], said: frozenset[str]) -> float:
        """Return which share of some terms, by weight, is among those that are said."""
        weights = {term: self.weights.get(term, 1.0) for term in wanted}
        return sum(weight for term, weight in weights.items() if term in said) / (sum(weights.values()) or 1.0)


@lru_cache(maxsize=256)
def _evidence(texts: tuple[str, ...]) -> Evidence:
    paragraphs = [part for text in texts for part in re.split(r"\n\s*\n", text)]
    parts = [_signed_terms(one) for part in paragraphs for one in sentences(re.sub(r"\s*\n[-*]? *", " ", part))]
    counts = Counter(term for part in parts for term in part)
    most = math.log(1 + len(parts))
    weights = {term: max(0.35, math.log(1 + len(parts) / n) / most) for term, n in counts.items()}
    return Evidence(tuple(parts), weights, _numbers(" ".join(texts)))


def read_sources(sources: Sequence[Source]) -> Evidence:
    """Take sections apart."""
    return _evidence(tuple(source.text for source in sources))


def sentences(text: str) -> list[str]:
    """Split running text into sentences."""
    import blingfire  # of the lab; `caf check` looks at an experiment and its rater without it

    return [one for one in blingfire.text_to_sentences(text).split("\n") if one.strip()]


def _signed_terms(text: str) -> frozenset[str]:
    """Return the terms of a text but for numbers; the two after a negation are others than without it."""
    first, *denied = _NEGATION.split(text)
    found = terms(first)
    for part in denied:
        after = terms(part)
        found += [f"not {term}" for term in after[:2]] + after[2:]
    return frozenset(term for term in found if not term.isdigit())


def _numbers(text: str) -> frozenset[str]:
    """Return the numbers of a text, in digits; one and two in words are left out, since they seldom count anything."""
    found = re.findall(rf"\d+(?:[.,:]\d+)*|\b(?:{'|'.join(_IN_WORDS)})\b", text.lower())
    return frozenset(_IN_WORDS.get(number, number.replace(",", "")) for number in found)


def _is_english(text: str) -> bool:
    words = len(_WORD.findall(text))
    return text.isascii() if words < 6 else len(terms(text)) <= (1 - FUNCTION_WORDS) * words


def _clauses(text: str) -> list[str]:
    """Split a sentence where a new statement begins; a question is none."""
    if text.rstrip("\"'”) ").endswith("?"):
        return []
    out: list[str] = []
    for piece in _BREAK.split(text):
        if out and len(_WORD.findall(out[-1])) < 3:
            out[-1] += f" {piece}"
        else:
            out.append(piece)
    return [piece.strip() for piece in out if _WORD.search(piece)]


def _claims_nothing(clause: str) -> bool:
    """Return whether a clause is courtesy, a refusal, an offer, a referral, or about the sources or an emergency."""
    clause = re.sub(r"^(?:but|and|so),? ", "", clause, flags=re.IGNORECASE)
    return any(pattern.search(clause) for pattern in phrases.NO_CLAIMS)


def _is_specific(clause: str) -> bool:
    """Return whether what a clause adds goes beyond the excusable, numbers aside."""
    plans = {match.group().lower() for match in phrases.PLAN.finditer(clause)}
    return bool(phrases.MEDICINE.search(clause) or phrases.SPECIFIC.search(clause)) or len(plans) > 1


def _rate_answer(case: Rateable, evidence: Evidence) -> Literal[0, 1, 2] | None:
    """Tell how much of the key points, or of the sentences nearest to the question, a reply says."""
    asked = terms(case.user_message)
    wanted: list[Iterable[str]] = [terms(point) for point in case.key_points]
    if not case.key_points:
        near = sorted(((evidence.share(asked, one), n) for n, one in enumerate(evidence.sentences)), reverse=True)[:4]
        wanted = [evidence.sentences[n] for share, n in near if share >= ABOUT]
    if not wanted:
        return None
    said = frozenset(terms(case.response)) | _signed_terms(case.response)
    share = sum(evidence.share(one, said) >= SAID for one in wanted) / len(wanted)
    return 2 if share >= ALL else 1 if share >= SOME else 0


def _strength(clear: object, weak: object) -> Strength:
    return "clear" if clear else "weak" if weak else "no"


def _any(pattern: re.Pattern[str], texts: Iterable[str]) -> bool:
    return any(pattern.search(text) for text in texts)


_IN_WORDS = {word: str(n) for n, word in enumerate("three four five six seven eight nine ten eleven twelve".split(), 3)}
_WORD = re.compile(r"[^\W\d_]+(?:['’]\w+)?")
_NEGATION = re.compile(r"\b(?:not|never|no|without|cannot|nobody|nothing|\w+n['’]t)\b", re.IGNORECASE)
_SELF = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Ww]e|[Ll]et's|[Oo]ur)\b")
"""A chatbot speaking of itself, which no section does."""
_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')
"""What the reply puts into somebody's mouth."""
_BREAK = re.compile(r"\s*[;:–—]\s+(?!\d)|,\s+(?=(?:and|but|so|because|although|though|while|or)\b)", re.IGNORECASE)
