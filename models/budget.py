"""Budget, a limit on the total cost of a run's calls, and an engine that enforces it."""

from collections.abc import Mapping

import orjson

from models.answer import as_completion
from models.engine import Body, Engine, Forwarded
from models.errors import ModelError, ModelSettingsError, UpstreamBusy, UpstreamRefused, UpstreamUnavailable
from models.settings import ModelSettings, Price
from models.usage import Usage

MAX_ANSWER_TOKENS = 4_000
"""Maximum tokens of an answer if `models.<alias>.max_tokens` is not set."""


class BudgetSpent(ModelError):
    """The call might have exceeded the budget."""

    hint = "raise the budget; completed answers are kept"


class Budget:
    """The limit and the money spent, in the currency of the prices."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0
        self.refused = False
        """Whether a call was refused because it might have exceeded the limit."""

    def reserve(self, max_cost: float) -> None:
        """Reserve the maximum cost of a call.

        Raises:
            BudgetSpent: The remaining budget is smaller.
        """
        if self.spent + self._reserved + max_cost > self.limit:
            self.refused = True
            raise BudgetSpent(f"a call of up to {max_cost:.4f} would exceed the budget of {self.limit:g}")
        self._reserved += max_cost

    def settle(self, reserved: float, cost: float) -> None:
        self._reserved -= reserved
        self.spent += cost


def price_of(alias: str, settings: ModelSettings) -> Price:
    """Return the price of an alias's tokens.

    Raises:
        ModelSettingsError: The alias has no `price`.
    """
    if settings.price is None:
        raise ModelSettingsError(
            f"models.{alias}: has no `price`, so a budget cannot be enforced; add price: {{input: ..., output: ...}} "
            "(per million tokens)"
        )
    return settings.price


class BudgetedEngine:
    """Ask another engine as long as the maximum cost of a call fits the budget.

    The maximum assumes one token per byte of the request and an answer of full length. The request caps that length.
    """

    def __init__(self, engine: Engine, alias: str, settings: ModelSettings, budget: Budget) -> None:
        self._engine = engine
        self._alias = alias
        self._settings = settings
        self._budget = budget
        self._limit = "max_tokens"
        """The upstream's name for the limit on answer tokens."""

    async def complete(self, body: Body) -> Body:
        """Raises: ModelSettingsError: the alias has no price; ModelError: `BudgetSpent`, or an error of the engine."""
        price = price_of(self._alias, self._settings)
        max_tokens = body.get("max_completion_tokens") or body.get("max_tokens")
        try:
            return await self._pay(body if max_tokens else body | {self._limit: MAX_ANSWER_TOKENS}, price)
        except UpstreamRefused as error:
            # OpenAI's reasoning models accept only the newer name of the limit.
            if max_tokens or error.param != "max_tokens" or self._limit != "max_tokens":
                raise
            self._limit = "max_completion_tokens"
        return await self._pay(body | {self._limit: MAX_ANSWER_TOKENS}, price)

    async def _pay(self, body: Body, price: Price) -> Body:
        max_tokens = int(body.get("max_completion_tokens") or body["max_tokens"])
        # A whole token per byte: in some scripts a letter is several tokens.
        max_cost = Usage(len(orjson.dumps(body)), max_tokens).cost(price) or 0.0
        self._budget.reserve(max_cost)
        cost = max_cost  # a truncated, cancelled or garbled answer may be charged in full
        try:
            answer = as_completion(await self._engine.complete(body))
            cost = Usage.from_body(answer, body).cost(price) or 0.0
            return answer
        except (UpstreamRefused, UpstreamBusy):
            cost = 0.0
            raise
        except UpstreamUnavailable as error:
            cost = max_cost if error.status is None else 0.0  # without a status the connection broke, maybe mid-answer
            raise
        finally:
            self._budget.settle(max_cost, cost)

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        raise NotImplementedError("cannot forward under a budget: the cost of forwarded answers is unknown")

    async def close(self) -> None:
        await self._engine.close()
