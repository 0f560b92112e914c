"""Asks the model that the configuration gives the assistant for answers of a schema."""

import asyncio

from assistants.assistant import Ask
from assistants.hippocrates.planner import Plan
from models.errors import UnreadableAnswer, UpstreamTimeout
from models.request import Message
from models.structured import StructuredAnswer, UnreadableText, build_request, raw_text, read_answer, repair_messages
from models.usage import Ledger

PLANNER = "planner"
"""The part, under `models` of the alias, of the model that reads what the grammar does not."""


class AskedModels:
    """The assistant's models, as the planner asks them; their tokens are counted where they are asked."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def structured(
        self, alias: str, messages: list[Message], schema: type[Plan], *, step: str, ledger: Ledger, timeout_s: float
    ) -> StructuredAnswer[Plan]:
        """Ask as `models.client.Models.structured` does.

        Raises:
            ModelError: The model fails, is slow, or also its second answer does not fit.
        """
        asked = messages
        answer = {}
        for repaired in (False, True):
            try:
                async with asyncio.timeout(timeout_s):
                    answer = await self._ask(alias, build_request(asked, schema, "json_schema"), step=step)
            except TimeoutError:
                raise UpstreamTimeout(alias=alias, step=step) from None
            found = read_answer(answer, schema)
            if not isinstance(found, UnreadableText):
                return StructuredAnswer(found, raw_text(answer), repaired)
            asked = repair_messages(messages, found)
        raise UnreadableAnswer(raw_text(answer), alias=alias, step=step)
