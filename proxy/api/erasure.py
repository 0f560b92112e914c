"""DELETE /admin/conversations/{id}: erases the states, responses and traces of a conversation, and the data of assistants.

The audit log contains no text to erase, and records the erasure. A turn that is still running stores its state afterwards, so
erase a conversation after it has ended. The trace of such a turn is erased anyway.
"""

import asyncio
import math
import time
from pathlib import Path

import orjson
import structlog
from aiohttp import web

from models.errors import ModelError
from proxy.api.service import SERVICE, Service
from proxy.audit.admin import record_admin
from proxy.auth.keys import KeyRecord
from proxy.protocol.errors import StoreUnavailable
from proxy.traces import query
from proxy.traces.backend import TraceBackend, TraceError, trace_backend
from proxy.traces.store import TraceStore

log = structlog.get_logger()

WRITTEN_S = 5.0
"""Maximum seconds to wait until queued traces are written. A trace that is written after the erasure would remain."""


async def erase(request: web.Request) -> web.Response:
    """Erase a conversation, and reply with the numbers of erased entries. Needs the permission `admin`."""
    service = request.app[SERVICE]
    access = service.access(request, "admin")
    ident = request.match_info["id"]
    erased = await erase_conversation(service, ident, access.key)
    answer = {"id": ident, "object": "conversation", "deleted": True, **erased}
    return web.Response(body=orjson.dumps(answer), content_type="application/json")


async def erase_conversation(service: Service, ident: str, by: KeyRecord | None) -> dict[str, int]:
    """Erase a conversation, record this in the audit log, and return the number of erased entries by kind.

    Args:
        service: The objects that handlers share.
        ident: The id of the conversation.
        by: The key that requests the erasure; None on a proxy without keys.

    Raises:
        StoreUnavailable: A store does not answer. A part of the conversation may still be stored.
    """
    requested_at = time.time()
    outcome = "failed"  # also if cancelled: a part may remain
    try:
        erased = await _erase_everywhere(service, ident)
        outcome = "erased" if any(erased.values()) else "not found"
    finally:
        if service.audit is not None:
            record_admin(service.audit, "erase", outcome, key=None, by=by)
    log.warning("conversation erased", **erased)
    service.run_in_background(_erase_late_traces(service, ident, requested_at))
    return erased


async def _erase_late_traces(service: Service, ident: str, requested_at: float) -> None:
    """Delete traces that are written after the erasure: by other processes, in shadow mode, or for turns that still run."""
    for wait_s in (WRITTEN_S, service.config.server.turn_timeout_s + WRITTEN_S):
        await asyncio.sleep(wait_s)
        try:
            backend = trace_backend(service.config.privacy)
            found = await asyncio.to_thread(_delete_traces, service.traces, backend, ident, requested_at)
        except TraceError as error:
            log.error("traces not erased", error=type(error).__name__)
        else:
            if found:
                log.warning("late traces of an erased conversation erased", turns=found)


async def _erase_everywhere(service: Service, ident: str) -> dict[str, int]:
    """Erase a conversation from all stores. Return the numbers of erased states, responses, turns and assistants' entries."""
    states = await service.conversations.forget(ident)
    responses = await service.responses.forget(ident)
    try:
        turns = await asyncio.to_thread(_delete_traces, service.traces, trace_backend(service.config.privacy), ident)
    except TraceError as error:
        log.error("traces not erased", error=type(error).__name__)
        raise StoreUnavailable from None
    try:
        kept = [await models.erase([ident]) for models in {bot.models for bot in service.chatbots.values()}]
    except ModelError as error:
        log.error("assistants have not erased", error=error.kind)
        raise StoreUnavailable from None
    return {"states": states, "responses": responses, "turns": turns, "assistants": sum(kept)}


def _delete_traces(store: TraceStore, backend: TraceBackend, ident: str, begun_before: float = math.inf) -> int:
    """Delete the traces of exactly this conversation, and return their number. This function blocks.

    Args:
        store: The queue of traces that are not written yet.
        backend: The file or database of the traces.
        ident: The whole id of the conversation.
        begun_before: Unix time in seconds. Only traces of turns that began earlier are deleted.

    Raises:
        TraceError: The traces cannot be deleted, or some are not written within `WRITTEN_S`.
    """
    until = time.monotonic() + WRITTEN_S
    while store.waits_for(ident):
        if time.monotonic() > until:
            raise TraceError(
                f"deleting the traces of a conversation: some traces were not written within {WRITTEN_S:g} s; try again"
            )
        time.sleep(0.02)
    if isinstance(backend, Path) and not backend.exists():
        return 0
    with query.open_backend(backend, "ro") as connection:
        # `purge` also accepts the start of an id, and a client may choose an id that another id starts with.
        of_it = connection.execute("SELECT 1 FROM turns WHERE conversation_id = :id LIMIT 1", {"id": ident})
        if of_it.fetchone() is None:
            return 0
    return query.purge(backend, conversation=ident, begun_before=begun_before)
