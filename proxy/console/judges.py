"""The judges pages: evaluations side by side, misjudged cases, and a form that starts an evaluation."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from aiohttp import web
from markupsafe import Markup

from proxy.config.local_judges import describe_local_judges
from proxy.console.admission import admit
from proxy.console.console_request import ConsoleRequest
from proxy.console.evaluations import (
    Evaluation,
    list_evaluations,
    read_evaluation,
    start_evaluation,
    stop_evaluation,
)
from proxy.console.form import read_form
from proxy.console.journal import record_action
from proxy.console.plot import SHARES, Axis, Point, Series, draw_lines
from proxy.console.saved_files import Damaged, Json
from proxy.protocol.errors import BadRequest

HOME = "/console/judges"
MOST_COMPARED = 5
"""Maximum number of evaluations side by side: one for each colour of a curve."""
MISJUDGED_SHOWN = 60
STAGES = {
    "cascade": "All stages, as configured",
    "local": "Local stage",
    "swift": "Swift stage",
    "chief": "Chief stage",
}
SPLITS = {"dev": "Development cases", "holdout": "Held-out cases (each use is counted)", "all": "All cases"}


@dataclass(frozen=True, slots=True)
class Column:
    """The result of one evaluation for one judge."""

    evaluation: Evaluation
    figures: Json | None
    """None: the evaluation does not include this judge."""
    style: str


async def show_judges(console: ConsoleRequest) -> web.Response:
    """Show the latest evaluations side by side."""
    all_evaluations: list[Evaluation] = []
    fault = ""
    try:
        all_evaluations = await asyncio.to_thread(list_evaluations, _folder(console))
    except Damaged as error:
        fault = str(error)
    evaluations = [one for one in all_evaluations if _may_see(console, one)]
    chosen = console.request.query.getall("with", [])
    done = [one for one in evaluations if one.state == "done"]
    compared = ([one for one in done if one.name in chosen] or done)[:MOST_COMPARED]
    names = list(dict.fromkeys(name for one in compared for name in one.judges))
    rows = {name: [Column(one, one.judges.get(name), f"a{n}") for n, one in enumerate(compared)] for name in names}
    return console.render(
        "judges/index.html", evaluations=evaluations, compared=compared, rows=rows,
        curves={name: draw_roc(name, columns) for name, columns in rows.items()},
        fault=fault, stages=STAGES, splits=SPLITS, bots={bot.name: bot.judges for bot in console.bots},
        local=describe_local_judges({bot.name: bot.settings for bot in console.bots}),
    )  # fmt: skip


async def show_evaluation(console: ConsoleRequest) -> web.Response:
    """Show one evaluation with its filtered misjudged cases."""
    evaluation = await _find(console)
    query = {name: console.request.query.get(name, "") for name in ("judge", "kind", "family")}
    cases = [
        case
        for case in evaluation.misjudged
        if query["judge"] in ("", case["judge"])
        and query["kind"] in ("", kind_of(case))
        and query["family"] in ("", case["family"])
    ]
    if cases and console.may("trace"):
        record_action(console.service, "console_read", console.access.key, evaluation=evaluation.name, cases=len(cases))
    return console.render(
        "judges/evaluation.html", one=evaluation, kept=cases[:MISJUDGED_SHOWN], found=len(cases), kind_of=kind_of, query=query,
        families=Counter(case["family"] for case in evaluation.misjudged).most_common(),
        curve=draw_roc(
            evaluation.name,
            [Column(evaluation, figures, f"a{n % 5}") for n, figures in enumerate(evaluation.judges.values())],
        ),
    )  # fmt: skip


async def show_progress(console: ConsoleRequest) -> web.Response:
    """Show the progress of an evaluation."""
    return console.render("judges/_progress.html", one=await _find(console))


async def start(console: ConsoleRequest) -> web.Response:
    """Start an evaluation from a form.

    Raises:
        BadRequest: A field is invalid, another evaluation is running, or the proxy has no configuration file.
    """
    form = await read_form(console.request)
    config = console.service.config.file
    if config is None:
        raise BadRequest("An evaluation needs a configuration file. Start the proxy with `caf serve --config FILE`.")
    stage, split, chatbot = (form.get(name, "") for name in ("stage", "split", "chatbot"))
    if stage not in STAGES or split not in SPLITS or chatbot not in console.chatbots:
        raise BadRequest("The evaluation cannot start: choose a chatbot, a stage and cases from the lists.")
    options = ["--stage", stage, "--split", split, "--chatbot", chatbot]
    judges = form.getall("judge", [])
    if not {*judges}.issubset(chain.from_iterable(bot.judges for bot in console.bots)):
        raise BadRequest("The evaluation cannot start: choose judges from the list.", param="judge")
    for judge in judges:
        options += ["--judge", judge]
    options += [
        *_number(form.get("limit", ""), "limit", whole=True),
        *_number(form.get("budget", ""), "budget"),
    ]
    try:
        evaluations = await asyncio.to_thread(list_evaluations, _folder(console))
    except Damaged as error:
        raise BadRequest(
            f"The evaluation cannot start, because the folder of evaluations cannot be read: {error}."
        ) from None
    running = [one for one in evaluations if one.state == "running"]
    if running:
        raise BadRequest("Another evaluation is running. Wait until it has finished, or stop it.")
    try:
        name = await asyncio.to_thread(start_evaluation, _folder(console), config, options, chatbot)
    except FileExistsError:  # another request was faster
        raise BadRequest("Another evaluation is running. Wait until it has finished, or stop it.") from None
    record_action(console.service, "console_evaluate", console.access.key, evaluation=name)
    return console.see_other(f"{HOME}/{name}")


async def stop(console: ConsoleRequest) -> web.Response:
    """Stop a running evaluation."""
    evaluation = await _find(console)
    if stop_evaluation(evaluation):
        record_action(console.service, "console_stop_evaluation", console.access.key, evaluation=evaluation.name)
    return console.see_other(f"{HOME}/{evaluation.name}")


def kind_of(case: Json) -> str:
    """Return the kind of error of a misjudged case: `missed`, `false alarm` or `unjudged`."""
    if case["verdict"] == "unjudged":
        return "unjudged"
    expected = case["expected"] if isinstance(case["expected"], list) else [case["expected"]]
    return "false alarm" if "accept" in expected else "missed"


def draw_roc(title: str, columns: Sequence[Column]) -> Markup | None:
    """Draw the ROC curves of several evaluations or judges; None: no curve has been computed."""
    curves = [
        Series(column.evaluation.name, [Point(x, y) for x, y in column.figures["roc"]], column.style, marked=False)
        for column in columns
        if column.figures and column.figures.get("roc")
    ]
    if not curves:
        return None
    chance = Series("Chance", [Point(0, 0), Point(1, 1)], "chance", marked=False)
    x = Axis(0, 1, SHARES.ticks, "Harmless cases flagged")
    return draw_lines([chance, *curves], x, Axis(0, 1, SHARES.ticks, "Violating cases flagged"), f"ROC curves: {title}")


async def _find(console: ConsoleRequest) -> Evaluation:
    """Return the evaluation in the address. Raises: web.HTTPNotFound: no such evaluation, or the client may not see it."""
    evaluation = await asyncio.to_thread(read_evaluation, _folder(console), console.request.match_info["name"])
    if evaluation is None or not _may_see(console, evaluation):
        raise web.HTTPNotFound
    return evaluation


def _may_see(console: ConsoleRequest, evaluation: Evaluation) -> bool:
    """Return whether the client may see an evaluation. One without a chatbot needs access to every chatbot."""
    return console.access.may_ask("") if evaluation.chatbot is None else evaluation.chatbot in console.chatbots


def _folder(console: ConsoleRequest) -> Path:
    return console.service.config.console.evaluations


def _number(text: str, name: str, *, whole: bool = False) -> list[str]:
    if not text.strip():
        return []
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = -1
    if not 0 <= value < 1e9:
        raise BadRequest(
            f"Invalid {name} {text.strip()[:40]!r}: expected a number of at least 0. For no {name}, leave the field empty.",
            param=name,
        )
    return [f"--{name}", str(value)]


ROUTES = [
    web.get(HOME, admit(show_judges)),
    web.post(HOME, admit(start, "admin")),
    web.get(f"{HOME}/{{name}}", admit(show_evaluation)),
    web.get(f"{HOME}/{{name}}/progress", admit(show_progress)),
    web.post(f"{HOME}/{{name}}/stop", admit(stop, "admin")),
]
