"""The assistant Health. A planner chooses tasks, code runs them on a person's data, and a writer states their results.

reply ── _recall            loads the runs of earlier messages in the conversation (memory.py)
      ├── plan              plans, checks the plan and runs it, in several rounds if needed (planner.py, plan.py, executor.py)
      ├── _write            asks a language model to write the reply (writer.py)
      └── _reply_recorded   answers a demo question if no model is configured (recorded.py)
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import date
from itertools import chain

from assistants.assistant import AskStructured, AssistantReply, AssistantRequest, Document
from assistants.attachments import AttachmentError, read_files, read_pictures
from assistants.health.access import UPLOAD, Access, AccessRefusedError
from assistants.health.demo import demo_folder
from assistants.health.executor import Executor, Run
from assistants.health.memory import Memory
from assistants.health.plan import find_problems
from assistants.health.planner import ROLE as PLANNER
from assistants.health.planner import Planner, Situation, open_planner, read_prompt
from assistants.health.recorded import find_last, find_recorded, list_questions, offer_recorded
from assistants.health.settings import load_tasks, read_options, read_prompts
from assistants.health.sources import DataError, Subjects
from assistants.health.task import Passage
from assistants.health.uploads import RULES, VISION, Uploads, look
from assistants.health.writer import DEMO_NOTICE, list_documents, passages_of, write
from assistants.health.writer import ROLE as WRITER
from knowledge_base.library import KnowledgeBaseError, load
from models.errors import ModelSettingsError
from models.settings import ModelSettings
from models.turn_scope import Principal

MOST_QUESTION = 4_000
"""Maximum number of characters of a message that the planner gets."""
MOST_RECALLED, MOST_KEPT = 20, 12
"""Maximum number of earlier messages, and of their runs, that a follow-up question can refer to."""
REUSED_S = 600.0
"""Seconds for which a repeated request with the same messages reuses the stored runs."""


class Health:
    """Answers questions about a person's health data. Between requests it stores only the runs of conversations (memory.py)."""

    def __init__(
        self, executor: Executor, memory: Memory, access: Access, planner: Planner | None, *, rounds: int, is_demo: bool,
        prompts: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Args:
        planner: None if no language model is configured. The assistant then answers only the demo questions.
        rounds: Maximum number of plans for one message.
        is_demo: Whether the data folder contains the demo data.
        prompts: By name, the texts that replace prompts/*.md.
        """
        self._executor, self._memory, self._access = executor, memory, access
        self._planner, self._rounds, self._is_demo = planner, rounds, is_demo
        self._tasks = executor.tasks
        areas, self._prompts = "; ".join(task.title for task in self._tasks.values()), prompts or {}
        self._writer_prompt = read_prompt(WRITER, self._prompts).replace("{areas}", areas)

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        try:
            pictures = await asyncio.to_thread(read_pictures, request)
            files = await asyncio.to_thread(read_files, request, RULES)
            uploads = await asyncio.to_thread(Uploads, self._executor.subjects, files) if files else None
        except AttachmentError as error:
            return _say(str(error))
        if pictures:
            return _say(await look(request, pictures))
        return await (self if uploads is None else self._with(uploads, request.principal))._answer(request)

    def _with(self, uploads: Subjects, principal: Principal) -> "Health":
        """Return a copy of the assistant that can read the files in a request, as the subject `upload`."""
        other = copy(self)
        other._access = replace(self._access, subjects={"*": (*self._access.allowed(principal), UPLOAD)})
        other._executor = self._executor.lend(uploads, other._access)
        return other

    async def _answer(self, request: AssistantRequest) -> AssistantReply:
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
            self._memory.put(principal, messages, runs, request.conversation_id)
        return await self._write(request, request.ask_structured, earlier, runs)

    def _recall(self, principal: Principal, messages: Sequence[str]) -> list[Run]:
        """Return the runs of earlier messages in the conversation, except those of data that the user may no longer see."""
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
            if run.subject != UPLOAD or self._executor.is_current([run]):  # the file may be another one now
                permitted.append(run)
        return permitted

    async def erase(self, conversation_ids: Collection[str] | None) -> int:
        """Erase the stored runs of conversations (None: of all), and all cached results. Return the number of erased rows."""
        self._executor.forget()
        return self._memory.store.erase(conversation_ids)

    async def close(self) -> None:
        """Stop the executor's threads and processes, and close the file with the runs."""
        self._executor.close()
        self._memory.store.close()

    async def plan(self, request: AssistantRequest, ask: AskStructured, earlier: Sequence[Run]) -> list[Run] | str:
        """Plan and run tasks for a message. Return the runs, or a question to the user if the planner asks one.

        Args:
            earlier: Runs of earlier messages in the conversation.
        """
        assert self._planner is not None
        runs: list[Run] = []
        problems: list[str] = []
        subjects = self._access.allowed(request.principal)
        exchanges = (f"{one.user}\n{one.reply}" for one in request.view.earlier)
        said = "\n".join((*exchanges, request.view.question))
        for _ in range(self._rounds):
            situation = Situation(
                request.view.question[:MOST_QUESTION], request.view.earlier, self._tasks, subjects,
                f"{date.today():%Y-%m-%d, %A}", (*earlier, *runs), problems, self._prompts,
            )  # fmt: skip
            plan = await self._planner.plan(ask, situation)
            request.note("plan", plan.model_dump_json(exclude_defaults=True))
            if plan.ask:
                return plan.ask
            problems = find_problems(plan, self._tasks, {run.step: run.task for run in (*earlier, *runs)}, said)
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
        every = [*earlier, *runs]
        passages = {one.id: one for run in every for one in passages_of(run)}
        given = {section.id: section for section in request.view.sections}
        for name in passages:
            if name not in given and name in request.view.catalogue:
                return AssistantReply(requested_section=name)
        rules = {self._tasks[run.task].notes_for_writer for run in every} - {""}
        rules |= {DEMO_NOTICE} if self._is_demo and any(run.subject != UPLOAD for run in runs) else set()
        shown = dict(passages)
        for name, one in given.items():
            if one.is_document:  # the client's document: the writer may cite it, but it is not a finding
                shown[name] = Passage(id=name, title=one.title, text=one.text)
        written = await write(ask, request.view, earlier, runs, [*shown.values()], self._writer_prompt, keep_to=rules)
        documents = list_documents(every, passages, is_demo=self._is_demo)
        cited = [name for name in written.sections if name in shown and name in given]
        return AssistantReply(written.reply, [*cited, *(one.id for one in documents)], documents)

    async def _reply_recorded(
        self, request: AssistantRequest, messages: Sequence[str], earlier: Sequence[Run]
    ) -> AssistantReply:
        """Answer a demo question by running its recorded plan. Reply to other messages with a list of the demo questions."""
        offered = offer_recorded(self._tasks)
        found = find_recorded(request.view.question, offered)
        if found is None:  # the first paragraph, of the role (system prompt) or the message, gives the language
            return _say(list_questions(offered, str(request.messages[0].get("content")).partition("\n\n")[0]))
        recorded, language = found
        plan = recorded.plan
        request.note("plan", plan.model_dump_json(exclude_defaults=True))
        before = [*earlier, *find_last(plan, earlier)]
        runs = []
        if not find_problems(plan, self._tasks, {run.step: run.task for run in before}, request.view.question):
            runs = await self._executor.run(plan, request.principal, before)
        self._memory.put(request.principal, messages, runs, request.conversation_id)
        return _say(recorded.say(runs, earlier, language, is_demo=self._is_demo))


def _say(text: str) -> AssistantReply:
    """Return a reply with a text that no model wrote. The text itself is the evidence for judges."""
    findings = Document("findings", "Findings", text)
    return AssistantReply(text, [findings.id], [findings])


def open_assistant(settings: ModelSettings) -> Health:
    """Open the assistant. It answers only demo questions, unless `models: {planner: ALIAS, writer: ALIAS}` names models.

    Raises:
        ModelSettingsError: An option is invalid, or a file, module or folder that it names cannot be used.
    """
    if unknown := sorted(settings.models.keys() - {PLANNER, WRITER, VISION}):
        raise ModelSettingsError(f"models: unknown role {unknown[0]!r} (expected {PLANNER}, {WRITER}, {VISION})")
    if settings.models and not settings.models.keys() >= {PLANNER, WRITER}:
        raise ModelSettingsError(f"models: name both {PLANNER} and {WRITER}; both roles may have the same alias")
    options = read_options(settings)
    prompts = read_prompts(options)
    tasks, _ = load_tasks(options.tasks, options.task_modules)
    try:
        subjects = Subjects(options.data or demo_folder())
        known = tuple(subjects.ids())
        sections = load(options.knowledge_base)
    except (DataError, KnowledgeBaseError) as error:
        raise ModelSettingsError(f"{'data' if isinstance(error, DataError) else 'knowledge_base'}: {error}") from error
    if UPLOAD in known:
        raise ModelSettingsError(f"data: the folder name {UPLOAD!r} is reserved for uploaded files: rename the folder")
    for option, named in (("access", [*chain(*(options.access or {}).values())]), ("consent", [*options.consent])):
        if unknown := sorted(set(named) - set(known)):
            raise ModelSettingsError(f"{option}: unknown subject {unknown[0]!r} (expected a folder in the data folder)")
    access = Access(options.access or {"*": known}, options.consent)
    executor = Executor(tasks, subjects, access, {"sections": sections})
    memory = Memory(options.memory, tasks, options.memory_hours * 3600)
    planner = open_planner(options.planner) if settings.models else None
    demo = options.data is None
    return Health(executor, memory, access, planner, rounds=options.rounds, is_demo=demo, prompts=prompts)
