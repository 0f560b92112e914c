"""Budget: money that the calls of a run may cost together, and an engine that keeps to it."""

import math
from collections.abc import Mapping

import orjson

from models.engine import Body, Engine, Forwarded
from models.errors import ModelError, ModelSettingsError, UpstreamRefused, UpstreamUnavailable
from models.settings import ModelSettings
from models.usage import Usage

LONGEST_ANSWER = 4_000
"""Tokens that an answer may have where `models.<alias>.max_tokens` does not say."""


class BudgetSpent(ModelError):
    """The call might have cost more than is left."""

    hint = "raise the budget; what was answered is kept"


class Budget:
    """What may be spent, in the currency of the prices."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0

    def reserve(self, most: float) -> None:
        """Set money aside for a call that costs so much at most.

        Raises:
            BudgetSpent: So much is not left.
        """
        if self.spent + self._reserved + most > self.limit:
            raise BudgetSpent(f"a call of up to {most:.4f} would pass the budget of {self.limit:g}")
        self._reserved += most

    def settle(self, reserved: float, cost: float) -> None:
        self._reserved -= reserved
        self.spent += cost


class Budgeted:
    """Ask another engine as long as the worst case of a call fits into the budget.

    The worst case is every byte of the request a third of a token, and an answer of full length; the request asks for no more.
    """

    def __init__(self, engine: Engine, alias: str, settings: ModelSettings, budget: Budget) -> None:
        """Raises: ModelSettingsError: the alias has no price."""
        if settings.price is None:
            raise ModelSettingsError(
                f"models.{alias}: has no `price`, so a budget cannot be kept; add price: {{input: ..., output: ...}} "
                "(per million tokens)"
            )
        self._engine = engine
        self._price = settings.price
        self._budget = budget

    async def complete(self, body: Body) -> Body:
        if "max_tokens" not in body and "max_completion_tokens" not in body:
            body = body | {"max_tokens": LONGEST_ANSWER}
        longest = int(body.get("max_completion_tokens") or body.get("max_tokens") or LONGEST_ANSWER)
        most = Usage(math.ceil(len(orjson.dumps(body)) / 3), longest).cost(self._price) or 0.0
        self._budget.reserve(most)
        cost = most  # what was cut off or cancelled may be charged in full
        try:
            answer = await self._engine.complete(body)
            cost = Usage.from_body(answer, body).cost(self._price) or 0.0
            return answer
        except (UpstreamRefused, UpstreamUnavailable):
            cost = 0.0
            raise
        finally:
            self._budget.settle(most, cost)

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        raise NotImplementedError("forwarded answers are not counted, so no budget could be kept")

    async def close(self) -> None:
        await self._engine.close()
