"""Records who read, labelled or deleted turns: in the audit log, or in the proxy's log if no audit log is configured."""

import structlog

from proxy.api.service import Service
from proxy.audit.admin import record_admin
from proxy.auth.keys import KeyRecord

log = structlog.get_logger()


def record_action(service: Service, action: str, by: KeyRecord | None, *, outcome: str = "done", **ids: object) -> None:
    """Record an action of a console client.

    Args:
        service: The objects that all request handlers share.
        action: Name of the action, such as `console_read` or `console_label`.
        by: The client's key; None: the proxy has no configured keys.
        outcome: Result of the action.
        ids: Ids and numbers of the objects of the action, such as turns. Never pass texts.
    """
    if service.audit is not None:
        record_admin(service.audit, action, outcome, key=None, by=by, **ids)
    else:
        log.info(action, outcome=outcome, by=by.id if by else None, **ids)
