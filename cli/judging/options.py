"""The options that several commands of `caf judges` share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

ANSWERS = Path("data/judge-answers.jsonl")

ChatbotOption = Annotated[
    str | None,
    typer.Option("--chatbot", metavar="NAME", help="The chatbot with the judges; default: the first one with judges."),
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
    typer.Option("--split", help="Only families of this split; default: dev for the shipped ones, all for --data."),
]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only cases with this tag; may be repeated.")
]
FamilyOption = Annotated[list[str] | None, typer.Option("--family", metavar="NAME", help="Only this family.")]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", "-n", min=1, help="Maximum number of cases per judge, spread over families."),
]
BudgetOption = Annotated[
    float | None,
    typer.Option("--budget", min=0, help="Stop before the calls cost more; in the currency of `models.<alias>.price`."),
]
AtOnceOption = Annotated[int, typer.Option("--concurrency", min=1, help="Maximum number of cases at the same time.")]
AnswersOption = Annotated[
    Path,
    typer.Option("--answers", metavar="FILE", help="File of recorded model answers, which are reused."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Ignore recorded answers; they stay in the file.")]


def uses_beside(answers: Path) -> Path:
    """Return the path of the file that counts uses of the holdout. It is in the folder of the recorded answers."""
    return answers.with_name("holdout-uses.json")
