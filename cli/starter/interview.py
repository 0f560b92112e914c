"""Asks for what no option says: in a terminal with a question each; elsewhere it notes which option is missing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import typer

from cli.starter.answers import AnswerError
from cli.terminal import leave, printable

T = TypeVar("T")


@dataclass
class Interview:
    """One run of questions."""

    given: Mapping[str, str | None]
    """What the options say; None: nothing."""
    asking: bool
    """Whether there is somebody at a terminal who wants to be asked."""
    defaults: bool
    """Whether what is missing gets its default, `--yes`."""
    missing: list[str] = field(default_factory=list)
    """Options that would have been asked for."""

    def answer(
        self,
        option: str,
        question: str,
        read: Callable[[str], T],
        *,
        default: str | None = None,
        optional: bool = False,
    ) -> T | None:
        """Return what an option, somebody, or the default says, read.

        Args:
            question: What is asked; lines before the last are an explanation.
            default: Offered where somebody is asked, and taken with `--yes`.
            optional: The default may be taken where nobody can be asked.

        Returns:
            None: it is missing and has been noted.
        """
        if (given := self.given[option]) is not None:
            return self._read_option(option, given, read)
        if self.asking:
            return self._ask(question, read, default)
        if default is not None and (optional or self.defaults):
            return self._read_option(option, default, read)
        self.missing.append(option)
        return None

    def leave_if_missing(self) -> None:
        """End the command if something is missing, and name all of it."""
        if self.missing:
            why = "with --yes nobody is asked" if self.defaults else "there is no terminal to ask at"
            hint = "" if self.defaults else ", or --yes for the defaults of those that have one"
            leave(
                f"not given: {', '.join(self.missing)}; {why}. Give {'it' if len(self.missing) == 1 else 'them'}{hint}"
            )

    def _ask(self, question: str, read: Callable[[str], T], default: str | None) -> T:
        def convert(text: str) -> T:
            try:
                return read(text)
            except AnswerError as error:
                raise typer.BadParameter(printable(str(error))) from None

        *explanation, last = question.split("\n")
        typer.echo()
        for line in explanation:
            typer.secho(line, dim=True)
        answer: T = typer.prompt(last, default=default, value_proc=convert)
        return answer

    @staticmethod
    def _read_option(option: str, text: str, read: Callable[[str], T]) -> T:
        try:
            return read(text)
        except AnswerError as error:
            leave(f"{option}: {printable(str(error))}")
