"""Converts a traced turn to a scenario: the judged draft, the other inputs of the judges, and a person's labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from judges.quotes import is_verbatim_quote
from knowledge_base.library import Library, Source
from proxy.config.blueprint import Blueprint
from proxy.protocol.canonical import without_citation_lines
from proxy.traces.backend import TraceBackend
from proxy.traces.judged_draft import TracedTurnError, check_choice, cited_ids, documents_of, judged_draft, no_draft
from proxy.traces.labels import Label, RightVerdict, labels
from proxy.traces.query import earlier_traces, show
from proxy.traces.redaction import is_redacted
from proxy.turn.turn import HISTORY_FOR_JUDGES
from scenarios.scenario import Earlier, Family, InlineSource, Scenario
from scenarios.scenario_files import FamilyFile

Json = dict[str, Any]
TO_FILL = "fill in `expect`: for each judge, the correct verdict (accept, warn or reject)"


@dataclass(frozen=True, slots=True)
class TracedTurn:
    """A traced turn with the earlier turns of its conversation, its labels and the chatbot's knowledge base."""

    trace: Json
    before: Sequence[Json] = ()
    """The traces of earlier turns of the conversation, oldest first."""
    labels: Sequence[Label] = ()
    """The labels of the turn, oldest first."""
    library: Library | None = None
    """The chatbot's current knowledge base."""

    @property
    def effective_labels(self) -> list[Label]:
        """The labels without outdated emergency labels. All choices share one user message, so the last emergency label counts."""
        last = [label for label in self.labels if label.judge == "emergency"][-1:]
        return [label for label in self.labels if label.judge != "emergency"] + last

    @property
    def choices(self) -> list[int]:
        """The indices of the labelled choices, in order."""
        return sorted({label.choice for label in self.effective_labels})


def scenario_of(
    traced: TracedTurn, choice: int = 0, expect: Mapping[str, frozenset[RightVerdict]] | None = None
) -> tuple[Scenario, list[str]]:
    """Return one choice of a traced turn as a scenario.

    Args:
        traced: The traced turn.
        choice: The index of the choice.
        expect: Correct verdicts by judge, which override the labels. The verdicts of the judges are not used.

    Returns:
        The scenario, and notes about possible differences between the scenario and the input of the judges.

    Raises:
        TracedTurnError: The trace has no texts or no such choice, or cites a section that no longer exists.
    """
    trace = traced.trace
    check_choice(trace, choice)
    if is_redacted(trace):
        raise TracedTurnError(
            f"cannot create a scenario from the turn {trace['turn_id']}: its trace is redacted and has no texts; "
            "to store the texts of later turns, set `privacy.store: full`"
        )
    choice_labels = [one for one in traced.effective_labels if one.choice == choice]
    expected = {one.judge: frozenset([one.verdict]) for one in choice_labels} | dict(expect or {})
    draft = judged_draft(trace, choice)
    if draft is None and (trace["attempts"] or set(expected) - {"emergency"}):
        raise no_draft(trace, choice)
    sections = {source.id: source for one in choice_labels for source in one.sections}
    ids = cited_ids(trace, draft, traced.library, sections) if draft else ()
    sections |= documents_of(trace, choice)
    history, doubts = _history(traced)
    current, inline = _split_sections(trace, ids, sections, traced.library)
    if draft:
        doubts += [
            f"the section {source.id} has changed since the turn: it no longer contains a passage that a judge quoted"
            for source in (*current, *inline)
            if _has_changed(draft, source)
        ]
    remarks = [*(one.note for one in choice_labels if one.note), *([] if expected else [TO_FILL]), *doubts]
    scenario = Scenario(
        id=f"trace-{trace['turn_id'][:12]}" + (f"-{choice}" if choice else ""),
        user_message=trace["user_message"],
        history=history,
        response=draft["text"] if draft else "",
        citations=tuple(source.id for source in current),
        sources=tuple(InlineSource(id=one.id, title=one.title, text=one.text, trusted=one.trusted) for one in inline),
        expect=expected,
        tags=("trace",),
        note="; ".join(remarks),
    )
    return scenario, doubts


def labelled_turns(place: TraceBackend, bot: Blueprint) -> tuple[list[FamilyFile], list[str]]:
    """Return the labelled turns of a chatbot as scenarios.

    Args:
        place: The store of the traces.
        bot: The chatbot.

    Returns:
        One family of scenarios per conversation, and a message for each labelled turn that was left out.

    Raises:
        TraceError: The traces are missing or unreadable.
    """
    conversations: dict[str, list[Scenario]] = {}
    problems: list[str] = []
    for turn_id, turn_labels in labels(place).items():
        trace = show(place, turn_id)
        if trace["chatbot"] != bot.name:
            continue
        traced = TracedTurn(trace, earlier_traces(place, trace), turn_labels, bot.library)
        for choice in traced.choices:
            try:
                scenario, _ = scenario_of(traced, choice)
            except TracedTurnError as error:
                problems.append(str(error))
            else:
                conversations.setdefault(_family_name(trace), []).append(scenario)
    families = [Family(family=name, scenarios=tuple(one)) for name, one in conversations.items()]
    return [FamilyFile(family, Path(str(place))) for family in families], problems


def _split_sections(
    trace: Json, ids: Sequence[str], sections: Mapping[str, Source], library: Library | None
) -> tuple[list[Source], list[Source]]:
    """Divide the cited sources of a turn into sections of the knowledge base and sources to copy into the scenario.

    A source is copied if its text in the trace differs from the knowledge base, or if the knowledge base does not contain it.

    Args:
        trace: The trace of the turn.
        ids: Ids of the cited sources.
        sections: Stored texts of sources, by id.
        library: The current knowledge base.
    """
    current, inline = [], []
    for id in ids:
        stored, now = sections.get(id), library.get(id) if library else None
        if now is not None and (stored is None or stored.text == now.text):
            current.append(now)
        elif stored is not None:
            inline.append(stored)
        else:
            raise TracedTurnError(
                f"the turn {trace['turn_id']} cites the section {id!r}, which is no longer in the knowledge base of "
                f"{trace['chatbot']!r}; the section was not stored, because the turn was not labelled while it existed"
            )
    return current, inline


def _history(traced: TracedTurn) -> tuple[tuple[Earlier, ...], list[str]]:
    """Return the history of a turn from the traces of earlier turns, and notes if the history may be incomplete.

    A trace contains only its own turn, so that deleting a turn deletes all its texts. If a conversation branches, the latest
    turn of each number is used.
    """
    number, before = traced.trace["turn"], list(traced.before)
    messages: list[Earlier] = []
    while before and number > 1 and len(messages) < HISTORY_FOR_JUDGES:
        turn = before.pop()
        reply = next((reply for reply in turn["replies"] if reply), None)
        if turn["turn"] != number - 1 or turn["error"] or reply is None:
            continue
        if is_redacted(turn):
            break
        messages = [
            *([Earlier(role="user", content=turn["user_message"])] if turn["user_message"] else []),
            Earlier(role="assistant", content=without_citation_lines(reply)),
            *messages,
        ]
        number -= 1
    doubts = []
    if number > 1 and len(messages) < HISTORY_FOR_JUDGES:
        doubts.append("the history is incomplete: earlier turns are no longer stored")
    if traced.trace["memory"] in ("missed", "pair"):
        doubts.append("the client sent a history that the proxy had stored only in part: it may differ from this one")
    return tuple(messages[-HISTORY_FOR_JUDGES:]), doubts


def _has_changed(draft: Json, source: Source) -> bool:
    """Return whether a source no longer contains a quote that a local judge took from it. Local judges quote verbatim."""
    return any(
        assertion["source_id"] == source.id
        and assertion["quote"]
        and not is_verbatim_quote(assertion["quote"], source.text)
        for judgement in draft["judgements"]
        if judgement["stage"] == "local"
        for assertion in (judgement["observation"] or {}).get("assertions", ())
    )


def _family_name(trace: Json) -> str:
    # A hash, because an id that a client chose may identify a person.
    return "conversation-" + blake2b(trace["conversation_id"].encode(), digest_size=6).hexdigest()
