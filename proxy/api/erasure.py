"""DELETE /admin/conversations/{id}: forget a conversation, everywhere that this proxy keeps something of it.

The audit log holds nothing to erase, and gets a record that something was. A turn that is still open remembers itself
afterwards: ask when the conversation has ended. Its trace goes all the same.
"""

import asyncio
import math
import time
from pathlib import Path

import orjson
import structlog
from aiohttp import web

from proxy.api.service import SERVICE, Service
from proxy.audit.admin import record_admin
from proxy.traces import query
from proxy.traces.backend import TraceBackend, TraceError, place_of
from proxy.traces.store import TraceStore
from proxy.wire.errors import StoreUnavailable

log = structlog.get_logger()

WRITTEN_S = 5.0
"""How long traces that wait for their writer may take: erased before that, they would be written after it."""


async def erase(request: web.Request) -> web.Response:
    """Forget a conversation, and say how much of it there was; a key needs `admin` for it."""
    service = request.app[SERVICE]
    access = service.access(request, "admin")
    ident = request.match_info["id"]
    asked = time.time()
    outcome = "failed"  # or cut short: then nobody knows what is left of it
    try:
        found = await _erased(service, ident)
        outcome = "erased" if any(found.values()) else "not found"
    finally:
        if service.audit is not None:
            record_admin(service.audit, "erase", outcome, key=None, by=access.key)
    log.warning("conversation erased", **found)
    service.later(_once_more(service, ident, asked))
    answer = {"id": ident, "object": "conversation", "deleted": True, **found}
    return web.Response(body=orjson.dumps(answer), content_type="application/json")


async def _once_more(service: Service, ident: str, asked: float) -> None:
    """Delete the traces that were written after that: by other processes, of turns judged in shadow, of turns that were open."""
    for wait_s in (WRITTEN_S, service.config.server.turn_timeout_s + WRITTEN_S):
        await asyncio.sleep(wait_s)
        try:
            found = await asyncio.to_thread(_traces, service.traces, place_of(service.config.privacy), ident, asked)
        except TraceError as error:
            log.error("traces not erased", error=type(error).__name__)
        else:
            if found:
                log.warning("more of an erased conversation erased", turns=found)


async def _erased(service: Service, ident: str) -> dict[str, int]:
    """Forget a conversation, and return how much of it there was in each place."""
    states = await service.conversations.forget(ident)
    responses = await service.responses.forget(ident)
    try:
        turns = await asyncio.to_thread(_traces, service.traces, place_of(service.config.privacy), ident)
    except TraceError as error:
        log.error("traces not erased", error=type(error).__name__)
        raise StoreUnavailable from None
    return {"states": states, "responses": responses, "turns": turns}


def _traces(store: TraceStore, place: TraceBackend, ident: str, begun_before: float = math.inf) -> int:
    """Delete the traces of exactly this conversation, of turns that began before a Unix time. Blocks."""
    until = time.monotonic() + WRITTEN_S
    while store.waits_for(ident):
        if time.monotonic() > until:
            raise TraceError("its traces are not written yet")
        time.sleep(0.02)
    if isinstance(place, Path) and not place.exists():
        return 0
    with query.opened(place, "ro") as connection:
        # Not a beginning of an id, which `purge` would take too: a client may have chosen one that begins another's.
        of_it = connection.execute("SELECT 1 FROM turns WHERE conversation_id = :id LIMIT 1", {"id": ident})
        if of_it.fetchone() is None:
            return 0
    return query.purge(place, conversation=ident, begun_before=begun_before)
