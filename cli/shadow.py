"""`caf trace shadow`: what the filter would have done on live traffic."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.terminal import ConfigOption, config_path, plain_errors, printable, table_console
from cli.trace import FileOption, JsonOption, app, parse_since

if TYPE_CHECKING:
    from proxy.traces.shadow import ShadowCounts


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
        from proxy.traces.backend import trace_backend
        from proxy.traces.query import iterate_traces
        from proxy.traces.shadow import as_data, count_shadow

        counts = count_shadow(
            iterate_traces(file or trace_backend(load_config(path).privacy), chatbot=chatbot, since=earliest)
        )
    if as_json:
        import json

        typer.echo(json.dumps(as_data(counts), indent=2))
    elif counts.turns:
        _print_table(counts)
    else:
        typer.echo("no turns in shadow; set filter: shadow for a chatbot, or send X-CAF-Filter: shadow")


def _print_table(counts: "ShadowCounts") -> None:
    from rich.table import Table
    from rich.text import Text

    from proxy.traces.shadow import EFFECTS

    left_out = f", of which {counts.not_judged} were not judged" if counts.not_judged else ""
    typer.echo(f"{counts.turns} turns in shadow{left_out}. The filter would have had:\n")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for title in ("turns", *EFFECTS):
        table.add_column(title, justify="right", no_wrap=True)
    for name, counted in (("the filter", counts.filter), *sorted(counts.judges.items())):
        total = counted.total()
        cells = (f"{counted[effect]} ({counted[effect] / total:.1%})" if counted[effect] else "-" for effect in EFFECTS)
        table.add_row(*(Text(printable(cell)) for cell in (name, str(total), *cells)))
    table_console(1_000).print(table)
