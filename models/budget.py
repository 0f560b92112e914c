"""Budget limits the total cost of the model calls of a run; BudgetedEngine refuses calls that could exceed the budget."""

from collections.abc import Mapping

import orjson

from models.answer import as_completion
from models.engine import Body, Engine, Forwarded
from models.errors import ModelError, ModelSettingsError, UpstreamBusy, UpstreamRefused, UpstreamUnavailable
from models.settings import ModelSettings, Price
from models.usage import Usage

MAX_ANSWER_TOKENS = 4_000
"""Limit of an answer's tokens for requests that set no limit, so that the maximum cost of a call is known."""


class BudgetSpent(ModelError):
    """The call was not sent, because its maximum cost exceeds the remaining budget."""

    subject = "the run"
    hint = "raise the budget; completed answers are kept"
    usual_reason = "has spent its budget"


class Budget:
    """Tracks the money spent against a limit. Both are in the currency of the configured prices."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0
        self.refused = False
        """Whether a call has been refused because its maximum cost exceeded the remaining budget."""

    def reserve(self, max_cost: float) -> None:
        """Reserve the maximum cost of a call before the call is sent.

        Raises:
            BudgetSpent: The maximum cost exceeds the remaining budget.
        """
        if self.spent + self._reserved + max_cost > self.limit:
            self.refused = True
            raise BudgetSpent(f"would exceed its budget of {self.limit:g} with a call that may cost {max_cost:.4f}")
        self._reserved += max_cost

    def settle(self, reserved: float, cost: float) -> None:
        """Replace the reservation of a finished call with the actual cost."""
        self._reserved -= reserved
        self.spent += cost


def price_of(alias: str, settings: ModelSettings) -> Price:
    """Return the configured price of an alias's tokens.

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
    """An engine that passes a request to another engine only if the request's maximum cost fits the budget.

    The maximum cost assumes one token per byte of the request and an answer of `max_tokens` tokens. Requests without
    `max_tokens` get MAX_ANSWER_TOKENS.
    """

    def __init__(self, engine: Engine, alias: str, settings: ModelSettings, budget: Budget) -> None:
        self._engine = engine
        self._alias = alias
        self._settings = settings
        self._budget = budget
        self._limit = "max_tokens"
        """Name of the field that limits the answer's tokens: `max_tokens`, or `max_completion_tokens` if the upstream needs it."""

    async def complete(self, body: Body) -> Body:
        """Answer a request within the budget.

        Raises:
            ModelSettingsError: The alias has no price.
            ModelError: The maximum cost exceeds the remaining budget (BudgetSpent), or the other engine failed.
        """
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
            cost = (
                max_cost if error.status is None else 0.0
            )  # no status: the connection failed, maybe after a part of the answer
            raise
        finally:
            self._budget.settle(max_cost, cost)

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        raise NotImplementedError("cannot forward a request under a budget: the cost of a forwarded answer is unknown")

    async def close(self) -> None:
        await self._engine.close()
