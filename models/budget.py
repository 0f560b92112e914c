"""Budget: money that the calls of a run may cost together, and an engine that keeps to it."""

from collections.abc import Mapping

import orjson

from models.answer import as_completion
from models.engine import Body, Engine, Forwarded
from models.errors import ModelError, ModelSettingsError, UpstreamBusy, UpstreamRefused, UpstreamUnavailable
from models.settings import ModelSettings, Price
from models.usage import Usage

MAX_ANSWER_TOKENS = 4_000
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
        self.refused = False
        """Whether a call was refused because it might have passed the limit."""

    def reserve(self, max_cost: float) -> None:
        """Set money aside for a call that costs so much at most.

        Raises:
            BudgetSpent: So much is not left.
        """
        if self.spent + self._reserved + max_cost > self.limit:
            self.refused = True
            raise BudgetSpent(f"a call of up to {max_cost:.4f} would pass the budget of {self.limit:g}")
        self._reserved += max_cost

    def settle(self, reserved: float, cost: float) -> None:
        self._reserved -= reserved
        self.spent += cost


def price_of(alias: str, settings: ModelSettings) -> Price:
    """Return what an alias costs.

    Raises:
        ModelSettingsError: The configuration does not say.
    """
    if settings.price is None:
        raise ModelSettingsError(
            f"models.{alias}: has no `price`, so a budget cannot be kept; add price: {{input: ..., output: ...}} "
            "(per million tokens)"
        )
    return settings.price


class BudgetedEngine:
    """Ask another engine as long as the worst case of a call fits into the budget.

    The worst case is a token for every byte of the request, and an answer of full length; the request asks for no more.
    """

    def __init__(self, engine: Engine, alias: str, settings: ModelSettings, budget: Budget) -> None:
        self._engine = engine
        self._alias = alias
        self._settings = settings
        self._budget = budget
        self._limit = "max_tokens"
        """What the upstream calls the longest answer."""

    async def complete(self, body: Body) -> Body:
        """Raises: ModelSettingsError: the alias has no price; ModelError: as the engine, or `BudgetSpent`."""
        price = price_of(self._alias, self._settings)
        max_tokens = body.get("max_completion_tokens") or body.get("max_tokens")
        try:
            return await self._pay(body if max_tokens else body | {self._limit: MAX_ANSWER_TOKENS}, price)
        except UpstreamRefused as error:
            # OpenAI's reasoning models know the limit by its newer name alone.
            if max_tokens or error.param != "max_tokens" or self._limit != "max_tokens":
                raise
            self._limit = "max_completion_tokens"
        return await self._pay(body | {self._limit: MAX_ANSWER_TOKENS}, price)

    async def _pay(self, body: Body, price: Price) -> Body:
        max_tokens = int(body.get("max_completion_tokens") or body["max_tokens"])
        # Not a part of a token for a byte: in some scripts a letter is several tokens.
        max_cost = Usage(len(orjson.dumps(body)), max_tokens).cost(price) or 0.0
        self._budget.reserve(max_cost)
        cost = max_cost  # what was cut off, cancelled or garbled may be charged in full
        try:
            answer = as_completion(await self._engine.complete(body))
            cost = Usage.from_body(answer, body).cost(price) or 0.0
            return answer
        except (UpstreamRefused, UpstreamBusy):
            cost = 0.0
            raise
        except UpstreamUnavailable as error:
            cost = max_cost if error.status is None else 0.0  # without a status the connection broke, perhaps half-way
            raise
        finally:
            self._budget.settle(max_cost, cost)

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        raise NotImplementedError("forwarded answers are not counted, so no budget could be kept")

    async def close(self) -> None:
        await self._engine.close()
