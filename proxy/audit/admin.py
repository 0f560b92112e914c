"""Audit records of administrative actions: keys created and revoked, conversations erased.

A record holds the action, its outcome and the key that requested it. It holds no conversation id, which a client may have chosen.
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
        action: Name of the action.
        outcome: Its result.
        key: The key that was changed.
        by: The key that requested the action; None: the command line, or a client of a proxy without keys.
        ids: Other ids and numbers that describe the action.
    """
    audit.record("admin", action=action, outcome=outcome, key=key.id if key else None, by=by.id if by else None, **ids)


@contextmanager
def record_command(settings: AuditSettings, action: str, key: KeyRecord) -> Iterator[AuditLog]:
    """Record what the block does to a key, in a separate chain that begins before the block runs.

    Raises:
        ConfigError: The folder of the log is not writable.
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
