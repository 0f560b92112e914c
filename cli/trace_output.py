"""The tables that `caf trace` prints."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

import typer
from rich.table import Table
from rich.text import Text

from cli.drawing import figure_table, table_console
from cli.terminal import printable
from proxy.traces.labels import Label
from proxy.traces.query import TurnLine
from proxy.traces.shadow import EFFECTS, ShadowCounts

SHORT_ID = 8
"""Characters of an id that are shown; any unique prefix is accepted."""
COLOURS = {"emergency": "red", "fallback": "red", "unjudged": "magenta", "refined": "yellow", "warned": "yellow"}


def summarise_verdicts(turn: TurnLine) -> str:
    """Name the judges by their verdicts, those other than accept first; with the stage where a model was asked, and how often."""
    judges: dict[str, Counter[str]] = {}
    for one in sorted(turn.verdicts, key=lambda one: one.verdict == "accept"):
        judge = one.judge if one.stage == "local" else f"{one.judge} ({one.stage})"
        judges.setdefault(one.verdict, Counter())[judge] += 1
    return "; ".join(
        f"{verdict}: " + ", ".join(f"{judge} x{n}" if n > 1 else judge for judge, n in by.items())
        for verdict, by in judges.items()
    ) or "not judged"  # fmt: skip


def print_table(turns: Sequence[TurnLine], labels_by_turn: Mapping[str, Sequence[Label]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("time", "turn", "conversation", "n", "chatbot", "outcome", "ms", "judges", "tokens"):
        right = title in ("n", "ms", "tokens")
        table.add_column(title, justify="right" if right else "left", overflow="fold", no_wrap=title != "judges")
    for turn in turns:
        outcome = f"error {turn.error}" if turn.error else turn.outcome
        row = (
            f"{datetime.fromtimestamp(turn.started):%Y-%m-%d %H:%M:%S}",
            turn.turn_id[:SHORT_ID],
            turn.conversation_id[:SHORT_ID],
            str(turn.turn),
            turn.chatbot,
            f"{outcome} ({turn.would})" if turn.would else outcome,
            f"{turn.ms:.0f}",
            "; ".join(
                [
                    summarise_verdicts(turn),
                    *(f"a person: {one.judge} should be {one.verdict}" for one in labels_by_turn.get(turn.turn_id, ())),
                ]
            ),
            f"{turn.prompt_tokens}+{turn.completion_tokens}",
        )
        colour = COLOURS.get(outcome, "")
        table.add_row(*(Text(printable(cell), style=colour if cell is outcome else "") for cell in row))
    table_console(1_000).print(table)


def print_shadow(counts: ShadowCounts) -> None:
    left_out = f", of which {counts.not_judged} were not judged" if counts.not_judged else ""
    typer.echo(f"{counts.turns} turns in shadow{left_out}. The filter would have had:\n")
    table = figure_table([""], ["turns", *EFFECTS])
    for name, counted in (("the filter", counts.filter), *sorted(counts.judges.items())):
        total = counted.total()
        cells = (f"{counted[effect]} ({counted[effect] / total:.1%})" if counted[effect] else "-" for effect in EFFECTS)
        table.add_row(*(Text(printable(cell)) for cell in (name, str(total), *cells)))
    table_console(1_000).print(table)
