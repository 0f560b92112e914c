"""The records of the audit log: configuration, keys and the end of each turn. For administrative actions, see `admin.py`."""

import asyncio
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import aiohttp
import orjson

from knowledge_base.library import Source
from models.usage import Call
from proxy.audit.log import AuditLog
from proxy.auth.key_ring import KeyRing
from proxy.auth.keys import KeyRecord
from proxy.config.blueprint import Blueprint
from proxy.config.config import Config
from proxy.traces.trace import Trace


def open_audit_log(config: Config, blueprints: Mapping[str, Blueprint], keys: KeyRing | None) -> AuditLog | None:
    """Start the audit log of a proxy and record changes of its keys. Returns None if no audit log is configured.

    Raises:
        ConfigError: The folder of the log is not writable.
    """
    if config.audit is None:
        return None
    audit = AuditLog(config.audit.folder, config.audit.sync)
    audit.start()
    modes = {name: bot.filter if bot.kind != "passthrough" else bot.kind for name, bot in config.chatbots.items()}
    audit.record("config", sha256=fingerprint(config, blueprints), chatbots=modes)
    if keys is not None:
        audit.record("keys", keys=[{"key": record.id, **describe_rights(record)} for record in keys.records])
        keys.on_change = lambda before, after: record_key_changes(audit, before, after)
    return audit


def fingerprint(config: Config, blueprints: Mapping[str, Blueprint]) -> str:
    """Return the SHA-256 of everything that affects replies: settings, roles, prompts, judge classes and sections."""
    plans = [
        [name, sorted(one_hash for plan in one.plans for one_hash in plan.hashes.values()), _sections(one)]
        for name, one in sorted(blueprints.items())
    ]
    settings = config.model_dump(mode="json")
    return hashlib.sha256(orjson.dumps([settings, plans], option=orjson.OPT_SORT_KEYS)).hexdigest()


def _sections(blueprint: Blueprint) -> list[tuple[str, str, str, str]]:
    library: Mapping[str, Source] = blueprint.library or {}
    return sorted((ident, source.title, source.summary, source.text) for ident, source in library.items())


def record_turn(audit: AuditLog, trace: Trace, *, keyed: bool) -> None:
    """Record how a turn ended.

    Args:
        keyed: Whether the client used a configured key, which has a random id. Otherwise `trace.key_id` is a hash of a secret and
            is left out.
    """
    audit.record(
        "turn", turn=trace.turn_id, chatbot=trace.chatbot, filter=trace.filter, key=trace.key_id if keyed else None,
        outcome=trace.outcome if trace.error is None else None, error=trace.error, ms=round(trace.ms),
    )  # fmt: skip


def record_passthrough(
    audit: AuditLog, chatbot: str, key: KeyRecord | None, calls: Sequence[Call], fault: BaseException | None
) -> None:
    """Record a request that a passthrough chatbot forwarded. It is not judged, so its outcome is `unfiltered`.

    Args:
        calls: The model calls of the request. The last one has the error: of the upstream, of a broken stream, or `cancelled` when
            the client left early.
        fault: The exception that ended the request, if any.
    """
    error = calls[-1].error if calls else None
    left = isinstance(fault, asyncio.CancelledError | aiohttp.ClientConnectionResetError)
    if fault is not None and not (left and calls):  # after the call has ended, leaving is not an error
        error = "cancelled" if left else type(fault).__name__  # the same code as for turns
    audit.record(
        "turn", turn=secrets.token_hex(16), chatbot=chatbot, filter="passthrough", key=key.id if key else None,
        outcome="unfiltered" if error is None else None, error=error,
    )  # fmt: skip


def record_key_changes(audit: AuditLog, before: Mapping[str, KeyRecord], after: Mapping[str, KeyRecord]) -> None:
    """Record every key that differs between two versions of the key file."""
    for ident in sorted(before.keys() | after.keys()):
        old, new = before.get(ident), after.get(ident)
        if old != new:
            audit.record("key", key=ident, change=_change(old, new), **({} if new is None else describe_rights(new)))


def describe_rights(key: KeyRecord) -> dict[str, Any]:
    """Return a key's validity and rights, without its owner and secret."""
    rights = key.model_dump(
        mode="json", exclude={"id", "name", "salt", "hash", "created", "revoked"}, exclude_none=True
    )
    return {"valid": key.revoked is None, "rights": rights}


def _change(old: KeyRecord | None, new: KeyRecord | None) -> Literal["created", "removed", "revoked", "changed"]:
    if old is None:
        return "created"
    if new is None:
        return "removed"
    return "revoked" if new.revoked is not None and old.revoked is None else "changed"
