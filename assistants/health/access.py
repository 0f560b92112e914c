"""Who may see whose data. Decided by the API key, outside any model, before anything is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from models.turn_scope import Principal


class AccessRefusedError(Exception):
    """The user may not see what a step asks for. The message may be shown: it tells nothing of what there is."""


@dataclass(frozen=True)
class Access:
    """Which key may see which subjects, and what these have consented to."""

    subjects: Mapping[str, Sequence[str]]
    """By the id of the API key; `keyless` for requests without one. `*`: any key."""
    consent: Mapping[str, Mapping[Any, date]] = field(default_factory=dict)
    """By subject and source of data, the last day of the consent. A subject that is not named has consented to all."""

    def allowed(self, principal: Principal) -> tuple[str, ...]:
        """Return the subjects that a user may see. The name that a client gives for its user counts for nothing."""
        return tuple(self.subjects.get(principal.key_id, self.subjects.get("*", ())))

    def choose(self, principal: Principal, asked: str, sources: Sequence[str], today: date) -> str:
        """Return the subject of a step.

        Args:
            asked: What the planner wrote; "" for the only subject that the user may see.
            sources: What data the task reads.

        Raises:
            AccessRefusedError: The user may not see this subject, may see several and names none, or there is no consent.
        """
        allowed = self.allowed(principal)
        if not asked and len(allowed) != 1:
            raise AccessRefusedError("Whose data is meant? Name the subject." if allowed else "You may see no data.")
        subject = asked or allowed[0]
        if subject not in allowed:
            raise AccessRefusedError("You may not see the data of this subject.")
        consent = self.consent.get(subject)
        refused = [one for one in sources if consent is not None and consent.get(one, date.min) < today]
        if refused:
            raise AccessRefusedError(f"{subject} has not consented to the use of these data ({', '.join(refused)}).")
        return subject
