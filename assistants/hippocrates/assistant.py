"""Hippocrates behind the proxy: messages in; text, the documents that it rests on, tool calls and a proposed action out.

reply ── talk         what each sentence is for; the study is folded from the rest
      ├── answering   which databases have such patients, and other questions
      ├── summary, read_back   what the message changed, and what is asked next
      └── proposal    a cohort that is complete: checked, counted, and proposed to be sent
act   ── webapi       sends it, once it is confirmed
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assistants.assistant import Action, AssistantError, AssistantReply, AssistantRequest, ToolRequest
from assistants.hippocrates import read_back, summary
from assistants.hippocrates.answering import Answering, add_service
from assistants.hippocrates.cohort import CannotBuild, build_cohort
from assistants.hippocrates.grammar import Grammar
from assistants.hippocrates.planner import PLANNER, plan
from assistants.hippocrates.proposal import Cohort, Proposals
from assistants.hippocrates.reply_draft import ReplyDraft
from assistants.hippocrates.settings import Sources, open_sources
from assistants.hippocrates.slots import Term
from assistants.hippocrates.study import Study, fold
from assistants.hippocrates.talk import CHOOSE, HELLO, Talk, Wish, WishKind, courtesy, read_turns
from assistants.hippocrates.webapi import WebApiError
from models.errors import ModelSettingsError
from models.settings import ModelSettings
from models.turn_scope import Principal

MOST_ASKS = 5
"""How many sentences of a message are asked back; the last one, which may say that there were too many, is told in any case."""
ASKED_NEXT = "What is asked next"
"""The title of the document with what the reply asks."""
OTHER_CODE = "That code does not stand for the cohort as it is now."


@dataclass(frozen=True)
class _Turn:
    """A message, as it was read."""

    request: AssistantRequest
    wishes: Sequence[Wish]
    """Its sentences that say nothing of the cohort."""
    study: Study
    before: Study
    """The study before the message."""
    cohort: Cohort | CannotBuild
    draft: ReplyDraft

    @property
    def kinds(self) -> set[WishKind]:
        return {one.kind for one in self.wishes}


class Hippocrates:
    """Finds databases and builds cohorts. It keeps nothing of a conversation."""

    def __init__(self, sources: Sources, *, plans: bool = False) -> None:
        """Args:
        sources: what it answers from.
        plans: whether a model reads what the grammar does not.
        """
        self._sources = sources
        self._grammar = Grammar(sources.vocabulary)
        self._proposals = Proposals(sources)
        self._plans = plans

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        messages, answers = read_turns(request.messages)
        talk = Talk(self._grammar, answers)
        if self._plans and request.ask_structured is not None:
            study = await plan(request.ask_structured, messages, talk.read, self._grammar.terms)
        else:  # beside the event loop: conversations may be long
            study = await asyncio.to_thread(fold, messages, talk.read)
        last = len(messages) - 1
        cohort = _build(study, _name(talk, study))
        turn = _Turn(request, talk.wishes.get(last, ()), study, talk.before.get(last, Study()), cohort, ReplyDraft())
        request.note("read", f"{len(summary.lines(study))} lines of the cohort, {len(turn.wishes)} other sentences")
        for wish in turn.wishes:
            if (reply := self._settle(turn, wish)) is not None:
                return reply
        Answering(self._sources, request, talk.wishes, turn.draft).answer(last)
        return await self._go_on(turn)

    async def act(self, action: Action, principal: Principal) -> str:
        """Send a confirmed cohort to WebAPI.

        Raises:
            AssistantError: It was not sent, or not wholly.
        """
        if self._sources.webapi is None:
            raise AssistantError("no WebAPI is configured")
        name, expression = action.arguments["name"], action.arguments["expression"]
        try:
            sent = await self._sources.webapi.send(name, expression)
        except WebApiError as error:
            raise AssistantError(str(error)) from error
        sets = ", ".join(map(str, sent.concept_set_ids))
        with_sets = f", with the concept set{'s' * (len(sent.concept_set_ids) > 1)} {sets}" if sets else ""
        return f"Sent: cohort definition {sent.cohort_id} “{name}”{with_sets}."

    async def close(self) -> None:
        """Nothing to let go of."""

    def _settle(self, turn: _Turn, wish: Wish) -> AssistantReply | None:
        """Take a confirmation, or a no; None: it is neither, or about another cohort than there is now."""
        draft, cohort = turn.draft, turn.cohort
        if wish.kind not in ("confirm", "approve", "decline"):
            return None
        if wish.kind == "decline":
            draft.add("cohort", "The cohort", "It was not confirmed, and is not sent. Say what is to be changed.")
            return draft.reply()
        if isinstance(cohort, Cohort) and cohort.action.code == wish.argument.casefold():
            if wish.kind == "approve":
                draft.add("cohort", "The cohort", f"Confirmed: the cohort “{cohort.name}”.")
                return self._proposals.propose(draft, cohort, turn.request)
            if self._proposals.may_be_sent(cohort):
                return AssistantReply("Thank you.", ["no_claims"], action=replace(cohort.action, confirmed=True))
        add_service(draft, OTHER_CODE)
        return None

    async def _go_on(self, turn: _Turn) -> AssistantReply:
        """Say what the message changed, and what comes next."""
        draft, study, cohort, kinds = turn.draft, turn.study, turn.cohort, turn.kinds
        changed = _note_changes(turn)
        asked_back = _ask_back(turn)
        begins = study == Study(asks=study.asks) and not changed
        if kinds == {"courtesy"} and not changed and not asked_back:
            answer = courtesy(turn.wishes[0].words)
            draft.lines += [answer] if answer and (begins or answer != HELLO) else []
        if begins:
            return _begin(turn, asked_back)
        if "summary" in kinds and isinstance(cohort, CannotBuild):
            draft.add("study", "The cohort so far", "\n".join(["The cohort so far:", *summary.lines(study)]))
        if question := read_back.ask(study):
            return _ask(turn, question)
        if isinstance(cohort, CannotBuild):
            draft.add("question", ASKED_NEXT, str(cohort))
        elif changed or kinds & _ABOUT_COHORT:
            return await self._proposals.show(draft, cohort, turn.request, kinds, changed)
        elif not draft.lines:
            draft.add("cohort", "The cohort", "The cohort stands as it is.")
        return draft.reply()


_ABOUT_COHORT: set[WishKind] = {"json", "send", "confirm", "approve", "count", "summary", "name"}


def _note_changes(turn: _Turn) -> bool:
    """Say what the message changed, if it did."""
    changed = summary.changes(turn.before, turn.study)
    if changed:
        turn.draft.add("study", "The cohort so far", "\n".join(["Noted:", *(f"- {line}" for line in changed)]))
    return bool(changed)


def _ask_back(turn: _Turn) -> bool:
    """Ask back what was not understood, if there is something."""
    texts = [*dict.fromkeys(ask.text for ask in turn.study.asks if ask.kind != "question" and ask.text)]
    for text in texts[:MOST_ASKS] + texts[-1:] if len(texts) > MOST_ASKS else texts:
        turn.draft.add("question", ASKED_NEXT, text)
    return bool(texts)


def _begin(turn: _Turn, asked_back: bool) -> AssistantReply:
    """Say what this is for, where nothing of a cohort has been said."""
    if turn.kinds & _ABOUT_COHORT:
        turn.draft.add("question", ASKED_NEXT, f"There is no cohort yet.\n{read_back.ask(Study())}")
    elif turn.draft.lines in ([], [HELLO]) or (asked_back and not turn.kinds - {"courtesy"}):
        add_service(turn.draft)
    return turn.draft.reply()


def _ask(turn: _Turn, question: str) -> AssistantReply:
    """Ask the next question: concepts by a tool, where the request declares it."""
    term = turn.study.open_term if turn.study.question == "concept" else None
    if term is not None and CHOOSE in turn.request.tools:
        return replace(turn.draft.reply(), tool_calls=[_choice(term)])
    if turn.kinds & _ABOUT_COHORT - {"summary", "name"}:
        turn.draft.add("question", ASKED_NEXT, "The cohort is not complete yet.")
    turn.draft.add("question", ASKED_NEXT, question)
    return turn.draft.reply()


def open_assistant(settings: ModelSettings) -> Hippocrates:
    """Open the assistant: its options name what it answers from, `models: {planner: ALIAS}` a model that fills slots.

    Raises:
        ModelSettingsError: An option is wrong, or what it names cannot be used.
    """
    if unknown := sorted(settings.models.keys() - {PLANNER}):
        raise ModelSettingsError(f"models: the assistant asks no {unknown[0]!r} (expected {PLANNER})")
    return Hippocrates(open_sources(settings), plans=PLANNER in settings.models)


def _build(study: Study, name: str) -> Cohort | CannotBuild:
    try:
        return Cohort(name, build_cohort(study))
    except CannotBuild as problem:
        return problem


def _name(talk: Talk, study: Study) -> str:
    """Return what the user calls the cohort, else its entry events."""
    named = [
        one.argument for turn in sorted(talk.wishes) for one in talk.wishes[turn] if one.kind == "name" and one.argument
    ]
    if named:
        return named[-1]
    words = dict.fromkeys(term.words for event in study.entry for term in event.terms)
    return (" or ".join(words) or "death")[:100]


def _choice(term: Term) -> ToolRequest:
    """Have concepts chosen by a tool."""
    candidates = [
        {
            "concept_id": one.concept_id,
            "name": one.name,
            "domain": one.domain_id,
            "vocabulary": one.vocabulary_id,
        }
        for one in term.candidates
    ]
    return ToolRequest(CHOOSE, {"words": term.words, "candidates": candidates})
