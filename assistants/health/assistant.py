"""Health: answers questions about a person's own data. A planner chooses tasks, code runs them, a writer says what they found.

reply ── _recall            what was run for earlier messages of the conversation (memory.py)
      ├── plan              rounds of planning, validating, running (planner.py, plan.py, executor.py)
      ├── _write            a language model writes what was found (writer.py)
      └── _reply_recorded   without a model: the findings of a demo question, line by line (recorded.py)
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain

from assistants.assistant import AskStructured, AssistantReply, AssistantRequest, Document
from assistants.health.access import Access, AccessRefusedError
from assistants.health.demo import demo_folder
from assistants.health.executor import Executor, Run
from assistants.health.memory import Memory
from assistants.health.plan import Plan, find_problems, references
from assistants.health.planner import ROLE as PLANNER
from assistants.health.planner import Planner, Situation, open_planner
from assistants.health.recorded import find_recorded, load_recorded
from assistants.health.settings import load_tasks, read_options
from assistants.health.sources import DataError, Subjects
from assistants.health.task import Passage
from assistants.health.writer import ROLE as WRITER
from assistants.health.writer import list_findings, translate, write
from knowledge_base.library import KnowledgeBaseError, load
from models.errors import ModelSettingsError
from models.settings import ModelSettings
from models.turn_scope import Principal

MOST_QUESTION = 4_000
"""Characters of a message that are planned for."""
MOST_RECALLED, MOST_KEPT = 20, 12
"""Messages of a conversation, and runs of these, that a follow-up can refer to."""
REUSED_S = 600.0
"""Seconds for which the runs of the same messages are used again."""
DEMO_NOTICE = "These are synthetic demo data, not those of a person."


class Health:
    """The assistant. It keeps what it ran, by API key and conversation (memory.py), and nothing else."""

    def __init__(
        self, executor: Executor, memory: Memory, access: Access, planner: Planner | None, *, rounds: int, is_demo: bool
    ) -> None:
        """Args:
        planner: None without a language model: the demo questions alone are answered.
        rounds: Plans for one message, at most.
        is_demo: Whether the data are the demo data.
        """
        self._executor, self._memory, self._access = executor, memory, access
        self._planner, self._rounds, self._is_demo = planner, rounds, is_demo
        self._tasks = executor.tasks
        self._areas = "; ".join(task.title for task in self._tasks.values())

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        view, principal = request.view, request.principal
        messages = [*(one.user for one in view.earlier), view.question]
        earlier = self._recall(principal, messages)
        if self._planner is None or request.ask_structured is None:
            return await self._reply_recorded(request, messages, earlier)
        runs = self._memory.get(principal, messages, within_s=REUSED_S)
        if runs is None or not self._executor.is_current(runs) or len(runs) != len(self._permitted(principal, runs)):
            planned = await self.plan(request, request.ask_structured, earlier)
            if isinstance(planned, str):
                return AssistantReply(planned)
            runs = planned
            self._memory.put(principal, messages, runs)
        return await self._write(request, request.ask_structured, earlier, runs)

    def _recall(self, principal: Principal, messages: Sequence[str]) -> list[Run]:
        """Return what was run for earlier messages of the conversation, as far as the user may still see it."""
        counts = range(max(1, len(messages) - MOST_RECALLED), len(messages))
        runs = [run for count in counts for run in self._memory.get(principal, messages[:count]) or ()]
        return [replace(run, step=f"e{n}") for n, run in enumerate(self._permitted(principal, runs)[-MOST_KEPT:], 1)]

    def _permitted(self, principal: Principal, runs: Sequence[Run]) -> list[Run]:
        permitted = []
        for run in runs:
            try:
                if run.subject:
                    self._access.choose(principal, run.subject, run.sources, date.today())
            except AccessRefusedError:
                continue
            permitted.append(run)
        return permitted

    async def close(self) -> None:
        """End the threads and close the file of conversations."""
        self._executor.close()
        self._memory.close()

    async def plan(self, request: AssistantRequest, ask: AskStructured, earlier: Sequence[Run]) -> list[Run] | str:
        """Return what was run for a message, or a question to the user.

        Args:
            earlier: What was run before in the conversation.
        """
        assert self._planner is not None
        runs: list[Run] = []
        problems: list[str] = []
        subjects = self._access.allowed(request.principal)
        said = "\n".join((*chain(*((one.user, one.reply) for one in request.view.earlier)), request.view.question))
        for _ in range(self._rounds):
            situation = Situation(
                request.view.question[:MOST_QUESTION], request.view.earlier, self._tasks, subjects,
                f"{date.today():%Y-%m-%d, %A}", (*earlier, *runs), problems,
            )  # fmt: skip
            plan = await self._planner.plan(ask, situation)
            request.note("plan", plan.model_dump_json(exclude_defaults=True))
            if plan.ask:
                return plan.ask
            problems = find_problems(plan, self._tasks, _steps((*earlier, *runs)), said)
            if problems:
                request.note("plan refused", "; ".join(problems))
                continue
            new = await self._executor.run(plan, request.principal, (*earlier, *runs))
            for run in new:
                request.note("task", f"{run.explained}: {run.problem or 'done'} ({run.ms:.0f} ms)")
            runs += new
            if not plan.again and not any(run.is_correctable for run in new):
                break
        return runs

    async def _write(
        self, request: AssistantRequest, ask: AskStructured, earlier: Sequence[Run], runs: Sequence[Run]
    ) -> AssistantReply:
        passages = {one.id: one for one in chain.from_iterable(_passages(run) for run in (*earlier, *runs))}
        given = {section.id for section in request.view.sections}
        for name in passages:
            if name not in given and name in request.view.catalogue:
                return AssistantReply(requested_section=name)
        notes = [self._tasks[run.task].notes_for_writer for run in (*earlier, *runs)]
        notes += [DEMO_NOTICE] if self._is_demo and runs else []
        written = await write(
            ask, request.view, earlier, runs, [*passages.values()], self._areas, keep_to=filter(None, notes)
        )
        documents = _documents([*earlier, *runs], passages, is_demo=self._is_demo)
        cited = [name for name in written.sections if name in passages and name in given]
        return AssistantReply(written.reply, [*cited, *(one.id for one in documents)], documents)

    async def _reply_recorded(
        self, request: AssistantRequest, messages: Sequence[str], earlier: Sequence[Run]
    ) -> AssistantReply:
        """Answer a demo question by its recorded plan, the findings line by line."""
        found = find_recorded(request.view.question)
        if found is None:
            questions = [wording for one in load_recorded() for wording in one.questions.get("en", ())[:1]]
            return _say(_no_model(questions))
        recorded, language = found
        plan = recorded.plan
        request.note("plan", plan.model_dump_json(exclude_defaults=True))
        before = [*earlier, *_newest(plan, earlier)]
        runs = []
        if not find_problems(plan, self._tasks, _steps(before)):
            runs = await self._executor.run(plan, request.principal, before)
        self._memory.put(request.principal, messages, runs)
        if recorded.shows == "tasks":
            lines = [*dict.fromkeys(run.explained for run in earlier)]
        elif recorded.shows == "references":
            lines = [*dict.fromkeys(chain.from_iterable(_references(run) for run in earlier))]
        else:
            lines = list_findings(runs, language)
            lines += [translate(DEMO_NOTICE, language)] if lines and self._is_demo else []
        return _say("\n".join(lines) or translate(NOTHING, language))


NOTHING = "There is nothing to show for this in the conversation yet."


def _say(text: str) -> AssistantReply:
    """Return a reply that no model wrote: it is its own evidence."""
    findings = Document("findings", "Findings", text)
    return AssistantReply(text, [findings.id], [findings])


def _no_model(questions: Sequence[str]) -> str:
    return "\n".join(
        (
            "No language model is set up, so I answer the demo questions alone:",
            *(f"- {question}" for question in questions),
            "To ask your own questions, name a model under `models` of the alias `health` in config.yaml (docs/health_agent.md).",
        )
    )


def _steps(runs: Sequence[Run]) -> dict[str, str]:
    return {run.step: run.task for run in runs}


def _newest(plan: Plan, earlier: Sequence[Run]) -> list[Run]:
    """Return, as step `last`, the newest earlier run with a field that the plan refers to as `$last.field`."""
    fields = {name for step in plan.steps for ident, name in references(step) if ident == "last"}
    runs = [run for run in earlier if run.result and fields and fields <= type(run.result).model_fields.keys()]
    return [replace(runs[-1], step="last")] if runs else []


def _passages(run: Run) -> Sequence[Passage]:
    return getattr(run.result, "passages", ()) if run.result is not None else ()


def _references(run: Run) -> Iterator[str]:
    """Yield the references of sections and guidelines that a step found."""
    yield from (reference for one in _passages(run) for reference in one.references)
    if run.result is not None:
        yield from (str(figure.value) for figure in run.result.figures() if figure.name == "reference")


def _documents(runs: Sequence[Run], passages: Mapping[str, Passage], *, is_demo: bool) -> list[Document]:
    """Return what a reply rests on: the findings of each subject, what was run, sections. No text that a planner wrote is in it."""
    documents = []
    for subject in dict.fromkeys(run.subject for run in runs):
        own = [run for run in runs if run.subject == subject and not run.is_correctable]
        lines = [*list_findings(own, "en"), *(f"Used: {run.explained}." for run in own)]
        lines += [DEMO_NOTICE] if is_demo else []
        title = f"Findings in the data of {subject}" if subject else "Findings"
        documents.append(Document(f"findings:{subject}", title, "\n".join(lines)))
    documents += [
        Document(f"section:{one.id}", one.title, "\n".join((one.text, *one.references))) for one in passages.values()
    ]
    return documents


def open_assistant(settings: ModelSettings) -> Health:
    """Open the assistant; with `models: {planner: ALIAS, writer: ALIAS}` it answers more than the demo questions.

    Raises:
        ModelSettingsError: An option is wrong, or what it names cannot be used.
    """
    if unknown := sorted(settings.models.keys() - {PLANNER, WRITER}):
        raise ModelSettingsError(f"models: the assistant asks no {unknown[0]!r} (expected {PLANNER} and {WRITER})")
    if len(settings.models) == 1:
        raise ModelSettingsError(f"models: name both {PLANNER} and {WRITER}; one alias may be both")
    options = read_options(settings)
    tasks, _ = load_tasks(options.tasks, options.task_modules)
    try:
        subjects = Subjects(options.data or demo_folder())
        known = tuple(subjects.ids())
        sections = load(options.knowledge_base)
    except (DataError, KnowledgeBaseError) as error:
        raise ModelSettingsError(f"{'data' if isinstance(error, DataError) else 'knowledge_base'}: {error}") from error
    for option, named in (("access", [*chain(*(options.access or {}).values())]), ("consent", [*options.consent])):
        if unknown := sorted(set(named) - set(known)):
            raise ModelSettingsError(f"{option}: there is no subject {unknown[0]!r} in the data folder")
    access = Access(options.access or {"*": known}, options.consent)
    executor = Executor(tasks, subjects, access, {"sections": sections})
    try:
        memory = Memory(options.memory, tasks, options.memory_hours * 3600)
    except (OSError, sqlite3.Error) as error:
        raise ModelSettingsError(f"memory: {options.memory}: {error}") from error
    planner = open_planner(options.planner) if settings.models else None
    return Health(executor, memory, access, planner, rounds=options.rounds, is_demo=options.data is None)
