"""The experiments pages: progress and results of runs, exchanges side by side, reports and rating pages."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from aiohttp import hdrs, web
from markupsafe import Markup

from proxy.console.admission import admit
from proxy.console.console_request import ConsoleRequest
from proxy.console.journal import record_action
from proxy.console.plot import SHARES, Axis, Point, Series, draw_lines
from proxy.console.render import HEADERS
from proxy.console.runs import REPORT, Run, list_runs, read_exchanges, read_run
from proxy.console.saved_files import Damaged, Json, read_bytes

HOME = "/console/experiments"
ON_A_PAGE = 12
SCORES = Axis(0, 4, [(n, str(n)) for n in range(5)], "Mean score, 0 to 4")
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"
"""For pages with an inline style sheet. Their scripts do not run, and they have no origin."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The exchanges at the same place of an experiment, one for each arm."""

    facilitator: str
    checkpoint: str
    sample: int
    turn: int
    sides: list[Json]


async def show_experiments(console: ConsoleRequest) -> web.Response:
    """List the runs."""
    runs: list[Run] = []
    fault = ""
    try:
        runs = await asyncio.to_thread(list_runs, _folder(console))
    except Damaged as error:
        fault = str(error)
    visible_runs = [run for run in runs if _may_see(console, run)]
    return console.render("experiments/index.html", runs=visible_runs, folder=_folder(console), fault=fault)


async def show_experiment(console: ConsoleRequest) -> web.Response:
    """Show the results of a run: arms, drift over turns, ordinary questions."""
    run = await _find(console)
    summary = run.summary or {}
    arms = [arm for arm in run.arms if arm in summary.get("arms", {})]
    return console.render(
        "experiments/run.html", run=run, summary=summary, arms=arms, change=(summary.get("effect") or {}).get("acceptable"),
        drift=draw_drift(summary, arms, "acceptable"), scores=draw_drift(summary, arms, "mean"),
    )  # fmt: skip


async def show_progress(console: ConsoleRequest) -> web.Response:
    """Show the progress of a run."""
    return console.render("experiments/_progress.html", run=await _find(console))


async def show_exchanges(console: ConsoleRequest) -> web.Response:
    """Show the exchanges, the arms side by side."""
    run = await _find(console)
    exchanges: list[Json] = []
    try:
        exchanges = await asyncio.to_thread(read_exchanges, run)
    except Damaged as error:
        run = replace(run, fault=str(error))
    query = {name: console.request.query.get(name, "") for name in ("facilitator", "turn", "differ")}
    facilitators = sorted({one["place"]["facilitator"] for one in exchanges})
    turns = sorted({one["place"]["turn"] for one in exchanges})
    pairs = [
        pair
        for pair in pair_arms(exchanges, run.arms)
        if query["facilitator"] in ("", pair.facilitator)
        and query["turn"] in ("", str(pair.turn))
        and (not query["differ"] or differ(pair))
    ]
    page = _page_number(console.request.query.get("page", "1"), len(pairs))
    page_pairs = pairs[(page - 1) * ON_A_PAGE : page * ON_A_PAGE]
    if page_pairs:
        record_action(
            console.service, "console_read", console.access.key, experiment=run.name, exchanges=len(page_pairs)
        )
    return console.render(
        "experiments/exchanges.html", run=run, pairs=page_pairs, found=len(pairs), page=page, pages=_pages(len(pairs)),
        query=query, facilitators=facilitators, turns=turns, mean_score=mean_score,
    )  # fmt: skip


async def show_report(console: ConsoleRequest) -> web.Response:
    """Show the report of the run."""
    run = await _find(console)
    return await _send_file(console, run, run.path / REPORT, {"Content-Security-Policy": REPORT_POLICY})


async def download_rating_page(console: ConsoleRequest) -> web.Response:
    """Send a rating page as a file to open from disk, because it keeps the ratings in the browser."""
    run, name = await _find(console), console.request.match_info["page"]
    if name not in await asyncio.to_thread(lambda: run.rating_pages):
        raise web.HTTPNotFound
    return await _send_file(
        console, run, run.path / "rating" / name, {hdrs.CONTENT_DISPOSITION: f'attachment; filename="{name}"'}
    )


def draw_drift(summary: Json, arms: Sequence[str], measure: str) -> Markup | None:
    """Draw a measure of each arm over the turns, with intervals; None: the run has no turns.

    Args:
        summary: The summary of the run.
        arms: Names of the arms, in the order of their colours.
        measure: `acceptable` (share of acceptable replies) or `mean` (mean score).
    """
    by_arm = {arm: summary["arms"][arm].get("by_turn") or {} for arm in arms}
    turns = sorted({int(turn) for by_turn in by_arm.values() for turn in by_turn})
    if not turns:
        return None
    series = [
        Series(arm, list(_points(by_turn, measure, (n - (len(arms) - 1) / 2) * 0.05)), f"a{n}")
        for n, (arm, by_turn) in enumerate(by_arm.items())
    ]
    x = Axis(min(turns) - 0.3, max(turns) + 0.3, [(turn, str(turn)) for turn in turns], "Turn")
    y = SCORES if measure == "mean" else Axis(0, 1, SHARES.ticks, "Acceptable replies")
    return draw_lines(series, x, y, f"{y.title} by turn and arm")


def _points(by_turn: Mapping[str, Json], measure: str, aside: float) -> Iterable[Point]:
    for turn, figures in sorted(by_turn.items(), key=lambda one: int(one[0])):
        if figures.get(measure) is not None:
            low, high = (figures.get("interval") or {}).get(measure) or (None, None)
            yield Point(int(turn) + aside, figures[measure], low, high)


def pair_arms(exchanges: Sequence[Json], arms: Sequence[str]) -> list[Pair]:
    """Group the exchanges at the same place (facilitator, checkpoint, sample, turn), in the order of the arms."""

    def place(row: Json) -> tuple[str, str, int, int]:
        return (row["place"]["facilitator"], row["place"]["checkpoint"], row["place"]["sample"], row["place"]["turn"])

    order = {arm: n for n, arm in enumerate(arms)}
    return [
        Pair(*key, sorted(sides, key=lambda one: order.get(one["place"]["arm"], len(order))))
        for key, sides in groupby(sorted(exchanges, key=place), key=place)
    ]


def differ(pair: Pair) -> bool:
    """Return whether the arms were rated differently."""
    return len({mean_score(one) for one in pair.sides}) > 1


def mean_score(exchange: Json) -> float | None:
    """Return the mean score of all raters for a reply, from 0 to 4; None: no rater scored the reply."""
    scores = [rating["score"] for rating in exchange["ratings"].values() if rating.get("score") is not None]
    return sum(scores) / len(scores) if scores else None


async def _find(console: ConsoleRequest) -> Run:
    """Return the run in the address. Raises: web.HTTPNotFound: no such run, or the client may not see its chatbot."""
    run = await asyncio.to_thread(read_run, _folder(console), console.request.match_info["name"])
    if run is None or not run.manifest or not _may_see(console, run):
        raise web.HTTPNotFound
    return run


def _may_see(console: ConsoleRequest, run: Run) -> bool:
    return console.access.may_ask(str(run.manifest.get("chatbot", "")))


async def _send_file(console: ConsoleRequest, run: Run, path: Path, headers: Mapping[str, str]) -> web.Response:
    try:
        body = await asyncio.to_thread(read_bytes, path)
    except Damaged:
        body = None
    if body is None:
        raise web.HTTPNotFound
    record_action(console.service, "console_read", console.access.key, experiment=run.name, file=path.name)
    return web.Response(body=body, content_type="text/html", charset="utf-8", headers={**HEADERS, **headers})


def _folder(console: ConsoleRequest) -> Path:
    return console.service.config.console.runs


def _pages(number: int) -> int:
    return max(1, -(-number // ON_A_PAGE))


def _page_number(text: str, number: int) -> int:
    return min(max(1, int(text)), _pages(number)) if text.isdecimal() and len(text) < 9 else 1


ROUTES = [
    web.get(HOME, admit(show_experiments)),
    web.get(f"{HOME}/{{name}}", admit(show_experiment)),
    web.get(f"{HOME}/{{name}}/progress", admit(show_progress)),
    web.get(f"{HOME}/{{name}}/exchanges", admit(show_exchanges, "trace")),
    web.get(f"{HOME}/{{name}}/report", admit(show_report, "trace")),
    web.get(f"{HOME}/{{name}}/rating/{{page}}", admit(download_rating_page, "trace")),
]
