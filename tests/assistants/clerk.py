"""An assistant for tests: it counts visitors, and books a tour once its user has confirmed it."""

import re
from dataclasses import replace

from pydantic import BaseModel

from assistants.assistant import Action, AssistantError, AssistantReply, AssistantRequest, Document, ToolRequest
from models.settings import ModelSettings
from models.turn_scope import Principal

COUNTS = Document("stats/may", "Visitors in May", "In May 4,310 visitors came to the museum.")
TIMES = Document("tours", "Tours", "The tour on Monday begins at ten.")
TOUR = Action("book_tour", {"day": "Monday"})


class Day(BaseModel):
    """What the clerk asks a model for."""

    day: str


class Clerk:
    """Keeps only what it has done, for tests to look at."""

    def __init__(self) -> None:
        self.booked: list[tuple[Action, Principal]] = []

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        question = request.view.question
        request.note("read", question)
        if question == "crash":
            raise ValueError("a secret")
        if question == "refuse":
            raise AssistantError("the ledger is closed")
        if question == "ask":
            assert request.ask is not None
            answer = await request.ask("writer", {"messages": [{"role": "user", "content": "Write."}]})
            return AssistantReply(answer["choices"][0]["message"]["content"])
        if question == "ask for the day":
            assert request.ask_structured is not None
            read = await request.ask_structured("writer", [{"role": "user", "content": "Which day?"}], Day)
            return AssistantReply(f"It is {read.value.day}.")
        if question == "use the tool" and "open_calendar" in request.tools:
            return AssistantReply(tool_calls=[ToolRequest("open_calendar", {"day": "Monday"})])
        if found := re.search(r"\b(invent|count)\b", question):
            text = COUNTS.text if found[0] == "count" else "In May 4,930 visitors came to the museum."
            return AssistantReply(text, [COUNTS.id], [COUNTS])
        if question.startswith("yes"):
            return AssistantReply("Thank you.", action=replace(TOUR, confirmed=True))
        if "tour" in question:
            return AssistantReply(TIMES.text, [TIMES.id], [TIMES], action=TOUR)
        return AssistantReply("Hello.")

    async def act(self, action: Action, principal: Principal) -> str:
        self.booked.append((action, principal))
        return "The tour is booked."

    async def close(self) -> None:
        """Nothing to let go of."""


CLERKS: list[Clerk] = []


def open_assistant(settings: ModelSettings) -> Clerk:
    CLERKS.append(Clerk())
    return CLERKS[-1]
