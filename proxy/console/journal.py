"""Who looked at whose texts, labelled, deleted: to the audit log where there is one, else to the log. No texts."""

import structlog

from proxy.api.service import Service
from proxy.audit.admin import record_admin
from proxy.auth.keys import KeyRecord

log = structlog.get_logger()


def record_action(service: Service, action: str, by: KeyRecord | None, *, outcome: str = "done", **ids: object) -> None:
    """Record what a client of the console did.

    Args:
        service: What handlers share.
        action: What was done, such as `console_read` or `console_label`.
        by: The client's key; None: a proxy without keys.
        outcome: Its result.
        ids: What it was done to: ids and numbers, never texts.
    """
    if service.audit is not None:
        record_admin(service.audit, action, outcome, key=None, by=by, **ids)
    else:
        log.info(action, outcome=outcome, by=by.id if by else None, **ids)
