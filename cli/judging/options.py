"""The options that several verbs of `caf judges` have."""

from pathlib import Path
from typing import Annotated, Literal

import typer

ANSWERS = Path("data/judge-answers.jsonl")

ChatbotOption = Annotated[
    str | None,
    typer.Option("--chatbot", metavar="NAME", help="Whose judges; default: the first chatbot that has some."),
]
JudgeOption = Annotated[
    list[str] | None, typer.Option("--judge", "-j", metavar="NAME", help="Only this judge; may be repeated.")
]
DataOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--data",
        "-d",
        metavar="FILE|FOLDER",
        help="Scenario file (.yaml), rows (.jsonl) or folder; may be repeated. Default: the shipped ones.",
    ),
]
SplitOption = Annotated[
    Literal["dev", "holdout", "all"] | None,
    typer.Option("--split", help="Which families; default: dev of the shipped ones, all of --data."),
]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only with this tag; may be repeated.")
]
FamilyOption = Annotated[list[str] | None, typer.Option("--family", metavar="NAME", help="Only this family.")]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", "-n", min=1, help="At most so many cases of each judge, spread over families."),
]
BudgetOption = Annotated[
    float | None,
    typer.Option("--budget", min=0, help="Stop before the calls cost more; in the currency of `models.<alias>.price`."),
]
AtOnceOption = Annotated[int, typer.Option("--concurrency", min=1, help="Cases under way at the same time.")]
AnswersOption = Annotated[
    Path,
    typer.Option(
        "--answers", metavar="FILE", help="Where models' answers are kept: what stands there is not asked again."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Ask everything anew; the answers kept are left alone.")]


def uses_beside(answers: Path) -> Path:
    """Return the file of the uses of held-out cases, which stands beside that of answers."""
    return answers.with_name("holdout-uses.json")
