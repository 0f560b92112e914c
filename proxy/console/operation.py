"""The operations page: traffic, durations and cost over time, and the status of the proxy."""

import asyncio
import time

from aiohttp import web

from proxy.console.activity import bucket_times, draw_activity, list_steps
from proxy.console.admission import admit
from proxy.console.console_request import ConsoleRequest
from proxy.console.list_query import read_query
from proxy.console.period import PERIOD_LABELS, PERIODS
from proxy.console.process_figures import ProcessFigures, read_figures
from proxy.console.trace_reading import NoTraces, read_traces
from proxy.traces.counts import Counts, count_turns
from proxy.traces.fact_query import TurnFilter

HOME = "/console/operation"
REFRESH_S = 15


async def show_operation(console: ConsoleRequest) -> web.Response:
    """Show the page."""
    return await _render(console, "operation/index.html")


async def show_figures(console: ConsoleRequest) -> web.Response:
    """Show the figures alone. The page reloads them every `REFRESH_S` seconds."""
    return await _render(console, "operation/_figures.html")


async def _render(console: ConsoleRequest, template: str) -> web.Response:
    query = read_query(console.request.query, {"period": PERIODS, "chatbot": console.chatbots}, {"period": "day"})
    period, chatbot = PERIODS[query.get("period")], query.get("chatbot")
    chatbots = [chatbot] if chatbot else console.chatbots
    now = time.time()
    since, until = bucket_times(period, now)
    counts, trouble = Counts([], None, 0), None  # type: ignore[arg-type]
    try:
        counts = await read_traces(
            console.service, count_turns, TurnFilter(chatbots=frozenset(chatbots)),
            since=since, until=until, width=period.bucket_s,
        )  # fmt: skip
    except NoTraces as error:
        trouble = error
    return console.render(
        template,
        period=period, periods=PERIOD_LABELS, chatbot=chatbot, trouble=trouble, now=now,
        total=None if trouble else counts.all, to_index=counts.to_index,
        plots=draw_activity(counts, period) if not trouble and counts.all.turns else [],
        steps=[] if trouble else list_steps(counts.all.steps),
        figures=await _read_figures(console), refresh_s=REFRESH_S,
        here=f"{HOME}/figures{query.address()}",
    )  # fmt: skip


async def _read_figures(console: ConsoleRequest) -> ProcessFigures | None:
    """Return the metrics of the proxy; None: the client's key is limited to some chatbots, and the metrics cover all.

    With `admin`, a client can read the same metrics at /metrics.
    """
    key = console.access.key
    if key is not None and key.chatbots is not None and not console.may("admin"):
        return None
    return read_figures(await asyncio.to_thread(console.service.metrics.values))


ROUTES = [
    web.get(HOME, admit(show_operation)),
    web.get(f"{HOME}/figures", admit(show_figures)),
]
