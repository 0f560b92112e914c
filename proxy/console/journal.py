"""Records reading, labelling and deleting in the audit log if there is one, else in the log. Without texts."""

import structlog

from proxy.api.service import Service
from proxy.audit.admin import record_admin
from proxy.auth.keys import KeyRecord

log = structlog.get_logger()


def record_action(service: Service, action: str, by: KeyRecord | None, *, outcome: str = "done", **ids: object) -> None:
    """Record an action of a console client.

    Args:
        service: The objects that handlers share.
        action: Its name, such as `console_read` or `console_label`.
        by: The client's key; None: a proxy without keys.
        outcome: Its result.
        ids: Its objects: ids and numbers, never texts.
    """
    if service.audit is not None:
        record_admin(service.audit, action, outcome, key=None, by=by, **ids)
    else:
        log.info(action, outcome=outcome, by=by.id if by else None, **ids)
