"""Judge a checked draft, complete or rewrite what is rejected, and end on a delivery."""

import traceback
from collections.abc import Sequence
from dataclasses import replace

import structlog

from judges.case import LONG_REPLY, Case, run_in_thread_if
from judges.claims import supporting_sources
from judges.observation import GradedClaims
from judges.pipeline import Complete
from judges.refiner import RejectedDraft, complete_statements
from judges.verdict import Judgement, Review
from knowledge_base import citations
from knowledge_base.evidence import Evidence
from models.errors import ModelError
from models.usage import estimate_tokens
from proxy.traces.trace import Attempt, DroppedCall, Outcome
from proxy.turn.cases import ReplyCase, read_case, valid_citations
from proxy.turn.draft import cut_at_stop, cut_to_tokens, read_draft
from proxy.turn.inputs import Turn
from proxy.turn.json_text import json_text
from proxy.turn.results import Delivery
from proxy.turn.retrieval import add_evidence, look_up_quotes
from proxy.turn.stream_gate import NO_TEXT, CommittedText
from proxy.turn.tool_calls import ToolCall, text_for_judges

log = structlog.get_logger()

Warnings = list[tuple[str, str]]


async def judge_reply(turn: Turn, attempt: Attempt) -> Delivery:
    """Judge a checked draft; rewrite and judge again what is rejected; end on a delivery."""
    if not attempt.text:
        return fallback(turn)
    if not turn.judged:
        cited = valid_citations(turn, attempt)
        return Delivery(attempt.text, "unfiltered", cited, unjudged_attempts=[attempt])
    if await _ambiguous(turn, attempt.text):
        return fallback(turn, warnings=[("unreadable", "")])
    turn = await add_evidence(turn, attempt.text)
    turn, reply, review = await _review(turn, attempt)
    if not review.judgements:  # no judge of this chatbot is for such a reply
        return Delivery(attempt.text, "unfiltered", reply.citations)
    judgements, warnings = list(review.judgements), _warnings(turn, review)
    if turn.observed:  # it has been sent: what is wrong with it, the next turn is told
        warnings += _length_warnings(turn, attempt.text)
        return Delivery(attempt.text, "unfiltered", reply.citations, judgements, warnings)
    outcome: Outcome = "accepted"
    for _ in range(turn.bot.settings.max_refinements):
        if review.verdict != "reject" or review.failed_closed or review.completed is not None:
            break
        refined = await _refine(turn, attempt, reply.case, review)
        if refined is None:
            break
        attempt, outcome = refined, "refined"
        turn, reply, review = await _review(turn, attempt, strongest=True)
        judgements += review.judgements
        warnings += _warnings(turn, review)
    if review.completed is not None and not review.failed_closed:
        # Its citations passed the hard checks as they stand.
        modes = sorted(reply.modes)
        attempt = Attempt("mended", attempt.choice, review.completed, attempt.citations, turn.at_ms, modes=modes)
        turn.results.attempts.append(attempt)
        outcome = "refined"
    elif review.failed_closed or review.verdict == "reject":
        return fallback(turn, judgements, warnings)
    warnings += _length_warnings(turn, attempt.text)
    cited = _citations(turn, reply, review)
    return Delivery(attempt.text, _passed_outcome(review, warnings, outcome), cited, judgements, warnings)


async def _review(turn: Turn, attempt: Attempt, *, strongest: bool = False) -> tuple[Turn, ReplyCase, Review]:
    """Have the judges look at an attempt, and keep what they say with the results of the turn.

    Returns:
        The turn, with the sections that were looked up meanwhile; the attempt as a case; the review.
    """
    reply = await read_case(turn, attempt)
    looked_up: list[Evidence] = []

    def look_up(case: Case, quotes: Sequence[str]) -> Case:
        found = look_up_quotes(turn, case, quotes)
        looked_up.extend(found)
        return replace(case, uncited=(*case.uncited, *[one.source for one in found]))

    with turn.step("judge"):
        review = await turn.bot.pipeline.review(
            reply.case,
            reply.modes,
            turn.ledger,
            strongest=strongest,
            complete=_completer(turn, attempt),
            look_up=look_up,
        )
    attempts = turn.results.attempts
    attempts[attempts.index(attempt)] = replace(attempt, modes=sorted(reply.modes), judgements=review.judgements)
    if looked_up:
        case = replace(reply.case, uncited=(*reply.case.uncited, *[one.source for one in looked_up]))
        turn, reply = turn.with_evidence(looked_up), replace(reply, case=case)
    return turn, reply, review


def _citations(turn: Turn, reply: ReplyCase, review: Review) -> tuple[str, ...]:
    """Return what a reply cites, and the uncited sections that support it, as the chief says."""
    if not turn.cites:
        return reply.citations
    claims = [one.observation for one in review.decisive if isinstance(one.observation, GradedClaims)]
    supporting = frozenset[str]().union(*(supporting_sources(one, reply.case) for one in claims))
    uncited = [source.id for source in reply.case.uncited if source.id in supporting]
    return tuple(dict.fromkeys((*reply.citations, *uncited)))


def _warnings(turn: Turn, review: Review) -> Warnings:
    specific = turn.bot.settings.warning_texts == "specific"
    return [(one.rule, one.warning if specific else "") for one in review.objections if one.rule]


def _length_warnings(turn: Turn, text: str) -> Warnings:
    return [("length", "")] if estimate_tokens(text) > turn.bot.settings.length.soft else []


def _passed_outcome(review: Review, warnings: Warnings, outcome: Outcome = "accepted") -> Outcome:
    """Return the outcome of what may be delivered."""
    if any(judgement.verdict == "unjudged" for judgement in review.decisive):
        return "unjudged"
    return "warned" if outcome == "accepted" and warnings else outcome


def _completer(turn: Turn, attempt: Attempt) -> Complete | None:
    """Return what adds the statements that a reply lacks; None where nothing may be added: a document, or what is sent already."""
    if turn.request.wants_json or attempt.kind == "tool_calls" or turn.observed:
        return None

    def complete() -> str | None:
        statements = turn.bot.statements(turn.user_message)
        text = complete_statements(attempt.text, statements) if statements else None
        return text if text is not None and _fits(turn, text) else None

    return complete


def _fits(turn: Turn, text: str) -> bool:
    """Tell whether a reply can be delivered whole: no `stop` of the client or length limit ends it before its statements."""
    return cut_at_stop(text, turn.request.stops) == text == cut_to_tokens(text, turn.bot.settings.length.hard)


async def judge_calls(turn: Turn, index: int, calls: Sequence[ToolCall], delivery: Delivery) -> Delivery:
    """Add the tool calls of a choice to its delivery: all of them, or those alone that need no judge."""
    trusted = turn.bot.settings.trusted_tools
    untrusted = [call for call in calls if call.name not in trusted]
    if not untrusted:
        return replace(delivery, calls=calls)
    is_long = sum(len(call.name) + len(call.arguments) for call in untrusted) > LONG_REPLY
    text = await run_in_thread_if(is_long, text_for_judges, untrusted)
    problems = () if text is not None else ("The arguments of a tool call have a key twice.",)
    attempt = Attempt("tool_calls", index, text or "", (), turn.at_ms, problems)
    turn.results.attempts.append(attempt)
    if not turn.judged:
        return replace(delivery, calls=calls, unjudged_attempts=[*delivery.unjudged_attempts, attempt])
    verdict = await judge_call_attempt(turn, attempt)
    if verdict.refused:
        turn.results.dropped_calls += [DroppedCall(index, call.name, "rejected") for call in untrusted]
        calls = [call for call in calls if call.name in trusted]
    return replace(
        delivery,
        calls=calls,
        refused=delivery.refused or verdict.refused,
        judgements=[*delivery.judgements, *verdict.judgements],
        warnings=[*delivery.warnings, *verdict.warnings],
        other_outcomes=[*delivery.other_outcomes, verdict.outcome],
    )


async def judge_call_attempt(turn: Turn, attempt: Attempt) -> Delivery:
    """Judge the tool calls of a choice as one case; what is rejected is not refined."""
    if attempt.problems:
        return Delivery(None, "fallback", warnings=[("unreadable", "")], refused=True)
    turn, _, review = await _review(await add_evidence(turn, attempt.text), attempt)
    if not review.judgements:  # no judge of this chatbot is for them
        return Delivery(None, "unfiltered")
    warnings = _warnings(turn, review)
    refused = review.failed_closed or review.verdict == "reject"
    outcome = "fallback" if refused else _passed_outcome(review, warnings)
    return Delivery(None, outcome, (), review.judgements, warnings, refused=refused)


async def _refine(turn: Turn, attempt: Attempt, case: Case, review: Review) -> Attempt | None:
    """Have a rejected draft rewritten; None when it cannot be."""
    if turn.bot.refiner is None:
        return None
    request = turn.request
    options = {name: value for name, value in request.options.items() if name in ("response_format", "seed")}
    try:
        with turn.step("refine"):
            rejected = RejectedDraft(case, review.objections, case.sources, options)
            written = await turn.bot.refiner.refine(rejected, turn.ledger)
    except ModelError as error:
        log.warning("refiner failed", turn_id=turn.id, error=error.kind)
        return None
    except Exception as error:
        # The frames without values or message: these may hold what somebody wrote.
        frames = traceback.format_tb(error.__traceback__)
        log.error("refiner crashed", turn_id=turn.id, error=type(error).__name__, frames=frames)
        return None
    if written is None:
        return None
    parsed = await read_draft(turn, written)
    text = parsed.text
    if not request.wants_json:  # a document cut short is none
        text = cut_to_tokens(text, turn.bot.settings.length.hard)
    problems = citations.problems(parsed, turn.citable, turn.source_ids) if turn.cites else ()
    refined = Attempt("refinement", attempt.choice, text, parsed.citations, turn.at_ms, problems)
    turn.results.attempts.append(refined)
    return refined if text and not await _ambiguous(turn, text) else None


async def _ambiguous(turn: Turn, text: str) -> bool:
    """Tell whether it depends on the reader what a JSON reply says, so that no judge can tell what the user will be shown."""
    if not turn.request.wants_json:
        return False
    return (await run_in_thread_if(len(text) > LONG_REPLY, json_text, text)).duplicate_keys


def fallback(
    turn: Turn,
    judgements: Sequence[Judgement] = (),
    warnings: Sequence[tuple[str, str]] = (),
    committed: CommittedText = NO_TEXT,
) -> Delivery:
    """Replace a reply that could not be made acceptable, or not be judged.

    Args:
        turn: The turn.
        judgements: What judges said of it.
        warnings: (rule, detail) of what was wrong with it.
        committed: What of it the user has seen, which stays and is followed by the fallback message.
    """
    if turn.task is not None and not committed.text:
        return Delivery(turn.task.answer, "fallback", (), judgements, warnings)
    if turn.request.wants_json:
        return Delivery(None, "fallback", (), judgements, warnings, refused=True)
    between = " " if any(stop in "\n\n" for stop in turn.request.stops) else "\n\n"
    text = f"{committed.text}{between}{turn.fallback}".strip()
    cited = tuple(dict.fromkeys((*committed.citations, "not_in_sources")))
    return Delivery(text, "fallback", cited, judgements, warnings)
