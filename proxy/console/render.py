"""Renders templates, with security headers. Every value is escaped, because drafts may contain markup."""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from aiohttp import web
from markupsafe import Markup

from proxy.console.words import describe_outcome, describe_step, plain
from proxy.traces.redaction import redacted_length

if TYPE_CHECKING:
    from jinja2 import Environment

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'none'; "
        "form-action 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer browsers would send forms with `Origin: null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""No inline styles or scripts, no resources of other sites, no framing, no browser cache."""


def render(template: str, context: Mapping[str, Any], *, status: int = 200) -> web.Response:
    """Return a response with a rendered template of `proxy/console/templates`."""
    text = environment().get_template(template).render(context)
    body = text.encode(errors="replace")  # a text may contain half of a surrogate pair
    return web.Response(status=status, body=body, content_type="text/html", charset="utf-8", headers=HEADERS)


@cache
def environment() -> "Environment":
    """Return the template environment. Jinja is imported at the first use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("proxy.console"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=show_directions,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "when": to_datetime,
        "ms": ms,
        "count": count,
        "share": share,
        "plain": plain,
        "outcome": describe_outcome,
        "step": describe_step,
        "redacted_length": redacted_length,
        "options": to_options,
    }
    return made


def to_datetime(seconds: float) -> datetime:
    """Return a Unix time as a UTC datetime. console.js shows it in the browser's locale and time zone."""
    return datetime.fromtimestamp(seconds, UTC)


def ms(value: float | None) -> str:
    """Format a duration given in milliseconds: `840 ms`, `3.2 s`."""
    if value is None:
        return "–"
    if value < 10:
        return f"{value:.1f} ms"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.1f} s"


def count(value: float | None) -> str:
    """Format a number with thin spaces between thousands; None: a dash."""
    return "–" if value is None else f"{value:,.0f}".replace(",", "\u202f")


def share(part: float, whole: float) -> str:
    """Format part / whole as a percentage; a dash if `whole` is 0."""
    if not whole or math.isnan(part):
        return "–"
    value = 100 * part / whole
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{value:.1f} %"


def to_options(values: Iterable[str], *, as_words: bool = False) -> dict[str, str]:
    """Return values as options of a select field. The labels are the values, with spaces if `as_words`."""
    return {value: plain(value) if as_words else value for value in values}


DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def show_directions(value: object) -> object:
    """Replace bidirectional control characters by their names, so that no text can hide its true order.

    Jinja calls this function for every value of a template.
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return DIRECTIONS.sub(lambda match: f"\u27e6U+{ord(match[0]):04X}\u27e7", value)
