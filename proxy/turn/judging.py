"""Judges a checked draft. A rejected draft is completed or rewritten, or replaced by the fallback message."""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from judges.case import LONG_REPLY, Case, Mode, modes_of, run_in_thread_if, run_in_thread_if_long
from judges.claims import supporting_sources
from judges.observation import GradedClaims
from judges.pipeline import AddStatements
from judges.refiner import RejectedDraft, complete_statements
from judges.verdict import Judgement, Review
from knowledge_base import citations
from knowledge_base.library import Source
from models.errors import ModelError
from models.usage import estimate_tokens
from proxy.protocol.json_text import JsonText, json_text
from proxy.traces.trace import Attempt, DroppedCall, Outcome
from proxy.turn.delivery import Delivery, Warnings
from proxy.turn.draft import Reply, cut_at_stop, cut_to_tokens, read_reply
from proxy.turn.sources import add_evidence, look_up_quotes
from proxy.turn.stream import NO_TEXT, CommittedText
from proxy.turn.tool_calls import ToolCall, text_for_judges
from proxy.turn.turn import ChoiceRun, Turn, TurnRun

log = structlog.get_logger()

ABOUT = 3
"""Number of best matching sections that count as the topic of a question."""


async def judge_reply(choice: ChoiceRun, reply: Reply) -> Delivery:
    """Judge a checked draft, and return its delivery. A rejected draft is rewritten and judged again."""
    run = choice.run
    if not reply.text:
        return fallback(run)
    if not run.needs_judging:
        cited = _named(*_cited(choice, reply.attempt))
        return Delivery(reply.text, "unfiltered", cited, left_to_judge=[reply])
    json = await _read_json(run.turn, reply.text)
    if json is not None and json.duplicate_keys:
        return fallback(run, warnings=[("unreadable", "")])
    await add_evidence(choice, reply.text)
    judged, review = await _review(choice, reply, json)
    if not review.judgements:  # no judge of this chatbot covers such a reply
        return Delivery(reply.text, "unfiltered", judged.citations)
    judgements, warnings = list(review.judgements), _warnings(run.turn, review)
    if run.sent_before_verdict:  # the reply has been sent: its warnings go to the next turn
        warnings += _length_warnings(run.turn, reply.text)
        return Delivery(reply.text, "unfiltered", judged.citations, judgements, warnings)
    outcome: Outcome = "accepted"
    for _ in range(run.turn.bot.settings.max_refinements):
        if review.verdict != "reject" or review.failed_closed or review.completed is not None:
            break
        refined = await _refine(choice, judged.case, review)
        if refined is None:
            break
        json = await _read_json(run.turn, refined.text)
        if json is not None and json.duplicate_keys:
            break
        reply, outcome = refined, "refined"
        judged, review = await _review(choice, reply, json, strongest=True)
        judgements += review.judgements
        warnings += _warnings(run.turn, review)
    text = reply.text
    if review.completed is not None and not review.failed_closed:
        text, outcome = review.completed, "refined"
        # The added statements do not change the citations, which passed the hard checks.
        cites, modes = reply.attempt.citations, sorted(judged.modes)
        run.record(Attempt("mended", choice.index, text, cites, run.turn.at_ms, modes=modes))
    elif review.failed_closed or review.verdict == "reject":
        return fallback(run, judgements, warnings)
    warnings += _length_warnings(run.turn, text)
    delivered = _delivered_citations(run.turn, judged, review)
    return Delivery(text, _passed_outcome(review, warnings, outcome), delivered, judgements, warnings)


# The case


@dataclass(frozen=True, slots=True)
class JudgedReply:
    """A reply in the form in which judges see it."""

    case: Case
    citations: tuple[str, ...]
    """The valid citations of the reply."""
    modes: frozenset[Mode]
    """The modes of the judges that must run."""


def _case_of(choice: ChoiceRun, reply: Reply, json: JsonText | None) -> JudgedReply:
    """Return the case of a reply for the judges, with the reply's valid citations and the modes of judges that must run."""
    turn, bot = choice.turn, choice.turn.bot
    sources, classes = _cited(choice, reply.attempt)
    cited_ids = {source.id for source in sources}
    evidence = {one.source.id: one for one in choice.evidence}
    in_view = (*[one.source for one in evidence.values()], *choice.documents)
    whole = bot.library is not None and bot.library.tokens <= bot.settings.retrieval.evidence_tokens
    case = Case(
        turn.user_message,
        reply.text if json is None else json.text,
        history=turn.history,
        cited=sources,
        uncited=tuple(source for source in in_view if source.id not in cited_ids),
        by_own_words=_found_by_own_words(choice) - (cited_ids if turn.cites else frozenset()),
        screens_uncited=whole or bool(classes) or not sources,
        role=bot.settings.role,
        topics=bot.topics,
        language=bot.language,
    )
    if bot.settings.kind == "wrapped":  # it writes no citations: name the sections found for its own words
        sources = tuple(one for one in sources if one.is_document or evidence[one.id].by in ("model", "draft"))
    return JudgedReply(case, _named(sources, classes), modes_of(case, classes))


def _found_by_own_words(choice: ChoiceRun) -> frozenset[str]:
    """Return the ids of the sections that were found by the words of the reply, but not by the question."""
    turn, bot = choice.turn, choice.turn.bot
    if bot.library is None or not bot.topics:
        return frozenset()
    by_question = {one.id for one in bot.library.index.choose(turn.user_message, turn.exchange_before, ABOUT)}
    return frozenset(one.source.id for one in choice.evidence if one.by != "model") - by_question


def _cited(choice: ChoiceRun, attempt: Attempt) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """Return the sections and the classes that an attempt cites.

    Tool calls and replies of wrapped chatbots have no citations. For these, all sources in use count as cited.
    """
    if not choice.turn.cites or attempt.kind == "tool_calls":
        return choice.sources, ()
    sources, classes, _ = citations.split(attempt.citations, choice.citable, choice.source_ids)
    return sources, classes


def _named(sources: Sequence[Source], classes: tuple[str, ...]) -> tuple[str, ...]:
    return (*[source.id for source in sources], *classes)


async def _read_json(turn: Turn, text: str) -> JsonText | None:
    """Return a JSON reply as text for judges; None if the request does not ask for JSON."""
    return await run_in_thread_if(len(text) > LONG_REPLY, json_text, text) if turn.request.wants_json else None


# The verdict


async def _review(
    choice: ChoiceRun, reply: Reply, json: JsonText | None = None, *, strongest: bool = False
) -> tuple[JudgedReply, Review]:
    """Let the judges review a reply, and add their judgements to the trace of the reply.

    Returns:
        The reply as the judges saw it, including sections looked up during the review; the review.
    """
    run, attempt = choice.run, reply.attempt
    judged = await run_in_thread_if_long(Case(run.turn.user_message, reply.text), _case_of, choice, reply, json)
    case = judged.case

    def look_up(seen: Case, quotes: Sequence[str]) -> Case:
        nonlocal case
        found = look_up_quotes(choice, seen, quotes)
        choice.compare_with(found)
        case = replace(seen, uncited=(*seen.uncited, *[one.source for one in found]))
        return case

    with run.step("judge"):
        review = await run.turn.bot.pipeline.review(
            case,
            judged.modes,
            run.ledger,
            strongest=strongest,
            add_statements=_completer(run, attempt),
            look_up=look_up,
        )
    run.attempts[run.attempts.index(attempt)] = replace(
        attempt, modes=sorted(judged.modes), judgements=review.judgements
    )
    return replace(judged, case=case), review


def _delivered_citations(turn: Turn, judged: JudgedReply, review: Review) -> tuple[str, ...]:
    """Return a reply's citations, and the uncited sections that support the reply according to the chief stage."""
    if not turn.cites:
        return judged.citations
    claims = [one.observation for one in review.decisive if isinstance(one.observation, GradedClaims)]
    supporting = frozenset[str]().union(*(supporting_sources(one, judged.case) for one in claims))
    uncited = [source.id for source in judged.case.uncited if source.id in supporting]
    return tuple(dict.fromkeys((*judged.citations, *uncited)))


def _warnings(turn: Turn, review: Review) -> list[tuple[str, str]]:
    specific = turn.bot.settings.warning_texts == "specific"
    return [(one.rule, one.warning if specific else "") for one in review.objections if one.rule]


def _length_warnings(turn: Turn, text: str) -> list[tuple[str, str]]:
    return [("length", "")] if estimate_tokens(text) > turn.bot.settings.length.soft else []


def _passed_outcome(review: Review, warnings: Warnings, outcome: Outcome = "accepted") -> Outcome:
    """Return the outcome of a reply that may be delivered."""
    if any(judgement.verdict == "unjudged" for judgement in review.decisive):
        return "unjudged"
    return "warned" if outcome == "accepted" and warnings else outcome


def fallback(
    run: TurnRun,
    judgements: Sequence[Judgement] = (),
    warnings: Warnings = (),
    committed: CommittedText = NO_TEXT,
) -> Delivery:
    """Return the delivery of the fallback message, for a reply that was rejected or could not be judged.

    Args:
        run: The turn.
        judgements: The judgements of the reply.
        warnings: (rule, detail) of each fault of the reply.
        committed: The start of the reply, which may already have been sent. The fallback message follows it.
    """
    turn = run.turn
    if turn.task is not None and not committed.text:
        return Delivery(turn.task.answer, "fallback", (), judgements, warnings)
    if turn.request.wants_json:
        return Delivery(None, "fallback", (), judgements, warnings, refused=True)
    between = " " if any(stop in "\n\n" for stop in turn.request.stops) else "\n\n"
    text = f"{committed.text}{between}{turn.fallback}".strip()
    cited = tuple(dict.fromkeys((*committed.citations, "not_in_sources")))
    return Delivery(text, "fallback", cited, judgements, warnings)


# Changing a reply


def _completer(run: TurnRun, attempt: Attempt) -> AddStatements | None:
    """Return a function that adds missing statements to a reply. None for JSON, tool calls and replies that were sent."""
    turn = run.turn
    if turn.request.wants_json or attempt.kind == "tool_calls" or run.sent_before_verdict:
        return None

    def complete() -> str | None:
        statements = turn.bot.statements(turn.user_message)
        text = complete_statements(attempt.text, statements) if statements else None
        return text if text is not None and _fits(turn, text) else None

    return complete


def _fits(turn: Turn, text: str) -> bool:
    """Return whether a reply can be delivered completely: neither the client's `stop` nor the length limit cuts it off."""
    return cut_at_stop(text, turn.request.stops) == text == cut_to_tokens(text, turn.bot.settings.length.hard)


async def _refine(choice: ChoiceRun, case: Case, review: Review) -> Reply | None:
    """Return the refiner's rewrite of a rejected draft; None if there is no refiner or it failed."""
    run, turn, refiner = choice.run, choice.turn, choice.turn.bot.refiner
    if refiner is None:
        return None
    options = {name: value for name, value in turn.request.options.items() if name in ("response_format", "seed")}
    try:
        with run.step("refine"):
            written = await refiner.refine(RejectedDraft(case, review.objections, case.sources, options), run.ledger)
    except ModelError as error:
        log.warning("refiner failed", turn_id=turn.id, error=error.kind, cause=error.cause)
        return None
    except Exception as error:
        # Log frames only: values and the message may contain a user's text.
        frames = traceback.format_tb(error.__traceback__)
        log.error("refiner crashed", turn_id=turn.id, error=type(error).__name__, frames=frames)
        return None
    if written is None:
        return None
    refined = await read_reply(choice, "refinement", written)
    if not turn.request.wants_json:  # a shortened JSON document would be invalid
        cut = cut_to_tokens(refined.text, turn.bot.settings.length.hard)
        refined = replace(refined, attempt=replace(refined.attempt, text=cut))
    run.record(refined.attempt)
    return refined if refined.text else None


# Tool calls


async def judge_calls(choice: ChoiceRun, calls: Sequence[ToolCall], delivery: Delivery) -> Delivery:
    """Judge the tool calls of a choice, and add them to its delivery. If rejected, only calls of trusted tools are added."""
    run, trusted = choice.run, choice.turn.bot.settings.trusted_tools
    untrusted = [call for call in calls if call.name not in trusted]
    if not untrusted:
        delivery.calls = calls
        return delivery
    is_long = sum(len(call.name) + len(call.arguments) for call in untrusted) > LONG_REPLY
    text = await run_in_thread_if(is_long, text_for_judges, untrusted)
    problems = () if text is not None else ("The arguments of a tool call have a duplicate key.",)
    reply = Reply(run.record(Attempt("tool_calls", choice.index, text or "", (), run.turn.at_ms, problems)))
    if not run.needs_judging:
        delivery.calls, delivery.left_to_judge = calls, [*delivery.left_to_judge, reply]
        return delivery
    verdict = await judge_call_reply(choice, reply)
    if verdict.refused:
        run.dropped_calls += [DroppedCall(choice.index, call.name, "rejected") for call in untrusted]
        calls = [call for call in calls if call.name in trusted]
    delivery.calls = calls
    delivery.refused |= verdict.refused
    delivery.judgements = [*delivery.judgements, *verdict.judgements]
    delivery.warnings = [*delivery.warnings, *verdict.warnings]
    delivery.other_outcomes = [*delivery.other_outcomes, verdict.outcome]
    return delivery


async def judge_call_reply(choice: ChoiceRun, reply: Reply) -> Delivery:
    """Judge the tool calls of a choice together, as one reply. Rejected calls are not refined."""
    if reply.attempt.problems:
        return Delivery(None, "fallback", warnings=[("unreadable", "")], refused=True)
    await add_evidence(choice, reply.text)
    _, review = await _review(choice, reply)
    if not review.judgements:  # no judge of this chatbot covers tool calls
        return Delivery(None, "unfiltered")
    warnings = _warnings(choice.turn, review)
    refused = review.failed_closed or review.verdict == "reject"
    outcome = "fallback" if refused else _passed_outcome(review, warnings)
    return Delivery(None, outcome, (), review.judgements, warnings, refused=refused)
