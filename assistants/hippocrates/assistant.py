"""Hippocrates behind the proxy: messages in; text, the documents that it rests on, tool calls and a proposed action out.

reply ── talk         what each sentence is for; the study is folded from the rest
      ├── answering   which databases have such patients, and other questions
      ├── noted, read_back   what the message changed, and what is asked next
      └── proposal    a cohort that is complete: checked, counted, and proposed to be sent
act   ── webapi       sends it, once it is confirmed
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from assistants.assistant import Action, AssistantError, AssistantReply, AssistantRequest, ToolRequest
from assistants.hippocrates import noted, read_back
from assistants.hippocrates.answering import Answering, add_service
from assistants.hippocrates.cohort import CannotBuild, build_cohort
from assistants.hippocrates.grammar import Grammar
from assistants.hippocrates.planner import PLANNER, plan
from assistants.hippocrates.proposal import Cohort, Proposals
from assistants.hippocrates.reply_draft import ReplyDraft
from assistants.hippocrates.settings import Sources, open_sources
from assistants.hippocrates.study import Study, Term, fold
from assistants.hippocrates.talk import CHOOSE, HELLO, Said, Talk, Wish, courtesy, read_turns
from assistants.hippocrates.webapi import WebApiError
from models.settings import ModelSettings
from models.turn_scope import Principal

MOST_ASKS = 5
"""How many sentences of a message are asked back; the last one, which may say that there were too many, is told in any case."""
OTHER_CODE = "That code does not stand for the cohort as it is now."


class Hippocrates:
    """Finds databases and builds cohorts. It keeps nothing of a conversation."""

    def __init__(self, sources: Sources, *, plans: bool = False) -> None:
        """Args:
        sources: what it answers from.
        plans: whether a model reads what the grammar does not.
        """
        self._sources = sources
        self._grammar = Grammar(sources.vocabulary)
        self._answering = Answering(sources)
        self._proposals = Proposals(sources)
        self._plans = plans

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        turns, answers = read_turns(request.messages)
        talk = Talk(self._grammar, answers)
        if self._plans and request.ask_structured is not None:
            study = await plan(request.ask_structured, turns, talk.read, self._grammar.terms)
        else:  # beside the event loop: conversations may be long
            study = await asyncio.to_thread(fold, turns, talk.read)
        last = len(turns) - 1
        said = talk.said.get(last, ())
        before = talk.before.get(last, Study())
        request.note("read", f"{len(noted.lines(study))} lines of the cohort, {len(said)} other sentences")
        cohort = _build(study, _name(talk, study))
        draft = ReplyDraft()
        for one in said:
            if (reply := self._settle(draft, one, cohort, request)) is not None:
                return reply
        self._answering.answer(draft, said, request, talk, last)
        return await self._go_on(draft, request, study, before, said, cohort)

    def _settle(
        self, draft: ReplyDraft, one: Said, cohort: Cohort | CannotBuild, request: AssistantRequest
    ) -> AssistantReply | None:
        """Take a confirmation, or a no; None: it is neither, or about another cohort than there is now."""
        if one.wish not in ("confirm", "approve", "decline"):
            return None
        if one.wish == "decline":
            draft.add("cohort", "The cohort", "It was not confirmed, and is not sent. Say what is to be changed.")
            return draft.reply()
        if isinstance(cohort, Cohort) and cohort.action.code == one.argument.casefold():
            if one.wish == "approve":
                draft.add("cohort", "The cohort", f"Confirmed: the cohort “{cohort.name}”.")
                return self._proposals.propose(draft, cohort, request)
            if self._proposals.may_be_sent(cohort):
                return AssistantReply("Thank you.", ["no_claims"], action=replace(cohort.action, confirmed=True))
        add_service(draft, OTHER_CODE)
        return None

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

    async def _go_on(
        self,
        draft: ReplyDraft,
        request: AssistantRequest,
        study: Study,
        before: Study,
        said: Sequence[Said],
        cohort: Cohort | CannotBuild,
    ) -> AssistantReply:
        """Say what the message changed, and what comes next."""
        wishes = {one.wish for one in said}
        changed = noted.changes(before, replace(study, asks=()))
        if changed:
            draft.add("study", "The cohort so far", "\n".join(["Noted:", *(f"- {line}" for line in changed)]))
        asks = [ask for ask in study.asks if ask.kind != "question" and ask.text]
        told = [*dict.fromkeys(ask.text for ask in asks)]
        for text in told[:MOST_ASKS] + told[-1:] if len(told) > MOST_ASKS else told:
            draft.add("question", "What is asked next", text)
        begins = study == Study(asks=study.asks) and not changed
        if wishes == {"courtesy"} and not changed and not asks:
            answer = courtesy(said[0].words)
            draft.lines += [answer] if answer and (begins or answer != HELLO) else []
        if begins:
            return self._begin(draft, bool(asks), wishes)
        if "summary" in wishes and isinstance(cohort, CannotBuild):
            draft.add("study", "The cohort so far", "\n".join(["The cohort so far:", *noted.lines(study)]))
        if question := read_back.ask(study):
            term = study.open_term if study.question == "concept" else None
            if term is not None and CHOOSE in request.tools:
                return replace(draft.reply(), tool_calls=[_choice(term)])
            if wishes & {"json", "send", "count", "confirm", "approve"}:
                draft.add("question", "What is asked next", "The cohort is not complete yet.")
            draft.add("question", "What is asked next", question)
            return draft.reply()
        if isinstance(cohort, CannotBuild):
            draft.add("question", "What is asked next", str(cohort))
            return draft.reply()
        if changed or wishes & {"count", "send", "confirm", "approve", "summary", "json", "name"}:
            return await self._proposals.show(draft, cohort, request, wishes, bool(changed))
        if not draft.lines:
            draft.add("cohort", "The cohort", "The cohort stands as it is.")
        return draft.reply()

    def _begin(self, draft: ReplyDraft, asked_back: bool, wishes: set[Wish]) -> AssistantReply:
        """Say what this is for, where nothing of a cohort has been said."""
        if wishes & {"json", "send", "confirm", "approve", "count", "summary", "name"}:
            draft.add("question", "What is asked next", f"There is no cohort yet.\n{read_back.ask(Study())}")
        elif draft.lines in ([], [HELLO]) or (asked_back and not wishes - {"courtesy"}):
            add_service(draft)
        return draft.reply()


def open_assistant(settings: ModelSettings) -> Hippocrates:
    """Open the assistant: its options name what it answers from, `models: {planner: ALIAS}` a model that fills slots.

    Raises:
        ModelSettingsError: An option is wrong, or what it names cannot be used.
    """
    return Hippocrates(open_sources(settings), plans=PLANNER in settings.models)


def _build(study: Study, name: str) -> Cohort | CannotBuild:
    try:
        return Cohort(name, build_cohort(study))
    except CannotBuild as problem:
        return problem


def _name(talk: Talk, study: Study) -> str:
    """Return what the user calls the cohort, else its entry events."""
    named = [
        one.argument for turn in sorted(talk.said) for one in talk.said[turn] if one.wish == "name" and one.argument
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
