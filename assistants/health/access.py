"""Decides which subjects' data an API key may read. The decision uses no model, and is made before any data are read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from models.turn_scope import Principal

UPLOAD = "upload"
"""Id of the subject that represents the files in a request."""


class AccessRefusedError(Exception):
    """The user may not see the data of a step. The message is safe to show: it does not reveal which data exist."""


@dataclass(frozen=True)
class Access:
    """The subjects of each API key, and the consent of each subject."""

    subjects: Mapping[str, Sequence[str]]
    """By id of an API key, the subjects that it may see. `keyless` means requests without a key, `*` for any key."""
    consent: Mapping[str, Mapping[Any, date]] = field(default_factory=dict)
    """By subject and source of data, the last day of the subject's consent. A subject without an entry consents to all uses."""

    def allowed(self, principal: Principal) -> tuple[str, ...]:
        """Return the subjects that the API key of a request may see. The user name in the request has no effect."""
        return tuple(self.subjects.get(principal.key_id, self.subjects.get("*", ())))

    def choose(self, principal: Principal, asked: str, sources: Sequence[str], today: date) -> str:
        """Return the subject whose data a step of a plan may read.

        Args:
            asked: The subject in the plan; "" for the only subject that the user may see.
            sources: The sources of data that the task reads, such as `sleep`.

        Raises:
            AccessRefusedError: The user may not see the subject, must name one of several, or the subject has not consented.
        """
        allowed = self.allowed(principal)
        if not asked and len(allowed) != 1:
            raise AccessRefusedError("Name the subject whose data you mean." if allowed else "You may not see data.")
        subject = asked or allowed[0]
        if subject not in allowed:
            raise AccessRefusedError("You may not see the data of this subject.")
        consent = self.consent.get(subject)
        refused = [one for one in sources if consent is not None and consent.get(one, date.min) < today]
        if refused:
            raise AccessRefusedError(f"{subject} has not consented to the use of these data ({', '.join(refused)}).")
        return subject
