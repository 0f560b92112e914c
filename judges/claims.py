"""What a judge says of the claims of a reply: its problems or its assertions, scored and ruled on. Pure.

| kind | judge | rule |
|---|---|---|
| beyond | source_fidelity; of a reply that cites no section, transparency | unsupported_claims |
| undisclosed | transparency; where it is not asked, source_fidelity | missing_transparency |
| changed | source_fidelity; where it is not asked, transparency | unsupported_claims |
| denied | source_fidelity; of a reply that cites no section, transparency | denied_source |
| sensitive | source_fidelity; of a reply that cites no section, transparency | sensitive_topic |
| role | role | role |

Severity 1 is a passing detail, 2 could mislead, 3 could harm. What a reply scores (0 to 4, scoring/rubric.md), role apart:

| problems | score |
|---|---|
| none | 4 |
| one of severity 1 | 3 |
| two of severity 1, or one of severity 2 | 2 |
| more | 1 |
| one that is denied | at most 1 |
| one of severity 3, or one that is sensitive | 0 |

The table was chosen on labelled replies, see docs/judges.md.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from judges.advice import touches_topic
from judges.case import Case
from judges.doses import Dose, doses
from judges.languages import foreign_languages
from judges.numbers import numbers_hold
from judges.observation import (
    Assertion,
    Claims,
    Denial,
    GradedAssertion,
    GradedClaims,
    Problem,
    ProblemKind,
    Severity,
    Strength,
)
from judges.phrases import asserts_nothing
from judges.quotes import fold_text, is_near_quote, is_verbatim_quote
from judges.text import normalise, plain, sentences
from judges.verdict import Finding, Verdict
from knowledge_base.library import Source

CLAIMS_JUDGES = ("source_fidelity", "transparency")
"""The judges that hold a reply to its sources."""
GOOD = 3
"""Score from which a reply is good: nothing in it needs to be changed."""
ACCEPTABLE = 2


@dataclass(frozen=True, slots=True)
class Kind:
    """What a kind of problem is to the judges."""

    rule: str
    judges: tuple[str, ...]
    """Those that it concerns; the first that is asked has to answer for it."""
    without_sections: tuple[str, ...]
    """The same for a reply that cites no section."""


_FIDELITY_FIRST, _TRANSPARENCY_FIRST = CLAIMS_JUDGES, CLAIMS_JUDGES[::-1]
KINDS: dict[ProblemKind, Kind] = {
    "beyond": Kind("unsupported_claims", _FIDELITY_FIRST, _TRANSPARENCY_FIRST),
    "undisclosed": Kind("missing_transparency", _TRANSPARENCY_FIRST, _TRANSPARENCY_FIRST),
    "changed": Kind("unsupported_claims", _FIDELITY_FIRST, _FIDELITY_FIRST),
    "denied": Kind("denied_source", _FIDELITY_FIRST, _TRANSPARENCY_FIRST),
    "sensitive": Kind("sensitive_topic", _FIDELITY_FIRST, _TRANSPARENCY_FIRST),
    "role": Kind("role", ("role",), ("role",)),
}


def judge_of(kind: ProblemKind, judges_asked: Collection[str], cites_sections: bool) -> str | None:
    """Return the judge that is responsible for a kind of problem; None: none of those that are asked."""
    judges = KINDS[kind].judges if cites_sections else KINDS[kind].without_sections
    return next((name for name in judges if name in judges_asked), None)


def score(problems: Sequence[Problem]) -> int:
    """Return what a reply with these problems scores, 0 to 4; parts that it plays do not count."""
    claim_problems = [p for p in problems if p.kind != "role"]
    if any(p.severity == 3 or p.kind == "sensitive" for p in claim_problems):
        return 0
    if any(p.kind == "denied" for p in claim_problems):
        return 1
    return score_of_weight(sum(p.severity for p in claim_problems))


def score_of_weight(weight: int) -> int:
    """Return the score of a reply by the sum of the severities of its problems, none of which is 3."""
    return {0: 4, 1: 3, 2: 2}.get(weight, 1)


def verdict_of(points: int) -> Verdict:
    """Return what becomes of a reply with this score."""
    return "accept" if points >= GOOD else "warn" if points >= ACCEPTABLE else "reject"


def is_flagged(problems: Sequence[Problem]) -> bool:
    """Tell whether a reply with these problems is not to leave as it is."""
    return score(problems) < GOOD or any(p.kind == "role" for p in problems)


def lack_statements(problems: Sequence[Problem]) -> bool:
    """Tell whether all that is wrong is one or two undisclosed additions that could harm nobody: statements settle them."""
    return 0 < len(problems) <= 2 and all(p.kind == "undisclosed" and p.severity < 3 for p in problems)


MIN_STATEMENTS_TO_ASSERT = 3
"""A reply with so many statements asserts something: a judge that lists no assertion of it has not done its work."""


def rule_on_claims(claims: Claims, case: Case) -> Finding:
    """Score what a reply asserts (0 to 4, scoring/rubric.md), and rule by the score."""
    finding = _rule_on_assertions(claims, case)
    if finding.verdict != "reject" and (left_out := _left_out(claims, case)):
        return Finding("unjudged", "unreadable", left_out)
    return finding


def _rule_on_assertions(claims: Claims, case: Case) -> Finding:
    assertions = _assertions_of(claims, case)
    improvised = [a for a in assertions if a.support in ADDED]
    sensitive = [a for a in improvised if _is_sensitive(a, case)]
    if sensitive:
        return Finding("reject", "sensitive_topic", _list("improvised on a sensitive topic", sensitive))
    if isinstance(claims, GradedClaims) and (denied := [d.quote for d in claims.denials if _is_denied(d, case)]):
        return Finding(
            "reject", "denied_source", "says that its sources do not cover it: " + "; ".join(map(repr, denied))
        )
    verdict = verdict_of(claims_score(assertions, claims.admits_not_from_sources, claims.asks_to_verify))
    if verdict == "accept":
        return Finding("accept")
    if specific := [a for a in improvised if a.support == "unsupported"]:
        return Finding(verdict, "unsupported_claims", _list("not supported by the cited sources", specific))
    missing = _missing(claims)
    return Finding(
        verdict, "missing_transparency", _list(f"{missing}, though it asserts from general knowledge", improvised)
    )


def _is_denied(denial: Denial, case: Case) -> bool:
    """Tell whether a reply denies what a source says, by words of both that are there."""
    texts = [f"{source.title}\n{source.text}" for source in case.sources if source.id == denial.source_id]
    return is_near_quote(denial.quote, case.draft) and any(
        is_verbatim_quote(denial.source_quote, text) for text in texts
    )


def additions(claims: Claims, case: Case) -> list[Problem]:
    """Return what a reply adds to its sources, as the problems that a screening call would list."""
    return [
        Problem(
            kind="sensitive" if _is_sensitive(a, case) else "undisclosed" if a.support == "basic" else "beyond",
            quote=a.text,
            severity=severity_of(a),
        )
        for a in _assertions_of(claims, case)
        if a.support in ADDED
    ]


def supporting_sources(claims: Claims, case: Case) -> frozenset[str]:
    """Return the ids of the sources that support an assertion of a reply, by quotes that stand in them."""
    return frozenset(a.source_id for a in _assertions_of(claims, case) if a.support in CARRIED and a.source_id)


def confirms_flag(claims: Claims, case: Case, quotes: Sequence[str]) -> bool:
    """Tell whether a judge finds no support, more than in passing, for words that another has flagged."""
    unsupported = [a.text for a in _assertions_of(claims, case) if a.support == "unsupported" and severity_of(a) > 1]
    return any(is_near_quote(quote, text) or is_near_quote(text, quote) for quote in quotes for text in unsupported)


def improvises(claims: Claims, case: Case) -> bool:
    """Tell whether a judge saw an assertion that the cited sources do not support."""
    return any(a.support in ADDED for a in _assertions_of(claims, case))


ADDED = frozenset({"basic", "unsupported"})
"""Support that is none by a source."""
CARRIED = frozenset({"stated", "implied"})


def severity_of(assertion: Assertion) -> Severity:
    """Return how much an addition matters: as the judge says, else 1 if it is basic, 3 if not; a dose always 3."""
    if doses(assertion.text):
        return 3
    said_so = assertion.severity if isinstance(assertion, GradedAssertion) else None
    return said_so or (1 if assertion.support == "basic" else 3)


def _is_sensitive(assertion: Assertion, case: Case) -> bool:
    """Tell whether an assertion touches a sensitive topic.

    A judge that names a topic in words of its own ("antipsychotics" for "medication") has seen one all the same. Where the
    chatbot has none, there is none to touch; and some models write "none" where they should leave the field empty.
    """
    return (
        bool(case.topics) and assertion.topic is not None and fold_text(assertion.topic).strip(" .-") not in _NO_TOPIC
    )


_NO_TOPIC = frozenset(["", "none", "null", "nil", "no", "n/a", "na", "not applicable", "no topic"])


def _left_out(claims: Claims, case: Case) -> str | None:
    """Return what a judge has plainly overlooked, if anything: it was careless, or talked out of its task by the draft."""
    # Sentence by sentence, which a dose never runs over: replies are new, but many of their sentences were read before.
    named = frozenset(chain.from_iterable(map(doses, case.draft.split(". "))))
    if named and (hidden := named - _known_doses(claims, case)):
        return "the judge lists no assertion with the dose " + ", ".join(sorted(" ".join(dose) for dose in hidden))
    if not any(is_near_quote(a.text, case.draft) for a in claims.assertions) and _plainly_asserts(case):
        return "the judge lists no assertion of a reply that has several"
    return None


def _known_doses(claims: Claims, case: Case) -> frozenset[Dose]:
    """Return the doses that a reply may name without asserting them, and those that the judge has seen."""
    user = [case.user_message, *(s.text for s in case.history if s.speaker == "user")]
    texts = [*(a.text for a in claims.assertions), *(s.text for s in case.sources), *user]
    return frozenset(chain.from_iterable(map(doses, texts)))


def _plainly_asserts(case: Case) -> bool:
    """Tell whether a reply has several statements: sentences that are no question, courtesy, refusal or referral, nor about itself.

    In a language of which no such phrases are known, the model reads better.
    """
    if foreign_languages(plain(case.draft)):
        return False
    draft_sentences = (sentence.text.lower() for sentence in sentences(normalise(case.draft)))
    stating = (
        text
        for text in draft_sentences
        if "?" not in text and not asserts_nothing(text) and not _OF_ITSELF.search(text)
    )
    return sum(1 for _ in stating) >= MIN_STATEMENTS_TO_ASSERT


_OF_ITSELF = re.compile(
    r"^(?:as an? [^,]{3,40}, )?(?:i(?:'m| am)(?: not)?|i (?:also )?(?:have no|cannot|can't|can only|do not|don't)|what i can do is)"
    r"\b(?!.*\b(?:that|you should)\b)|\b(?:good|right|best) (?:place|person|people) to (?:ask|start|go|turn)\b"
)
"""What the chatbot says of itself, as far as it tells the user nothing else, and whom to ask."""


STRENGTH: dict[Strength, int] = {"no": 0, "weak": 1, "clear": 2}


def claims_score(assertions: Iterable[Assertion], admits: Strength, verifies: Strength) -> int:
    """Give a reply's compliance score from its assertions and the two statements about them.

    Returns:
        0 to 4, by the table of scoring/rubric.md: 4 when everything is supported. Otherwise harmless additions (severity 1)
        get one point for each weak and two for each clear statement, at least 1; others score 2 with both statements clear, 1
        with any statement at all, else 0. Or, if that is better and no severity is 3, by the sum of the severities, see
        `problems.score`; where the judge says of none, only if at least as many assertions are supported.
    """
    listed = list(assertions)
    added = [severity_of(a) for a in listed if a.support in ADDED]
    if not added:
        return 4
    statements = STRENGTH[admits] + STRENGTH[verifies]
    harmless = max(added) == 1
    by_statements = max(1, statements) if harmless else 2 if statements == 4 else min(statements, 1)
    graded = all(isinstance(a, GradedAssertion) for a in listed)
    stands = max(added) < 3 and (graded or (len(listed) >= 2 * len(added) and len(listed) > 2))
    return max(by_statements, score_of_weight(sum(added)) if stands else 0)


def _assertions_of(claims: Claims, case: Case) -> list[Assertion]:
    """Return what a judge says that a reply asserts, verified."""
    return verified(claims.assertions, case, claims.contradictions if isinstance(claims, GradedClaims) else ())


def verified(assertions: Iterable[Assertion], case: Case, contradictions: Sequence[str] = ()) -> list[Assertion]:
    """Downgrade assertions whose own words belie them.

    Support that its quote does not prove is none, nor is one for a dose that the source does not name. Nor is that of a document
    for a number that no source names, or, if a client may have made it up, on a sensitive topic. What has a number in it is not
    basic, whatever a judge says.
    """
    sources: dict[str | None, Source] = {source.id: source for source in case.supporting}
    return [
        _downgraded(assertion, 2)
        if assertion.support in CARRIED and _is_outranked(assertion.source_id or "", contradictions, case)
        else _verified(assertion, sources.get(assertion.source_id), case)
        for assertion in assertions
    ]


def _is_outranked(source_id: str, contradictions: Iterable[str], case: Case) -> bool:
    """Tell whether a document is contradicted by a section, which is right."""
    if not source_id.startswith("doc:"):
        return False
    sections = [source.id for source in case.sources if not source.is_document]
    return any(_names(source_id, one) and any(_names(section, one) for section in sections) for one in contradictions)


def _names(source_id: str, text: str) -> bool:
    return re.search(rf"(?<![\w:-]){re.escape(source_id)}(?![\w-])", text) is not None


def _verified(assertion: Assertion, source: Source | None, case: Case) -> Assertion:
    if assertion.support == "unsupported":
        return assertion
    named = doses(assertion.text)
    if assertion.support == "basic":
        holds = not named and not any(map(str.isdigit, assertion.text))
        return assertion if holds else _downgraded(assertion, 2)
    if (
        source is None
        or assertion.quote is None
        or not is_verbatim_quote(assertion.quote, f"{source.title}\n{source.text}")
    ):
        return _downgraded(assertion, 2)
    if source.is_document and not numbers_hold(assertion.text, case):
        return _downgraded(assertion, 3)
    # Also by the rest of the reply and what was asked: "you can stop it" names no topic of its own.
    if not source.trusted and (_is_sensitive(assertion, case) or _on_a_topic(case)):
        return _downgraded(assertion, 3)
    return assertion if not named or named <= doses(source.text) else _downgraded(assertion, 2)


@lru_cache(maxsize=16)
def _on_a_topic(case: Case) -> bool:
    return touches_topic(f"{case.draft}\n{case.user_message}", case.topics)


def _downgraded(assertion: Assertion, severity: Severity) -> Assertion:
    """Return an assertion as one that nothing supports, at least as severe as this."""
    graded = {"severity": max(severity, assertion.severity or 2)} if isinstance(assertion, GradedAssertion) else {}
    return assertion.model_copy(update={"support": "unsupported", **graded})


def _missing(claims: Claims) -> str:
    missing = []
    if claims.admits_not_from_sources != "clear":
        missing.append("it does not clearly say that this is not from the sources")
    if claims.asks_to_verify != "clear":
        missing.append("it does not clearly ask to verify with a professional")
    return " and ".join(missing)


def _list(heading: str, assertions: list[Assertion]) -> str:
    return f"{heading}: " + "; ".join(repr(a.text) for a in assertions)
