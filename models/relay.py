"""Forwards requests to an alias with a bulkhead or fallbacks, and returns the response to relay to the client."""

import asyncio
import time
from collections.abc import Mapping, Sequence

import orjson

from models.alias import Alias
from models.engine import Forwarded
from models.errors import ModelError, error_for_status
from models.openai_engine import retry_after
from models.usage import Call, Ledger, Usage


async def relay(
    aliases: Sequence[Alias], raw: bytes, headers: Mapping[str, str], ledger: Ledger | None, step: str = "forward"
) -> Forwarded:
    """Forward a request to each alias in turn until one answers. The response of the last alias is relayed even if it is an error.

    Args:
        aliases: the alias and its fallbacks, in order.
        raw: the body of the request, with the model of the first alias.
        headers: the client's headers.
        ledger: records failed calls.
        step: name of the step in the ledger.

    Raises:
        ModelError: no alias answered; this is the error of the first alias.
    """
    first_error: ModelError | None = None
    for nth, alias in enumerate(aliases):
        started = time.perf_counter()
        try:
            answer = await _forward(alias, raw if nth == 0 else _name_model(raw, alias), headers)
            if answer.status < 400 or nth == len(aliases) - 1:
                return answer
            retry_after_header = next(
                (value for name, value in answer.headers.items() if name.lower() == "retry-after"), None
            )
            refusal = error_for_status(answer.status, retry_after=retry_after(retry_after_header, time.time()))
            if not refusal.elsewhere:
                return answer
            await answer.close()
            raise refusal
        except ModelError as error:
            error.at(alias.name, step)
            if ledger is not None:
                ms = (time.perf_counter() - started) * 1000
                ledger.add(Call(step, alias.name, ms=ms, usage=Usage(), cost=None, error=error.kind, cause=error.cause))
            first_error = first_error or error
            if not error.elsewhere:
                break
    assert first_error is not None
    raise first_error


async def _forward(alias: Alias, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
    bulkhead = alias.bulkhead
    if bulkhead is None:
        answer = await alias.engine.forward(raw, headers)
    else:
        probe = await bulkhead.enter(asyncio.get_running_loop().time() + alias.settings.timeout_s)
        try:
            answer = await alias.engine.forward(raw, headers)
        except BaseException as error:
            bulkhead.record_end(probe, error)
            bulkhead.leave()
            raise
        bulkhead.relay(answer, probe)
    answer.alias = alias.name
    return answer


def _name_model(raw: bytes, alias: Alias) -> bytes:
    """Return the body of the request with the model of another alias."""
    body = orjson.loads(raw)
    return orjson.dumps({**body, "model": alias.settings.model or alias.name}) if isinstance(body, dict) else raw
