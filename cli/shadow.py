"""`caf trace shadow`: what the filter would have done on live traffic."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from cli.terminal import ConfigOption, config_path, plain_errors, printable
from cli.trace import FileOption, JsonOption, app, parse_since

EFFECTS = ("accepted", "warned", "refined", "replaced", "emergency", "unjudged")
"""What is counted: of the filter, of turns; of a judge, what its verdict led to."""
_SEVERITY = {"accept": 0, "warn": 1, "unjudged": 2, "reject": 3}


@app.command()
def shadow(
    file: FileOption = None,
    config: ConfigOption = None,
    chatbot: Annotated[str | None, typer.Option(help="Only this chatbot.")] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="Only later turns: 30m, 2h, 7d, or a time such as 2026-01-31T14:00."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Count what the filter would have done on live traffic.

    Of the turns of chatbots with `filter: shadow`: how many it would have accepted, warned about, refined, replaced by the
    fallback message, or answered with the emergency text; then, for each judge, what its verdicts on the first draft would have
    led to. A judge that is unjudged has failed; with `on_error: closed` that alone replaces the reply.

    \b
    Examples:
      caf trace shadow
      caf trace shadow --chatbot schizophrenia --since 7d
      caf trace shadow --json | jq '.judges.role.refined'
    """
    earliest = None if since is None else parse_since(since)
    path = config_path(config)
    with plain_errors(path):
        from proxy.config.config import load_config
        from proxy.traces.backend import place_of
        from proxy.traces.query import every

        found = count(every(file or place_of(load_config(path).privacy), chatbot=chatbot, since=earliest))
    if as_json:
        import json

        typer.echo(json.dumps(as_data(found), indent=2))
    elif found.turns:
        _print_table(found)
    else:
        typer.echo("no turns in shadow; set filter: shadow for a chatbot, or send X-CAF-Filter: shadow")


@dataclass(slots=True)
class Counted:
    """Turns in shadow, counted."""

    turns: int = 0
    not_judged: int = 0
    """Turns whose judging failed, was left out under load, or was cut short by the end of the process."""
    filter: Counter[str] = field(default_factory=Counter)
    """Turns by effect."""
    judges: dict[str, Counter[str]] = field(default_factory=dict)
    """For each judge, turns by what its verdict would have led to."""


def count(traces: Iterable[dict[str, Any]]) -> Counted:
    """Count the turns in shadow among some traces. Turns that ended in an error are left out."""
    found = Counted()
    for trace in traces:
        if trace["filter"] != "shadow" or trace["error"]:
            continue
        found.turns += 1
        would = trace.get("would")
        if would is None:
            found.not_judged += 1
            continue
        found.filter[_effect(would)] += 1
        for judge, verdict in _verdicts(trace).items():
            found.judges.setdefault(judge, Counter())[_led_to(judge, verdict, would)] += 1
    return found


def _effect(would: str) -> str:
    return {"fallback": "replaced", "unfiltered": "accepted"}.get(would, would)


def _led_to(judge: str, verdict: str, would: str) -> str:
    if verdict in ("warn", "reject") and judge == "emergency":
        return "emergency"
    if verdict == "reject":
        return "replaced" if would == "fallback" else "refined"
    return {"accept": "accepted", "warn": "warned"}.get(verdict, verdict)


def _verdicts(trace: dict[str, Any]) -> dict[str, str]:
    """Return what each judge ended on: of the user's message, and of the drafts before any refinement; of several the worst."""
    found: dict[str, str] = {}
    for judgements in _judged(trace):
        last = {one["judge"]: one["verdict"] for one in judgements}
        for judge, verdict in last.items():
            found[judge] = max(found.get(judge, "accept"), verdict, key=_SEVERITY.__getitem__)
    return found


def _judged(trace: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    yield trace["emergency"]
    yield from (attempt["judgements"] for attempt in trace["attempts"] if attempt["kind"] != "refinement")


def as_data(found: Counted) -> dict[str, Any]:
    """Return the counts for programs."""

    def effects(counted: Counter[str]) -> dict[str, int]:
        return {effect: counted[effect] for effect in EFFECTS}

    judges = {judge: effects(counted) for judge, counted in sorted(found.judges.items())}
    return {"turns": found.turns, "not_judged": found.not_judged, "filter": effects(found.filter), "judges": judges}


def _print_table(found: Counted) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    left_out = f", of which {found.not_judged} were not judged" if found.not_judged else ""
    typer.echo(f"{found.turns} turns in shadow{left_out}. The filter would have had:\n")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for title in ("turns", *EFFECTS):
        table.add_column(title, justify="right", no_wrap=True)
    for name, counted in (("the filter", found.filter), *sorted(found.judges.items())):
        total = counted.total()
        cells = (f"{counted[effect]} ({counted[effect] / total:.1%})" if counted[effect] else "-" for effect in EFFECTS)
        table.add_row(*(Text(printable(cell)) for cell in (name, str(total), *cells)))
    console = Console(highlight=False)
    (console if console.is_terminal else Console(highlight=False, width=1_000)).print(table)
