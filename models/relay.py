"""Forwarding where an alias has a guard or a fallback."""

import asyncio
from collections.abc import Mapping, Sequence

import orjson

from models.alias import Alias
from models.engine import Forwarded
from models.errors import ModelError, error_for_status
from models.usage import Call, Ledger, Usage


async def relay(aliases: Sequence[Alias], raw: bytes, headers: Mapping[str, str], ledger: Ledger | None) -> Forwarded:
    """Forward a request to the first alias that answers it; the last one's answer is relayed whatever it says.

    Raises:
        ModelError: what the first alias raised, when nobody has answered.
    """
    failed: ModelError | None = None
    for nth, alias in enumerate(aliases):
        try:
            answer = await _sent(alias, raw if nth == 0 else _for(raw, alias), headers)
            if answer.status < 400 or nth == len(aliases) - 1:
                return answer
            refusal = error_for_status(answer.status)
            if not refusal.elsewhere:
                return answer
            await answer.close()
            raise refusal
        except ModelError as error:
            error.at(alias.name, "forward")
            if ledger is not None:
                ledger.add(Call("forward", alias.name, ms=0.0, usage=Usage(), cost=None, error=error.kind))
            failed = failed or error
            if not error.elsewhere:
                break
    assert failed is not None
    raise failed


async def _sent(alias: Alias, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
    guard = alias.guard
    if guard is None:
        answer = await alias.engine.forward(raw, headers)
    else:
        probe = await guard.enter(asyncio.get_running_loop().time() + alias.settings.timeout_s)
        try:
            answer = await alias.engine.forward(raw, headers)
        except BaseException as error:
            guard.note(probe, error)
            guard.leave()
            raise
        guard.relay(answer, probe)
    answer.alias = alias.name
    return answer


def _for(raw: bytes, alias: Alias) -> bytes:
    """Name another model in a request."""
    body = orjson.loads(raw)
    return orjson.dumps({**body, "model": alias.settings.model or alias.name}) if isinstance(body, dict) else raw
