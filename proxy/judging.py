"""Judge a checked draft, rewrite what is rejected, and end on a delivery."""

from collections.abc import Sequence
from dataclasses import replace

import structlog

from judges.case import Case
from judges.filter import Review
from judges.refiner import Rejected
from knowledge_base import citations
from models.errors import ModelError
from models.usage import estimate_tokens
from proxy.cases import reply_case
from proxy.delivery import Delivery, Turn
from proxy.draft import attempt_of, cut
from proxy.traces.trace import Attempt, Outcome

log = structlog.get_logger()

ACCEPTED: Outcome = "accepted"


async def judged(turn: Turn, attempt: Attempt) -> Delivery:
    """Judge a checked draft; rewrite and judge again what is rejected; end on a delivery."""
    case, cited, modes = reply_case(turn, attempt)
    if not attempt.text:
        return fallback(turn, Review())
    if not turn.judged:
        if turn.filter == "shadow":
            turn.shadowed.append(attempt)
        return Delivery(attempt.text, "unfiltered", cited)
    with turn.step("judge"):
        review = await turn.bot.filter.review(case, modes, turn.ledger)
    if not review.judgements:  # no judge of this chatbot is for such a reply
        return Delivery(attempt.text, "unfiltered", cited)
    attempt.judgements = review.judgements
    judgements, outcome = list(review.judgements), ACCEPTED
    warnings = [(j.rule, "") for j in review.objections if j.rule]
    for _ in range(turn.bot.settings.max_refinements):
        if review.verdict != "reject" or review.failed_closed:
            break
        refined = await _refined(turn, attempt, case, review)
        if refined is None:
            break
        attempt, outcome = refined, "refined"
        case, cited, modes = reply_case(turn, attempt)
        with turn.step("judge"):
            review = await turn.bot.filter.review(case, modes, turn.ledger, strongest=True)
        attempt.judgements = review.judgements
        judgements += review.judgements
        warnings += [(j.rule, "") for j in review.objections if j.rule]
    if review.failed_closed or review.verdict == "reject":
        return fallback(turn, replace(review, judgements=judgements), warnings)
    if estimate_tokens(attempt.text) > turn.bot.settings.length.soft:
        warnings.append(("length", ""))
    if any(j.verdict == "unjudged" for j in review.decisive):
        outcome = "unjudged"
    elif outcome == "accepted" and warnings:
        outcome = "warned"
    return Delivery(attempt.text, outcome, cited, judgements, warnings)


async def _refined(turn: Turn, attempt: Attempt, case: Case, review: Review) -> Attempt | None:
    """Have a rejected draft rewritten; None when it cannot be."""
    if turn.bot.refiner is None:
        return None
    options = {k: v for k, v in turn.request.options.items() if k in ("response_format", "seed")}
    try:
        with turn.step("refine"):
            text = await turn.bot.refiner.refine(Rejected(case, review.objections, turn.sources, options), turn.ledger)
    except ModelError as error:
        log.warning("refiner failed", turn_id=turn.trace.turn_id, error=error.kind)
        return None
    if text is None:
        return None
    refined, parsed = attempt_of(turn, "refinement", attempt.choice, text)
    if turn.cites:
        refined.problems = citations.problems(parsed, turn.bot.library or {}, turn.in_use)
    if not turn.request.wants_json:  # a document cut short is none
        refined.text = cut(refined.text, turn.bot.settings.length.hard)
    return refined if refined.text else None


def fallback(turn: Turn, review: Review, warnings: Sequence[tuple[str, str]] = ()) -> Delivery:
    """Replace a reply that could not be made acceptable, or not be judged."""
    if turn.request.wants_json:
        return Delivery(None, "fallback", (), list(review.judgements), list(warnings), refused=True)
    return Delivery(turn.bot.fallback, "fallback", ("not_in_sources",), list(review.judgements), list(warnings))
