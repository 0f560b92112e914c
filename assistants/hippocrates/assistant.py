"""Hippocrates behind the proxy: messages in; text, the documents that it rests on, tool calls and a proposed action out.

reply ── talk         what each sentence is for; the study is folded from the rest
      ├── discovery   which databases have such patients
      ├── noted, read_back   what the message changed, and what is asked next
      └── proof       a cohort that is complete: checked, counted, and proposed to be sent
act   ── webapi       sends it, once it is confirmed
"""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import aiohttp

from assistants import extract
from assistants.assistant import (
    Action,
    AssistantError,
    AssistantReply,
    AssistantRequest,
    Document,
    ToolRequest,
)
from assistants.hippocrates import noted, read_back
from assistants.hippocrates.checks import check
from assistants.hippocrates.cohort import CannotBuild, Json, build_cohort, digest
from assistants.hippocrates.discovery import find_databases
from assistants.hippocrates.grammar import Grammar
from assistants.hippocrates.planner import PLANNER, plan
from assistants.hippocrates.proof import Counter
from assistants.hippocrates.query import Query, parse_query
from assistants.hippocrates.settings import Sources, open_sources
from assistants.hippocrates.study import Study, fold
from assistants.hippocrates.talk import TOOL, Said, Talk, Wish, read_turns
from assistants.hippocrates.webapi import Confirmed, WebApiError
from models.settings import ModelSettings
from models.turn_scope import Principal

DETAIL = "trace"
"""The permission with which a reply names the counts of each concept in each database."""
MOST_DATABASES = 10
MOST_ASKS = 5
"""How many sentences of a message are asked back; the last one, which may say that there were too many, is told in any case."""
MOST_ANSWERS = 3
"""How many questions of a message are answered."""
ANSWERED = 0.5
"""The share of a question that the sections must speak of to be an answer to it."""
SEND = "send_to_atlas"
SERVICE = (
    "This service finds health databases and builds cohort definitions for research. "
    "Ask which databases have patients with a condition, a drug or a procedure, or say which patients a cohort should hold, "
    "such as “patients with gastrointestinal hemorrhage, with 365 days of prior observation”. "
    "It gives no medical advice and shows no records of single persons."
)
NO_DATABASES = "No database of the catalogue was found for that."
NOT_NAMED = "Name a condition, a drug, a procedure, a country or a size to look for databases."


@dataclass(slots=True)
class _Draft:
    """A reply as it comes together: every line of it stands in a document."""

    lines: list[str] = field(default_factory=list)
    documents: dict[str, Document] = field(default_factory=dict)
    citations: list[str] = field(default_factory=list)

    def add(self, name: str, title: str, text: str) -> None:
        """Add a text that was not said yet, and have it stand in a document of this name and title."""
        if text in self.lines:
            return
        self.lines.append(text)
        before = self.documents.get(name)
        self.documents[name] = Document(name, title, f"{before.text}\n{text}" if before else text)

    def reply(self) -> AssistantReply:
        cited = [*self.citations, *self.documents]
        return AssistantReply("\n".join(self.lines), cited or ["no_claims"], [*self.documents.values()])


@dataclass(frozen=True, slots=True)
class _Cohort:
    """A cohort that is complete."""

    name: str
    expression: Json


class Hippocrates:
    """Finds databases and builds cohorts. It keeps nothing of a conversation."""

    def __init__(self, sources: Sources, *, plans: bool = False) -> None:
        """Args:
        sources: what it answers from.
        plans: whether a model reads what the grammar does not.
        """
        self._sources = sources
        self._grammar = Grammar(sources.vocabulary)
        self._counter = Counter(sources.cdm, sources.cdm_is_demo)
        self._plans = plans

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        turns, choices = read_turns(request.messages)
        talk = Talk(self._grammar, self._sources.vocabulary, choices)
        if self._plans and request.ask_structured is not None:
            study = await plan(request.ask_structured, turns, talk)
        else:  # beside the event loop: conversations may be long
            study = await asyncio.to_thread(fold, turns, talk)
        last = len(turns) - 1
        said = talk.said.get(last, ())
        before = talk.before.get(last, Study())
        request.note("read", f"{len(noted.lines(study))} lines of the cohort, {len(said)} other sentences")
        cohort = _build(study, _name(talk, study))
        draft = _Draft()
        for one in said:
            if one.wish == "confirm":
                action = self._action(cohort) if isinstance(cohort, _Cohort) else None
                if action is not None and action.code == one.argument.casefold():
                    return AssistantReply("Thank you.", ["no_claims"], action=replace(action, confirmed=True))
                draft.add("service", "What this service does", "That code does not stand for the cohort as it is now.")
        for one in _answered(said):
            self._answer(draft, one, request, talk, last)
        if sum(one.wish == "databases" for one in said) > 1:
            draft.add("search", "The search", "Please ask about databases one question at a time.")
        return await self._go_on(draft, request, study, before, said, cohort)

    async def act(self, action: Action, principal: Principal) -> str:
        """Send a confirmed cohort to WebAPI.

        Raises:
            AssistantError: It was not sent, or not wholly.
        """
        if self._sources.webapi is None:
            raise AssistantError("no WebAPI is configured")
        given = action.arguments
        try:
            cohort = Confirmed.of(given["name"], given["expression"], given["digest"])
            async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
                sent = await self._sources.webapi.send(session, cohort)
        except (WebApiError, ValueError) as error:
            raise AssistantError(str(error)) from error
        sets = ", ".join(map(str, sent.concept_set_ids))
        with_sets = (
            f", with the concept sets {sets}" if len(sent.concept_set_ids) > 1 else f", with the concept set {sets}"
        )
        return f"Sent: cohort definition {sent.cohort_id} “{cohort.name}”{with_sets if sets else ''}."

    async def close(self) -> None:
        """Nothing to let go of."""

    def _answer(self, draft: _Draft, one: Said, request: AssistantRequest, talk: Talk, turn: int) -> None:
        """Answer a sentence that says nothing of the cohort."""
        match one.wish:
            case "databases":
                self._find(draft, one, request, talk, turn)
            case "help":
                draft.add("service", "What this service does", SERVICE)
            case "question":
                found = _from_sections(one.words, request)
                if found is not None:
                    draft.lines.append(found.text)
                    draft.citations += found.ids
                elif self._is_search(one.words):
                    self._find(draft, one, request, talk, turn)
                else:
                    draft.add("service", "What this service does", SERVICE)

    def _is_search(self, words: str) -> bool:
        """Tell whether a question asks who has something that the vocabulary has a name for."""
        if not re.match(r"(?:which|where|who|find|are there|is there|do (?:you|we) have|any)\b", words, re.IGNORECASE):
            return False
        query = parse_query(words, self._sources.vocabulary, self._sources.catalogue.locations)
        return any(wanted.how == "name" for wanted in query.wanted)

    def _query(self, one: Said, talk: Talk, turn: int) -> Query:
        """Read a question; what it leaves out ("And in Spain?") the last one before it says."""
        places = self._sources.catalogue.locations
        query = parse_query(_without_lead(one.words), self._sources.vocabulary, places)
        if query.wanted or query.unknown or not re.match(r"(?:and|what about|how about)\b", one.words, re.IGNORECASE):
            return query
        for earlier in range(turn - 1, -1, -1):
            for other in talk.said.get(earlier, ()):
                if other.wish == "databases":
                    old = self._query(other, talk, earlier)
                    return replace(
                        old,
                        countries=query.countries or old.countries,
                        min_persons=query.min_persons or old.min_persons,
                        min_patients=query.min_patients or old.min_patients,
                    )
        return query

    def _find(self, draft: _Draft, one: Said, request: AssistantRequest, talk: Talk, turn: int) -> None:
        query = self._query(one, talk, turn)
        detail = DETAIL in request.principal.permissions
        found = find_databases(self._sources.catalogue, self._sources.vocabulary, query, detail=detail)
        request.note("databases", f"{len(found.matches)} of {found.searched}")
        search, *databases = found.documents(MOST_DATABASES)
        lines = [search.text]
        if not found.matches:
            named = query.wanted or query.countries or query.min_persons or query.unknown
            lines.append(NO_DATABASES if named else NOT_NAMED)
        elif len(found.matches) > len(databases):
            lines.append(f"The first {len(databases)} are listed here.")
        lines += found.warnings
        draft.add("search", search.title, "\n".join(lines))
        for number, document in enumerate(databases, start=1):
            summary, _, counts = document.text.partition(" By concept: ")
            draft.add(
                document.id, document.title, f"{number}. {summary}" + (f"\nBy concept: {counts}" if counts else "")
            )

    async def _go_on(
        self,
        draft: _Draft,
        request: AssistantRequest,
        study: Study,
        before: Study,
        said: Sequence[Said],
        cohort: "_Cohort | CannotBuild",
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
        if study == Study(asks=study.asks) and not changed:
            return self._begin(draft, bool(asks), wishes)
        if "summary" in wishes and isinstance(cohort, CannotBuild):
            draft.add("study", "The cohort so far", "\n".join(["The cohort so far:", *noted.lines(study)]))
        if question := read_back.ask(study):
            term = study.open_term if study.question == "concept" else None
            if term is not None and TOOL in request.tools:
                candidates = [
                    {
                        "concept_id": one.concept_id,
                        "name": one.name,
                        "domain": one.domain_id,
                        "vocabulary": one.vocabulary_id,
                    }
                    for one in term.candidates
                ]
                call = ToolRequest(TOOL, {"words": term.words, "candidates": candidates})
                return replace(draft.reply(), tool_calls=[call])
            if wishes & {"json", "send", "count", "confirm"}:
                draft.add("question", "What is asked next", "The cohort is not complete yet.")
            draft.add("question", "What is asked next", question)
            return draft.reply()
        if isinstance(cohort, CannotBuild):
            draft.add("question", "What is asked next", str(cohort))
            return draft.reply()
        if changed or wishes & {"count", "send", "confirm", "summary", "json", "name"}:
            return await self._complete(draft, cohort, wishes, bool(changed))
        if not draft.lines:
            draft.add("cohort", "The cohort", "The cohort stands as it is.")
        return draft.reply()

    def _begin(self, draft: _Draft, asked_back: bool, wishes: set[Wish]) -> AssistantReply:
        """Say what this is for, where nothing of a cohort has been said."""
        if wishes & {"json", "send", "confirm", "count", "summary", "name"}:
            draft.add("question", "What is asked next", f"There is no cohort yet.\n{read_back.ask(Study())}")
        elif not draft.lines or (asked_back and not wishes - {"courtesy"}):
            if wishes == {"courtesy"}:
                draft.lines.append("Hello.")
            draft.add("service", "What this service does", SERVICE)
        return draft.reply()

    async def _complete(self, draft: _Draft, cohort: _Cohort, wishes: set[Wish], changed: bool) -> AssistantReply:
        """Show a cohort that can be confirmed, and propose to send it."""
        if wishes == {"json"} and not changed:
            draft.add("expression", "The cohort expression", _fenced(cohort.expression))
            return draft.reply()
        problems = check(cohort.expression, self._sources.vocabulary)
        described = read_back.describe(cohort.expression)
        draft.add("cohort", "The cohort in plain English", f"The cohort “{cohort.name}” in plain English:\n{described}")
        if problems:
            told = [
                f"- {'Error' if one.severity == 'error' else 'Warning'}: {one.where}: {one.text}" for one in problems
            ]
            draft.add("checks", "Checks", "\n".join(["The checks found:", *told]))
        else:
            draft.add("checks", "Checks", "The checks found nothing.")
        if any(one.severity == "error" for one in problems):
            draft.add("checks", "Checks", "With an error the cohort is not sent.")
            return draft.reply()
        counted = await self._counter.count(cohort.expression)
        if counted.problem:
            draft.add("counts", "Counted on the CDM", f"The cohort could not be counted: {counted.problem}")
        else:
            draft.add("counts", "Counted on the CDM", "\n".join(counted.lines))
        if "json" in wishes:
            draft.add("expression", "The cohort expression", _fenced(cohort.expression))
        if self._sources.webapi is None:
            if wishes & {"send", "confirm"}:
                draft.add("service", "What this service does", _NOT_SENT)
            return draft.reply()
        return replace(draft.reply(), action=self._action(cohort))

    def _action(self, cohort: _Cohort) -> Action | None:
        """Return the action that sends a cohort; None where there is nowhere to send it, or its checks found an error."""
        if self._sources.webapi is None:
            return None
        if any(one.severity == "error" for one in check(cohort.expression, self._sources.vocabulary)):
            return None
        arguments = {"name": cohort.name, "digest": digest(cohort.expression), "expression": cohort.expression}
        return Action(SEND, arguments, prompt="To send exactly this cohort to ATLAS, answer: confirm {code}")


_NOT_SENT = "Sending to ATLAS is not set up here. Ask for the JSON to import the cohort there."


def open_assistant(settings: ModelSettings) -> Hippocrates:
    """Open the assistant: its options name what it answers from, `models: {planner: ALIAS}` a model that fills slots.

    Raises:
        ModelSettingsError: An option is wrong, or what it names cannot be used.
    """
    return Hippocrates(open_sources(settings), plans=PLANNER in settings.models)


def _answered(said: Sequence[Said]) -> list[Said]:
    """Return the sentences that are answered: of searches the first, whose databases are as many as documents may be."""
    searches = [one for one in said if one.wish == "databases"]
    others = [one for one in said if one.wish != "databases"]
    return [*searches[:1], *others[:MOST_ANSWERS]]


def _build(study: Study, name: str) -> "_Cohort | CannotBuild":
    try:
        return _Cohort(name, build_cohort(study))
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


def _from_sections(question: str, request: AssistantRequest) -> extract.Answer | None:
    found = extract.answer(question, "", request.view.sections)
    return found if found is not None and found.coverage >= ANSWERED else None


def _without_lead(words: str) -> str:
    return re.sub(r"^(?:and|what about|how about)\b\s*", "", words, flags=re.IGNORECASE)


def _fenced(expression: Json) -> str:
    return f"```\n{json.dumps(expression)}\n```"
