"""The tables that `caf trace` prints."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import typer
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from cli.drawing import figure_table, table_console
from cli.terminal import printable
from proxy.traces.labels import Label
from proxy.traces.query import TurnLine
from proxy.traces.redaction import redacted_length
from proxy.traces.shadow import EFFECTS, ShadowCounts

SHORT_ID = 8
"""Number of characters of an id to show. The commands accept any unique prefix."""
COLOURS = {"emergency": "red", "fallback": "red", "unjudged": "magenta", "refined": "yellow", "warned": "yellow"}


WIDTHS = {"time": 11, "turn": SHORT_ID, "chatbot": 13, "outcome": 10, "duration": 8}
"""Widths of the columns before the question, in terminal cells."""


def print_turns(turns: Sequence[TurnLine], labels_by_turn: Mapping[str, Sequence[Label]]) -> None:
    """Print a heading and one line for each turn. Lines fit the terminal, or 80 cells in a pipe."""
    rest = max(10, table_console(80).width - sum(WIDTHS.values()) - 2 * len(WIDTHS))
    widths = [*WIDTHS.values(), rest]
    typer.secho(_line([*WIDTHS, "question"], widths), bold=True)
    for turn in turns:
        outcome = "error" if turn.error else turn.outcome
        cells = (
            f"{datetime.fromtimestamp(turn.started):%m-%d %H:%M}",
            turn.turn_id[:SHORT_ID],
            turn.chatbot,
            outcome,
            f"{turn.ms:.0f} ms" if turn.ms < 1000 else f"{turn.ms / 1000:.1f} s",
            "; ".join([*_remarks(turn, labels_by_turn.get(turn.turn_id, ())), _question(turn)]),
        )
        typer.secho(_line(cells, widths), fg=COLOURS.get(outcome))


def _remarks(turn: TurnLine, labels: Sequence[Label]) -> list[str]:
    """Return the remarks to show before the question: the error, the outcome in shadow mode, and the labels."""
    return [
        *([turn.error] if turn.error else []),
        *([f"would be {turn.would}"] if turn.would else []),
        *(f"label {label.judge}: {label.verdict}" for label in labels),
    ]


def _question(turn: TurnLine) -> str:
    length = redacted_length(turn.question)
    return " ".join(turn.question.split()) if length is None else f"({length} characters, not stored)"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(fit(printable(cell), width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def fit(text: str, width: int) -> str:
    """Return the text with exactly `width` terminal cells: padded, or cut with an ellipsis. Wide characters have two cells."""
    return set_cell_size(text, width) if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def print_shadow(counts: ShadowCounts) -> None:
    left_out = f", of which {counts.not_judged} were not judged" if counts.not_judged else ""
    typer.echo(f"{counts.turns} turns in shadow{left_out}. The filter would have had:\n")
    table = figure_table([""], ["turns", *EFFECTS])
    for name, counted in (("the filter", counts.filter), *sorted(counts.judges.items())):
        total = counted.total()
        cells = (f"{counted[effect]} ({counted[effect] / total:.1%})" if counted[effect] else "-" for effect in EFFECTS)
        table.add_row(*(Text(printable(cell)) for cell in (name, str(total), *cells)))
    table_console(1_000).print(table)
