"""Hippocrates for tests: it keeps its drafts to look at, and may be made to alter them."""

from collections.abc import Callable
from dataclasses import replace

from assistants.assistant import AssistantReply, AssistantRequest
from assistants.hippocrates import assistant
from models.settings import ModelSettings


class Watched(assistant.Hippocrates):
    """Its drafts are kept; `alter` changes their text, and nothing of their documents."""

    drafts: list[AssistantReply]
    alter: Callable[[str], str] | None = None

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        draft = await super().reply(request)
        self.drafts.append(draft)
        return draft if self.alter is None else replace(draft, text=self.alter(draft.text))


OPENED: list[Watched] = []


def open_assistant(settings: ModelSettings) -> Watched:
    watched = Watched(assistant.open_sources(settings), plans="planner" in settings.models)
    watched.drafts = []
    OPENED.append(watched)
    return watched
