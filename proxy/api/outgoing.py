"""Selects the fields of an upstream's answer to forward: only enumerated values and formats that cannot contain text. Pure."""

import re
from typing import Any

from models.engine import Body

TIERS = ("auto", "default", "fast", "flex", "priority", "scale")
_FINGERPRINT = re.compile(r"(?:fp_)?[0-9a-f]{1,32}")
CUT_OFF = ("length", "content_filter")
"""Values of `finish_reason` for an incomplete answer. They are kept even if the answer calls a tool."""


def upstream_fields(upstream: Body) -> Body:
    """Return the fields of an upstream's answer that describe its system: `system_fingerprint` and `service_tier`."""
    fields: Body = {}
    fingerprint, tier = upstream.get("system_fingerprint"), upstream.get("service_tier")
    if isinstance(fingerprint, str) and _FINGERPRINT.fullmatch(fingerprint):
        fields["system_fingerprint"] = fingerprint
    if tier in TIERS:
        fields["service_tier"] = tier
    return fields


def finish_reason(given: Any, message: Body) -> str:
    """Return the finish_reason of a choice.

    Args:
        given: The upstream's finish_reason; None: its text was replaced.
        message: The delivered message.
    """
    if given in CUT_OFF:
        return str(given)
    if message.get("tool_calls"):
        return "tool_calls"
    return "function_call" if message.get("function_call") else "stop"
