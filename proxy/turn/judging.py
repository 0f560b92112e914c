"""Judge a checked draft, rewrite what is rejected, and end on a delivery."""

import traceback
from collections.abc import Sequence
from dataclasses import replace

import structlog

from judges.case import Case
from judges.mend import mend
from judges.observation import Problem
from judges.panel import Mend
from judges.refiner import Rejected
from judges.review import Review
from knowledge_base import citations
from models.errors import ModelError
from models.usage import estimate_tokens
from proxy.traces.trace import RANK, Attempt, DroppedCall, Outcome
from proxy.turn.cases import read_case, valid_citations
from proxy.turn.delivery import Delivery, Turn
from proxy.turn.draft import attempt_of, before, cut
from proxy.turn.json_text import json_text
from proxy.turn.stream_gate import NO_TEXT, CommittedText
from proxy.turn.tool_calls import ToolCall, text_for_judges

log = structlog.get_logger()

ACCEPTED: Outcome = "accepted"


async def judged(turn: Turn, attempt: Attempt) -> Delivery:
    """Judge a checked draft; rewrite and judge again what is rejected; end on a delivery."""
    committed = turn.committed(attempt.choice)
    if not attempt.text:
        return fallback(turn, Review())
    if not turn.judged:
        if turn.filter == "shadow":
            turn.shadowed.append(attempt)
        return Delivery(attempt.text, "unfiltered", valid_citations(turn, attempt))
    if _ambiguous(turn, attempt):
        return fallback(turn, Review(), [("unreadable", "")])
    case, cited, modes = await read_case(turn, attempt)
    with turn.step("judge"):
        review = await turn.bot.filter.review(case, modes, turn.ledger, mend=_mender(turn, attempt))
    if not review.judgements:  # no judge of this chatbot is for such a reply
        return Delivery(attempt.text, "unfiltered", cited)
    attempt.judgements = review.judgements
    judgements, outcome = list(review.judgements), ACCEPTED
    warnings = [(j.rule, "") for j in review.objections if j.rule]
    if (
        turn.stream_gate is not None and turn.stream_gate.mode == "observe"
    ):  # it has left: what is wrong with it, the next turn is told
        return Delivery(attempt.text, "unfiltered", cited, judgements, [*warnings, *_length(turn, attempt)])
    verdict = review.verdict
    for _ in range(turn.bot.settings.max_refinements):
        if verdict != "reject" or review.failed_closed or review.mended is not None:
            break
        refined = await _refined(turn, attempt, case, review)
        if refined is None:
            break
        attempt, outcome = refined, "refined"
        case, cited, modes = await read_case(turn, attempt)
        with turn.step("judge"):
            review = await turn.bot.filter.review(case, modes, turn.ledger, strongest=True, mend=_mender(turn, attempt))
        verdict, attempt.judgements = review.verdict, review.judgements
        judgements += review.judgements
        warnings += [(j.rule, "") for j in review.objections if j.rule]
    if review.mended is not None and not review.failed_closed:
        attempt, outcome = _mended(turn, attempt, review.mended), "refined"
    elif review.failed_closed or verdict == "reject":
        return fallback(turn, replace(review, judgements=judgements), warnings, committed)
    warnings += _length(turn, attempt)
    return Delivery(attempt.text, _passed(review, warnings, outcome), cited, judgements, warnings)


def _passed(review: Review, warnings: Sequence[tuple[str, str]], outcome: Outcome = ACCEPTED) -> Outcome:
    """Return the outcome of what may leave."""
    if any(j.verdict == "unjudged" for j in review.decisive):
        return "unjudged"
    return "warned" if outcome == ACCEPTED and warnings else outcome


def _mender(turn: Turn, attempt: Attempt) -> Mend | None:
    """Return what mends a reply in place; None where nothing may be changed so: a document, or what leaves before it is judged."""
    if (
        turn.request.wants_json
        or attempt.kind == "tool_calls"
        or (turn.stream_gate is not None and turn.stream_gate.mode == "observe")
    ):
        return None
    statements, sent = turn.bot.statements(turn.user_message), len(turn.committed(attempt.choice).text)

    def mended(case: Case, problems: Sequence[Problem]) -> str | None:
        text = mend(case, problems, statements, sent)
        return text if text is not None and _may_be_said(turn, case.draft, text) else None

    return mended


def _may_be_said(turn: Turn, draft: str, text: str) -> bool:
    """Tell whether a mended reply may be delivered whole: no `stop` of the client or length limit ends it before its statements."""
    shorter = len(text) <= len(draft)
    return before(text, turn.request.stops) == text and (shorter or cut(text, turn.bot.settings.length.hard) == text)


def _mended(turn: Turn, attempt: Attempt, text: str) -> Attempt:
    """Trace the mended reply. Its citations passed the hard checks as they stand."""
    mended = Attempt("mended", attempt.choice, text, attempt.citations, turn.at_ms, modes=attempt.modes)
    turn.trace.attempts.append(mended)
    return mended


async def settle_calls(turn: Turn, index: int, calls: Sequence[ToolCall], delivery: Delivery) -> None:
    """Add the tool calls of a choice to its delivery, all of them, or those alone that need no judge."""
    trusted = turn.bot.settings.trusted_tools
    delivery.calls = list(calls)
    asked = [call for call in calls if call.name not in trusted]
    if not asked:
        return
    text = text_for_judges(asked)
    attempt = Attempt("tool_calls", index, text or "", [], turn.at_ms)
    if text is None:
        attempt.problems = ["The arguments of a tool call have a key twice."]
    turn.trace.attempts.append(attempt)
    if not turn.judged:
        if turn.filter == "shadow":
            turn.shadowed.append(attempt)
        return
    settled = await judged_calls(turn, attempt)
    delivery.judgements += settled.judgements
    delivery.warnings += settled.warnings
    if settled.refused:
        delivery.refused = True
        delivery.calls = [call for call in calls if call not in asked]
        turn.trace.dropped_calls += [DroppedCall(index, call.name, "rejected") for call in asked]
    delivery.outcome = min(delivery.outcome, settled.outcome, key=RANK.index)


async def judged_calls(turn: Turn, attempt: Attempt) -> Delivery:
    """Judge the tool calls of a choice as one case; what is rejected is not refined."""
    if attempt.problems:
        return Delivery(None, "fallback", warnings=[("unreadable", "")], refused=True)
    case, _, modes = await read_case(turn, attempt)
    with turn.step("judge"):
        review = await turn.bot.filter.review(case, modes, turn.ledger)
    if not review.judgements:  # no judge of this chatbot is for them
        return Delivery(None, "unfiltered")
    attempt.judgements = review.judgements
    warnings = [(j.rule, "") for j in review.objections if j.rule]
    refused = review.failed_closed or review.verdict == "reject"
    outcome = "fallback" if refused else _passed(review, warnings)
    return Delivery(None, outcome, (), list(review.judgements), warnings, refused=refused)


def _length(turn: Turn, attempt: Attempt) -> list[tuple[str, str]]:
    return [("length", "")] if estimate_tokens(attempt.text) > turn.bot.settings.length.soft else []


async def _refined(turn: Turn, attempt: Attempt, case: Case, review: Review) -> Attempt | None:
    """Have a rejected draft rewritten, from where the user has not seen it; None when it cannot be."""
    if turn.bot.refiner is None:
        return None
    committed = turn.committed(attempt.choice)
    options = {k: v for k, v in turn.request.options.items() if k in ("response_format", "seed")}
    try:
        with turn.step("refine"):
            rejected = Rejected(case, review.objections, turn.sources, options, committed.text)
            text = await turn.bot.refiner.refine(rejected, turn.ledger)
    except ModelError as error:
        log.warning("refiner failed", turn_id=turn.trace.turn_id, error=error.kind)
        return None
    except Exception as error:
        # The frames without values or message: these may hold what somebody wrote.
        frames = traceback.format_tb(error.__traceback__)
        log.error("refiner crashed", turn_id=turn.trace.turn_id, error=type(error).__name__, frames=frames)
        return None
    if text is None:
        return None
    refined, parsed = attempt_of(turn, "refinement", attempt.choice, text)
    if turn.cites:
        refined.problems = citations.problems(parsed, turn.bot.sections, turn.in_use)
    if committed.text:
        refined.text = before(continued(turn, committed, refined.text), turn.request.stops)
        refined.citations = [*dict.fromkeys((*committed.citations, *refined.citations))]
    if not turn.request.wants_json:  # a document cut short is none
        refined.text = max(cut(refined.text, turn.bot.settings.length.hard), committed.text, key=len)
    return refined if refined.text and not _ambiguous(turn, refined) else None


def _ambiguous(turn: Turn, attempt: Attempt) -> bool:
    """Tell whether it depends on the reader what a JSON reply says, so that no judge can tell what the user will be shown."""
    return turn.request.wants_json and json_text(attempt.text).duplicate_keys


def continued(turn: Turn, committed: CommittedText, rest: str) -> str:
    """Join what the user has seen with what comes after it, which a model may have begun by saying it all again."""
    said, told = rest.split(), committed.text.split()
    if said[: len(told)] == told:
        rest = " ".join(rest.split(None, len(told))[len(told) :])
    between = " " if any(stop in "\n\n" for stop in turn.request.stops) else "\n\n"
    return f"{committed.text}{between}{rest}".strip()


def fallback(
    turn: Turn, review: Review, warnings: Sequence[tuple[str, str]] = (), committed: CommittedText = NO_TEXT
) -> Delivery:
    """Replace a reply that could not be made acceptable, or not be judged.

    Args:
        committed: What of it the user has seen, which stays and is followed by the fallback message.
    """
    if turn.request.wants_json:
        return Delivery(None, "fallback", (), list(review.judgements), list(warnings), refused=True)
    text = continued(turn, committed, turn.fallback)
    cited = tuple(dict.fromkeys((*committed.citations, "not_in_sources")))
    return Delivery(text, "fallback", cited, list(review.judgements), list(warnings))
