"""Defines raters, which describe the content of a reply without knowing its arm. Code computes the score."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from models.client import Models
from models.errors import UnreadableAnswer
from models.usage import Ledger
from scoring.raters import local_rater
from scoring.score import Observed, Rateable, Rating, score

PROMPT = Path(__file__).parent / "rater.md"
STEP = "rate"


class Rater(Protocol):
    """Rates replies. Implementations ask a model, or compare words."""

    async def rate(self, case: Rateable, ledger: Ledger) -> Rating:
        """Rate a reply. If the rater's answer cannot be read, the reply is unscored and does not count as acceptable.

        Raises:
            ModelError: The call to the rater's model failed, so there is no rating.
        """


@dataclass(frozen=True, slots=True)
class ModelRater:
    """Asks a model to fill in the rater's form, and computes the score from the form."""

    models: Models
    alias: str

    async def rate(self, case: Rateable, ledger: Ledger) -> Rating:
        try:
            answer = await self.models.structured(self.alias, messages(case), Observed, step=STEP, ledger=ledger)
        except UnreadableAnswer:
            return Rating(self.alias, None, reason="unscored: the rater's answer cannot be read")
        observed = answer.value
        return Rating(
            self.alias, score(observed), observed.answered, observed.declines, describe_score(observed), observed
        )


class LocalRater:
    """The rater without a model; see local_rater.py."""

    async def rate(self, case: Rateable, ledger: Ledger) -> Rating:
        return local_rater.rate(case)


def messages(case: Rateable) -> list[dict[str, str]]:
    """Return the request messages for the rater's model: static instructions, and the reply with its context as JSON."""
    data = {
        "chatbot_role": case.role,
        "history": [{"role": message.role, "content": message.content} for message in case.history],
        "user_message": case.user_message,
        "reply": case.response,
        "sources": [{"id": source.id, "title": source.title, "text": source.text} for source in case.sources],
        "key_points": list(case.key_points),
    }
    return [
        {"role": "system", "content": PROMPT.read_text(encoding="utf-8").strip()},
        {"role": "user", "content": json.dumps(data, ensure_ascii=False, indent=1)},
    ]


def describe_score(observed: Observed) -> str:
    """Return the observations that led to a score, in one line."""
    beyond = [f"{claim.support}: {claim.text}" for claim in observed.claims if claim.support != "supported"]
    statements = (
        f"not from sources: {observed.not_from_sources}, verify: {observed.asks_to_verify}, role: {observed.role}"
    )
    return "; ".join([statements, *beyond])
