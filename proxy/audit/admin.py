"""Audit records of administrative actions: keys made and revoked, conversations erased.

They hold what was done, how it ended, and by which key: not whose conversation it was, whose id a client may have chosen.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from proxy.audit.log import AuditLog
from proxy.auth.keys import KeyRecord
from proxy.config.settings import AuditSettings


def record_admin(
    audit: AuditLog, action: str, outcome: str, *, key: KeyRecord | None, by: KeyRecord | None, **ids: object
) -> None:
    """Record an administrative action.

    Args:
        action: Its name.
        outcome: Its result.
        key: The key that it was done to.
        by: The key that it was asked with; None: on the command line, or of a proxy without keys.
        ids: What else it was done to: ids and numbers.
    """
    audit.record("admin", action=action, outcome=outcome, key=key.id if key else None, by=by.id if by else None, **ids)


@contextmanager
def record_command(settings: AuditSettings, action: str, key: KeyRecord) -> Iterator[AuditLog]:
    """Record what the block does to a key, in a chain of its own, which is begun before anything is done.

    Raises:
        ConfigError: The folder of the log cannot be written to.
    """
    audit = AuditLog(settings.folder, "turn")
    audit.start()
    outcome = "failed"
    try:
        yield audit
        outcome = "done"
    finally:
        record_admin(audit, action, outcome, key=key, by=None)
        audit.close()
