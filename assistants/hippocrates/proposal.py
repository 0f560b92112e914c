"""Shows a complete cohort with the results of checks and counts, and proposes to send it to WebAPI."""

import asyncio
import json
from collections.abc import Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from assistants.assistant import Action, AssistantReply, AssistantRequest, ToolRequest
from assistants.hippocrates.cdm import CdmError, count_cohort, show_counts
from assistants.hippocrates.checks import check
from assistants.hippocrates.reply_draft import ReplyDraft
from assistants.hippocrates.settings import Sources
from assistants.hippocrates.study import Json
from assistants.hippocrates.turns import CONFIRM, SEND

ACT = "act"
"""Permission of an API key to send a confirmed cohort. Without it, the assistant does not call the tool for sending."""
NOT_SENT = "Sending to ATLAS is not set up here. Ask for the JSON to import the cohort there."
_COUNTED_AT_ONCE = 2
"""Maximum number of cohorts that are counted in parallel. Each count uses one processor core."""


@dataclass(frozen=True)
class Cohort:
    """A complete cohort, which the researcher can confirm."""

    name: str
    expression: Json
    lines: Sequence[str]
    """The description of the cohort in plain English."""

    @cached_property
    def action(self) -> Action:
        """The action that sends the cohort. Its confirmation code depends on the cohort's name and expression."""
        arguments = {"name": self.name, "expression": self.expression}
        return Action(SEND, arguments, prompt="To send exactly this cohort to ATLAS, answer: confirm {code}")

    def call(self, tool: str, **more: str) -> ToolRequest:
        """Return a call of the tool that asks to confirm or to send the cohort. `more` are further arguments of the call."""
        return ToolRequest(tool, {"code": self.action.code, **self.action.arguments, **more})


class Proposals:
    """Shows complete cohorts to the researcher, and proposes to send them."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        # Use a separate thread pool, because the thread of a cancelled turn is busy until its count has ended.
        self._counting = ThreadPoolExecutor(_COUNTED_AT_ONCE, "count")
        self._count = lru_cache(maxsize=256)(lambda text: count_cohort(sources.cdm, json.loads(text)))

    def close(self) -> None:
        """Accept no further counts, and cancel those that have not started."""
        self._counting.shutdown(wait=False, cancel_futures=True)

    def may_be_sent(self, cohort: Cohort) -> bool:
        """Return whether a cohort may be sent: a WebAPI is configured, and the checks find no error."""
        problems = check(cohort.expression, self._sources.vocabulary)
        return self._sources.webapi is not None and all(one.severity != "error" for one in problems)

    async def show(
        self, draft: ReplyDraft, cohort: Cohort, request: AssistantRequest, wishes: Set[str], changed: bool
    ) -> AssistantReply:
        """Show a cohort and ask the researcher to confirm it: by a tool if the request declares one, or else in the text."""
        fenced = f"```\n{json.dumps(cohort.expression)}\n```"
        if wishes == {"json"} and not changed:
            draft.add("expression", "The cohort expression", fenced)
            return draft.reply()
        described = "\n".join(cohort.lines)
        draft.add("cohort", "The cohort in plain English", f"The cohort “{cohort.name}” in plain English:\n{described}")
        problems = check(cohort.expression, self._sources.vocabulary)
        listed = [f"- {one.severity.capitalize()}: {one.where}: {one.text}" for one in problems]
        draft.add(
            "checks", "Checks", "\n".join(["The checks found:", *listed] if listed else ["The checks found nothing."])
        )
        if any(one.severity == "error" for one in problems):
            draft.add("checks", "Checks", "With an error the cohort is not sent.")
            return draft.reply()
        draft.add("counts", "Counted on the CDM", "\n".join(await self._count_lines(cohort.expression)))
        if "json" in wishes:
            draft.add("expression", "The cohort expression", fenced)
        if CONFIRM in request.tools and "send" not in wishes:
            return replace(draft.reply(), tool_calls=[cohort.call(CONFIRM, description=described)])
        if self._sources.webapi is None and "send" not in wishes:
            return draft.reply()
        return self.propose(draft, cohort, request)

    def propose(self, draft: ReplyDraft, cohort: Cohort, request: AssistantRequest) -> AssistantReply:
        """Return the reply that proposes to send a cohort."""
        if self._sources.webapi is None:
            draft.add("service", "What this service does", NOT_SENT)
            return draft.reply()
        calls = [cohort.call(SEND)] if SEND in request.tools and ACT in request.principal.permissions else []
        return replace(draft.reply(), action=cohort.action, tool_calls=calls)

    async def _count_lines(self, expression: Json) -> list[str]:
        """Return lines with the counts of a cohort, small ones suppressed, or with the reason for a failure. Results are cached."""
        text, loop = json.dumps(expression, sort_keys=True), asyncio.get_running_loop()
        try:
            counts = await loop.run_in_executor(self._counting, self._count, text)
        except CdmError as error:
            return [f"The cohort could not be counted: {error}."]
        return show_counts(counts, self._sources.cdm_is_demo)
