"""A cohort that is complete: read back, checked, counted, and proposed to be sent."""

import json
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from assistants.assistant import Action, AssistantReply, AssistantRequest, ToolRequest
from assistants.hippocrates.checks import check
from assistants.hippocrates.cohort import Json
from assistants.hippocrates.proof import Counter
from assistants.hippocrates.reply_draft import ReplyDraft
from assistants.hippocrates.settings import Sources
from assistants.hippocrates.turns import CONFIRM, SEND

ACT = "act"
"""The permission with which the proxy sends what is confirmed; without it no tool is called for that."""
NOT_SENT = "Sending to ATLAS is not set up here. Ask for the JSON to import the cohort there."


@dataclass(frozen=True)
class Cohort:
    """A cohort that is complete."""

    name: str
    expression: Json
    lines: Sequence[str]
    """In plain English."""

    @cached_property
    def action(self) -> Action:
        """What sends it; its code stands for exactly this name and JSON."""
        arguments = {"name": self.name, "expression": self.expression}
        return Action(SEND, arguments, prompt="To send exactly this cohort to ATLAS, answer: confirm {code}")


class Proposals:
    """Shows cohorts as they can be confirmed, and proposes to send them."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._counter = Counter(sources.cdm, sources.cdm_is_demo)

    def may_be_sent(self, cohort: Cohort) -> bool:
        """Tell whether there is somewhere to send it, and its checks find no error."""
        problems = check(cohort.expression, self._sources.vocabulary)
        return self._sources.webapi is not None and all(one.severity != "error" for one in problems)

    async def show(
        self, draft: ReplyDraft, cohort: Cohort, request: AssistantRequest, wishes: Set[str], changed: bool
    ) -> AssistantReply:
        """Show a cohort, and ask to confirm it: by the tools that the request declares, else in text."""
        if wishes == {"json"} and not changed:
            draft.add("expression", "The cohort expression", _fenced(cohort.expression))
            return draft.reply()
        problems = check(cohort.expression, self._sources.vocabulary)
        described = "\n".join(cohort.lines)
        draft.add("cohort", "The cohort in plain English", f"The cohort “{cohort.name}” in plain English:\n{described}")
        listed = [f"- {one.severity.capitalize()}: {one.where}: {one.text}" for one in problems]
        draft.add(
            "checks", "Checks", "\n".join(["The checks found:", *listed] if listed else ["The checks found nothing."])
        )
        if any(one.severity == "error" for one in problems):
            draft.add("checks", "Checks", "With an error the cohort is not sent.")
            return draft.reply()
        draft.add("counts", "Counted on the CDM", "\n".join(await self._counter.count(cohort.expression)))
        if "json" in wishes:
            draft.add("expression", "The cohort expression", _fenced(cohort.expression))
        if CONFIRM in request.tools and "send" not in wishes:
            return replace(draft.reply(), tool_calls=[_call(CONFIRM, cohort, description=described)])
        if self._sources.webapi is None and "send" not in wishes:
            return draft.reply()
        return self.propose(draft, cohort, request)

    def propose(self, draft: ReplyDraft, cohort: Cohort, request: AssistantRequest) -> AssistantReply:
        """Propose to send a cohort."""
        if self._sources.webapi is None:
            draft.add("service", "What this service does", NOT_SENT)
            return draft.reply()
        calls = [_call(SEND, cohort)] if SEND in request.tools and ACT in request.principal.permissions else []
        return replace(draft.reply(), action=cohort.action, tool_calls=calls)


def _call(tool: str, cohort: Cohort, **more: Any) -> ToolRequest:
    arguments = {"code": cohort.action.code, "name": cohort.name, **more, "expression": cohort.expression}
    return ToolRequest(tool, arguments)


def _fenced(expression: Json) -> str:
    return f"```\n{json.dumps(expression)}\n```"
