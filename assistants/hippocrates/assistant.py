"""The assistant Hippocrates: replies to a researcher's messages with text, documents, tool calls and proposed actions.

reply ── turns        classifies each turn of the researcher
      ├── understand  asks a model to read each message once; without a model, form.py parses the message
      ├── discovery   finds the databases for a question
      ├── render      lists the changes, and asks the next question
      └── proposal    checks and counts a complete cohort, and proposes to send it
act   ── webapi       sends a confirmed cohort
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assistants import extract
from assistants.assistant import Action, AssistantError, AssistantReply, AssistantRequest, ToolRequest
from assistants.hippocrates import render
from assistants.hippocrates.checks import contradictions
from assistants.hippocrates.cohort import CannotBuild, build_cohort
from assistants.hippocrates.discovery import cohort_query, find_databases
from assistants.hippocrates.form import Form
from assistants.hippocrates.proposal import Cohort, Proposals
from assistants.hippocrates.query import Query, resolve
from assistants.hippocrates.reply_draft import ReplyDraft
from assistants.hippocrates.settings import Sources, open_sources
from assistants.hippocrates.turns import CHOOSE, Turn, read_turns
from assistants.hippocrates.understand import PLANNER, Step, Understander, model_reader
from assistants.hippocrates.webapi import WebApiError
from models.errors import ModelSettingsError
from models.settings import ModelSettings
from models.turn_scope import Principal

MOST_TURNS = 60
"""Maximum number of turns in a conversation. After these, the reply asks the user to begin a new conversation."""
MOST_DATABASES = 10
DETAIL = "trace"
"""Permission of an API key to see the number of persons per concept in each database."""
ANSWERED = 0.5
"""Minimum share of a question's words, from 0 to 1, that the sections must contain to be used as an answer."""
ASKED_NEXT = "What is asked next"
"""Title of the document that contains the questions in a reply."""
SERVICE = (
    "This service finds health databases and builds cohort definitions for research. "
    "Ask which databases have patients with a condition, a drug or a procedure, or say which patients a cohort should hold. "
    "It gives no medical advice, runs no SQL and shows no records of single persons."
)
PERSONAL = (
    "I am a research service and cannot help with a person's own health. Please talk to a doctor, or to somebody you trust; "
    "in danger, call your local emergency number."
)
UNREAD = "I could not read that message with certainty, so nothing was changed. Please say it in other words."
TOO_LONG = f"A conversation has at most {MOST_TURNS} messages. Please begin a new one, with the definition so far."
IN_OTHER_WORDS = "If it matters, please say it in other words."
SEARCHED_BY = "Databases are searched by concepts, countries and numbers of persons alone."
OTHER_CODE = "That code does not stand for the cohort as it is now."
NO_DATABASES = "No database of the catalogue was found for that."
SUGGESTED, ASKED = "Suggested by the language model:", "Asked by the language model:"
OF_COHORT = {"json", "count", "send"}
"""Requests of the researcher that need a cohort."""


@dataclass(frozen=True)
class _Context:
    """The data for writing a reply: the last turn, the steps before and after it, and the draft of the reply."""

    request: AssistantRequest
    turn: Turn
    previous: Step
    step: Step
    draft: ReplyDraft

    @property
    def wishes(self) -> set[str]:
        return set(self.step.understanding.wishes) if self.step.understanding else set()


class Hippocrates:
    """Finds health databases and builds cohorts. Between requests, it caches only how a model has read each message."""

    def __init__(self, sources: Sources, *, plans: bool = False) -> None:
        """Args:
        sources: The opened data of the assistant.
        plans: Whether a model reads the messages. Otherwise, the form parses them.
        """
        self._sources = sources
        self._understander = Understander(sources.vocabulary)
        self._form = Form(sources.vocabulary)
        self._proposals = Proposals(sources)
        self._plans = plans

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        turns, draft = read_turns(request.messages), ReplyDraft()
        if not turns or len(turns) > MOST_TURNS:
            draft.add("service", "What this service does", TOO_LONG if turns else SERVICE)
            return draft.reply()
        step = previous = Step()
        for number, turn in enumerate(turns):
            previous, step = step, await self._read(step, turns[:number], turn, request, is_last=turn is turns[-1])
        request.note("read", f"{len(turns)} turns, {'a model' if self._plans else 'the form'}")
        context = _Context(request, turns[-1], previous, step, draft)
        return self._confirm(context) or await self._answer(context)

    async def act(self, action: Action, principal: Principal) -> str:
        """Send a confirmed cohort to WebAPI.

        Raises:
            AssistantError: Sending failed. WebAPI may have stored a part of the cohort.
        """
        if self._sources.webapi is None:
            raise AssistantError("The cohort was not sent, because no WebAPI is configured (option `webapi`).")
        name, expression = action.arguments["name"], action.arguments["expression"]
        try:
            sent = await self._sources.webapi.send(name, expression)
        except WebApiError as error:
            raise AssistantError(str(error)) from error
        sets = ", ".join(map(str, sent.concept_set_ids))
        with_sets = f", with the concept set{'s' * (len(sent.concept_set_ids) > 1)} {sets}" if sets else ""
        return f"Sent: cohort definition {sent.cohort_id} “{name}”{with_sets}."

    async def close(self) -> None:
        """Cancel the counts that have not started. Running counts end by themselves."""
        self._proposals.close()

    async def _read(
        self, step: Step, earlier: Sequence[Turn], turn: Turn, request: AssistantRequest, *, is_last: bool
    ) -> Step:
        """Read another turn of the conversation, and return the step after it."""
        if turn.kind != "message":
            state = turn.choose(step.state, self._sources.vocabulary)
            before = step.before if state == step.state else step.state
            return replace(step, state=state, before=before, understanding=None, unused=(), unread=False, note="")
        if self._plans and request.ask_structured is not None:
            texts = [one.text for one in earlier if one.kind == "message"]
            reader = model_reader(request.ask_structured)
            return await self._understander.read(step, texts, turn.text, reader, is_last=is_last)
        return self._form.read(step, turn.text)

    def _cohort(self, step: Step) -> Cohort | CannotBuild:
        try:
            expression = build_cohort(step.state, self._sources.vocabulary)
        except CannotBuild as problem:
            return problem
        return Cohort(step.state.study.default_name, expression, render.describe(step.state, expression))

    def _lines(self, step: Step) -> list[str]:
        """Return the description of the current cohort, which may be unfinished, as lines of text."""
        return render.describe(step.state, build_cohort(step.state, self._sources.vocabulary, partial=True))

    def _confirm(self, context: _Context) -> AssistantReply | None:
        """Reply to a confirmation or a no. Return None for other turns, and for the confirmation of an outdated cohort."""
        turn, draft = context.turn, context.draft
        if turn.kind == "decline":
            draft.add("cohort", "The cohort", "It was not confirmed, and is not sent. Say what is to be changed.")
            return draft.reply()
        if turn.kind not in ("approve", "confirm"):
            return None
        cohort = self._cohort(context.step)
        if (
            isinstance(cohort, Cohort)
            and context.step.state.question is None
            and not context.step.left_out
            and cohort.action.code == turn.code
        ):
            if turn.kind == "approve":
                draft.add("cohort", "The cohort", f"Confirmed: the cohort “{cohort.name}”.")
                return self._proposals.propose(draft, cohort, context.request)
            if self._proposals.may_be_sent(cohort):
                return AssistantReply("Thank you.", ["no_claims"], action=replace(cohort.action, confirmed=True))
        draft.add("service", "What this service does", OTHER_CODE)
        return None

    async def _answer(self, context: _Context) -> AssistantReply:
        """Reply to a message: report the changes to the cohort, answer the researcher's questions, and ask the next one."""
        draft, step = context.draft, context.step
        changes = render.difference(self._lines(context.previous), self._lines(step))
        if changes:
            draft.add("study", "The cohort so far", "\n".join(["Noted:", *(f"- {line}" for line in changes)]))
            expression = build_cohort(step.state, self._sources.vocabulary, partial=True)
            for problem in contradictions(expression, self._sources.vocabulary):
                draft.add("checks", "Checks", f"{problem.where.capitalize()}: {problem.text}")
        if step.unread:
            draft.add("question", ASKED_NEXT, UNREAD)
        if step.note:
            draft.add("question", ASKED_NEXT, step.note)
        self._say_what_is_left(context)
        self._answer_wishes(context)
        question = render.ask(step.state) if self._plans else self._form.question(step.state)
        asks_else = (context.wishes - {"summary"} or step.query is not None) and not context.wishes & OF_COHORT
        if not step.state.study.entry and not changes and asks_else and not step.note and draft.lines:
            return draft.reply()  # the conversation is not about a cohort yet
        if step.state.question is not None:
            return _ask(context, question)
        if step.left_out:
            return draft.reply()  # a cohort with open questions is not confirmed
        cohort = self._cohort(step)
        about_cohort = context.wishes & (OF_COHORT | {"summary"}) or context.turn.kind != "message"
        shown = AssistantReply()
        if isinstance(cohort, CannotBuild):
            draft.add("question", ASKED_NEXT, str(cohort))
        elif changes or about_cohort or not draft.lines:
            shown = await self._proposals.show(draft, cohort, context.request, context.wishes, bool(changes))
        if question and "json" not in context.wishes:
            draft.add("question", ASKED_NEXT, question)
        return replace(draft.reply(), tool_calls=shown.tool_calls, action=shown.action)

    def _say_what_is_left(self, context: _Context) -> None:
        """Add to the reply which parts of the message were not used, cannot be expressed, or are unclear."""
        step, draft, understanding = context.step, context.draft, context.step.understanding
        not_expressible = understanding.not_expressible if understanding else ()
        unused = [one for one in dict.fromkeys(step.unused) if one not in {other.words for other in not_expressible}]
        if unused:
            pieces = ", ".join(f"“{one}”" for one in unused)
            remedy = SEARCHED_BY if understanding and understanding.query else IN_OTHER_WORDS
            draft.add("question", ASKED_NEXT, f"Not used: {pieces}. {remedy}")
        for one in not_expressible:
            nearest = f" {SUGGESTED} {one.nearest}" if one.nearest else ""
            draft.add("question", ASKED_NEXT, f"A cohort definition cannot hold “{one.words}”.{nearest}")
        for unclear in step.left_out:
            draft.add("question", ASKED_NEXT, f"“{unclear.words}” is unclear. {ASKED} {unclear.question}")

    def _answer_wishes(self, context: _Context) -> None:
        """Answer the researcher's questions: about databases by a search, others from sections or with a service description."""
        understanding, draft = context.step.understanding, context.draft
        if understanding is None:
            return
        if understanding.query is not None:
            self._search(context, understanding.query)
        if "summary" in context.wishes and context.step.state.question is not None:
            draft.add("study", "The cohort so far", "\n".join(["The cohort so far:", *self._lines(context.step)]))
        if "courtesy" in context.wishes and not draft.lines and context.step.state.study.entry:
            draft.lines.append("Glad to help.")
        if "question" in context.wishes:
            answer = extract.answer(context.turn.text, "", context.request.view.sections)
            if answer is not None and answer.coverage >= ANSWERED:
                draft.lines.append(answer.text)
                draft.citations += answer.ids
            elif understanding.query is None:
                draft.add("service", "What this service does", SERVICE)
        if "personal" in context.wishes:
            draft.add("service", "What this service does", PERSONAL)
        has_answer = draft.lines or context.wishes & OF_COHORT or context.step.state.study.entry
        if "help" in context.wishes or (context.wishes and not has_answer):
            draft.add("service", "What this service does", SERVICE)

    def _search(self, context: _Context, query: Query) -> None:
        sources, state = self._sources, context.step.state
        resolved = resolve(query, sources.vocabulary, sources.catalogue, context.step.english)
        resolved = cohort_query(state, resolved) if query.of_cohort else resolved
        detail = DETAIL in context.request.principal.permissions
        result = find_databases(sources.catalogue, sources.vocabulary, resolved, detail=detail)
        context.request.note("databases", f"{len(result.matches)} of {result.searched}")
        search, *databases = result.documents(MOST_DATABASES)
        lines = [search.text]
        if not result.matches:
            lines.append(NO_DATABASES)
        elif len(result.matches) > len(databases):
            remedy = f"Narrow the search by a country{' or a size' * self._plans}."
            lines.append(f"The first {len(databases)} are listed here. {remedy}")
        context.draft.add("search", search.title, "\n".join([*lines, *result.warnings]))
        for number, document in enumerate(databases, start=1):
            text = document.text.replace(" By concept: ", "\nBy concept: ", 1)
            context.draft.add(document.id, document.title, f"{number}. {text}")


def _ask(context: _Context, question: str) -> AssistantReply:
    """End the reply with the next question. To ask for concepts, call a tool if the request declares it."""
    term = next(iter(context.step.state.open_terms), None)
    if term is not None and term.candidates and CHOOSE in context.request.tools:
        keys = ("concept_id", "name", "domain", "vocabulary")
        offered = [(one.concept_id, one.name, one.domain_id, one.vocabulary_id) for one in term.candidates]
        candidates = [dict(zip(keys, one, strict=True)) for one in offered]
        call = ToolRequest(CHOOSE, {"words": term.words, "candidates": candidates})
        return replace(context.draft.reply(), tool_calls=[call])
    if context.wishes & OF_COHORT:
        lacks = "The cohort is not complete yet." if context.step.state.study.entry else "There is no cohort yet."
        context.draft.add("question", ASKED_NEXT, lacks)
    context.draft.add("question", ASKED_NEXT, question)
    return context.draft.reply()


def open_assistant(settings: ModelSettings) -> Hippocrates:
    """Open the assistant and its data. With `models: {planner: ALIAS}`, a model reads the messages instead of the form.

    Raises:
        ModelSettingsError: An option is invalid, or the data that it names cannot be used.
    """
    if unknown := sorted(settings.models.keys() - {PLANNER}):
        raise ModelSettingsError(f"models: unknown role {unknown[0]!r} (expected {PLANNER!r})")
    return Hippocrates(open_sources(settings), plans=PLANNER in settings.models)
