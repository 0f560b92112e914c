"""An engine that asks other models itself, and what it may ask."""

import math
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel

from models.engine import Body, Engine
from models.request import Message
from models.structured import StructuredAnswer
from models.usage import Ledger

T = TypeVar("T", bound=BaseModel)


class Completer(Protocol):
    """What answers for model aliases: `models.client.Models`."""

    def complete(self, alias: str, body: Body, *, step: str, ledger: Ledger) -> Coroutine[Any, Any, Body]:
        """Answer a chat completion request; the ledger gets the call."""

    async def structured(
        self,
        alias: str,
        messages: list[Message],
        schema: type[T],
        *,
        step: str,
        ledger: Ledger,
        options: Body | None = None,
        timeout_s: float = math.inf,
    ) -> StructuredAnswer[T]:
        """Ask for an answer that fits a pydantic model; the ledger gets each call."""


@runtime_checkable
class AsksModels(Engine, Protocol):
    """An engine that asks other models itself."""

    def use_models(self, models: Completer) -> None:
        """Take the models that it may ask, before it is asked anything."""
