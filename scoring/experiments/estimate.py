"""Estimates the calls, tokens and cost of a chatbot's turns from its configuration, before any call. Pure.

An estimate is a range. For the low value, the judges accept every draft at their first stage. For the high value, they flag every
draft at every stage, and the refiner makes the maximum number of rewrites. The estimate excludes retries, second drafts, and the
calls that an assistant makes itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from models.settings import ModelSettings
from models.usage import Usage, estimate_tokens
from proxy.auth.loopback import is_loopback
from proxy.config.blueprint import Blueprint, JudgePlan
from scenarios.checkpoint import Message

SHORT_ANSWER, LONG_ANSWER = 40, 500
"""Assumed completion tokens: of a swift judge or a selection (SHORT), and of a chief judge (LONG)."""
FREE_ENGINES = ("embedded", "scripted")


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One kind of model call in a turn, with its minimum and maximum number of calls."""

    alias: str
    low: int
    high: int
    prompt_tokens: int
    """Prompt tokens in addition to the conversation."""
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Range:
    """A range of values. Formats like a number: `f"{range:.2f}"`."""

    low: float
    high: float

    def __format__(self, spec: str) -> str:
        low, high = format(self.low, spec), format(self.high, spec)
        return low if low == high else f"{low} to {high}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated calls, tokens and cost of several turns."""

    calls: Range
    tokens: Range
    """Prompt tokens plus completion tokens."""
    cost: Range
    """Cost in the currency of the prices. Aliases without a price count as 0."""
    unpriced: tuple[str, ...]
    """Aliases that may cost money but have no price. Free engines and keyless servers on this machine are not listed."""


def estimate(
    bot: Blueprint, models: Mapping[str, ModelSettings], turns: Sequence[tuple[str, Sequence[Message]]]
) -> Estimate:
    """Return the estimate for the turns of a chatbot.

    Args:
        models: The configured models by alias.
        turns: The filter setting (`on` or `off`) and the conversation of each turn.
    """
    planned = {mode: [*_draft_calls(bot), *(_filter_calls(bot) if mode == "on" else ())] for mode in ("on", "off")}
    bounds = []
    for which in ("low", "high"):
        sums = [0.0, 0.0, 0.0]
        for mode, messages in turns:
            said = sum(estimate_tokens(message.content) for message in messages)
            for call in planned[mode]:
                times = getattr(call, which)
                usage = Usage(times * (call.prompt_tokens + said), times * call.completion_tokens)
                paid = usage.cost(models[call.alias].price) or 0.0
                used = (times, usage.prompt_tokens + usage.completion_tokens, paid)
                sums = [before + now for before, now in zip(sums, used, strict=True)]
        bounds.append(sums)
    aliases = sorted({call.alias for mode, _ in turns for call in planned[mode]})
    unpriced = (alias for alias in aliases if models[alias].price is None and not _is_free(models[alias]))
    calls, tokens, cost = (Range(low, high) for low, high in zip(*bounds, strict=True))
    return Estimate(calls, tokens, cost, tuple(unpriced))


def _is_free(model: ModelSettings) -> bool:
    """Return whether calls to a model are free: by its engine, or because its server is on this machine and needs no key."""
    if model.engine in FREE_ENGINES:
        return True
    host = urlsplit(model.base_url or "").hostname or ""
    return is_loopback(host) and model.api_key_env is None and not model.headers


def _draft_calls(bot: Blueprint) -> Iterator[PlannedCall]:
    """Yield the calls that do not depend on the filter: the selection of sections, and the draft."""
    settings, prompt_tokens = bot.settings, estimate_tokens(bot.settings.role)
    if bot.library is not None and settings.kind == "guarded":
        catalogue = estimate_tokens(bot.library.catalogue)
        if settings.retrieval.selector != "lexical":
            yield PlannedCall(settings.retrieval.selector, 1, 1, catalogue, SHORT_ANSWER)
        mean_section = bot.library.tokens // max(len(bot.library), 1)
        prompt_tokens += catalogue + settings.retrieval.max_requests * mean_section
    yield PlannedCall(settings.model, 1, 1, min(prompt_tokens, settings.context_tokens), settings.length.soft)


def _filter_calls(bot: Blueprint) -> Iterator[PlannedCall]:
    """Yield the calls of judges and refiner."""
    settings, reply = bot.settings, bot.settings.length.soft
    evidence = min(settings.retrieval.evidence_tokens, bot.library.tokens if bot.library else 0)
    rewrites = settings.max_refinements if settings.refiner is not None else 0
    for plan in _plans_with_calls(bot):
        stages = [stage for stage in plan.stages if stage != "local"]
        read = 0 if plan.name == "emergency" else evidence + reply
        for stage in stages:
            again = rewrites if stage == stages[-1] and plan.name != "emergency" else 0
            prompt = plan.prompts[stage]
            answer = LONG_ANSWER if stage == "chief" else SHORT_ANSWER
            low = int(stage == stages[0])
            yield PlannedCall(prompt.model, low, 1 + again, estimate_tokens(prompt.text) + read, answer)
    if settings.refiner not in (None, "local") and rewrites:
        yield PlannedCall(settings.refiner, 0, rewrites, estimate_tokens(settings.role) + evidence + reply, reply)


def _plans_with_calls(bot: Blueprint) -> Iterator[JudgePlan]:
    """Yield the judges that call models. Of judges that share calls, yield only the one with most stages."""
    asking = [plan for plan in bot.plans if plan.python is None and set(plan.stages) != {"local"}]
    yield from (plan for plan in asking if not plan.together)
    if sharing := [plan for plan in asking if plan.together]:
        yield max(sharing, key=lambda plan: len(plan.stages))
