"""The folder of a tuning run: every wording that was tried, and a journal from which the run can go on."""

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import structlog
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from judges.evaluation.edits import Proposal, Wording
from judges.evaluation.errors import JournalError
from judges.evaluation.holdout import case_key
from judges.evaluation.labelled import Labelled
from judges.evaluation.run_cases import Answer
from judges.prompt import Prompt
from judges.reply_call import form_of
from judges.verdict import Exchange, Judgement, Verdict
from models.usage import Usage

log = structlog.get_logger(__name__)
JOURNAL = "journal.jsonl"
START = "start.md"


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Settings(_Line):
    """What a run is about; it stays the same when the run is resumed."""

    judge: str
    stage: Literal["swift", "chief"] | None = None
    prompt: Path | None = None
    """The prompt file it began from, where one was given."""
    model: str | None = None
    tuner: str = "chief"
    chatbot: str | None = None
    data: list[Path] = []
    tags: list[str] = []
    families: list[str] = []
    limit: int | None = None
    rounds: int = 4
    candidates: int = 2
    alpha: float = 0.1


class Begun(_Line):
    event: Literal["begun"] = "begun"
    settings: Settings
    models: dict[str, str | None]
    """What the aliases stood for."""


class Answered(_Line):
    """What the judge made of a case. Failures are not written down: they are asked again."""

    event: Literal["answer"] = "answer"
    prompt: str
    """Hash of the instructions."""
    case: str
    """The judge's name, and what `case_key` names it by: judges that share a prompt are asked about the same cases."""
    verdict: Verdict
    rule: str | None
    reason: str
    observation: dict[str, Any] | None
    raw: str | None
    """What the judge wrote, where no observation could be read from it."""
    ms: float | None
    tokens: tuple[int, int]
    cost: float | None
    calls: int


class Proposed(_Line):
    event: Literal["proposal"] = "proposal"
    name: str
    """Of the candidate."""
    base: str
    """Hash of the instructions that it edits."""
    proposal: Proposal | None
    """None: what the model answered could not be read."""


class Ruled(_Line):
    """What came of a candidate; for people to read."""

    event: Literal["ruled"] = "ruled"
    name: str
    outcome: Literal["kept", "note", "refused"]
    because: str


class Counted(_Line):
    event: Literal["holdout"] = "holdout"
    prompt: str
    """Hash of the winner."""
    uses: int


class Decided(_Line):
    event: Literal["decided"] = "decided"
    winner: str
    written_to: Path | None
    """None: discarded."""


Line = Begun | Answered | Proposed | Ruled | Counted | Decided
_LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="event")])


class Journal:
    """What has happened in a run, in memory and on disk."""

    def __init__(self, folder: Path) -> None:
        """Open the folder of a run, also one that is new.

        Raises:
            JournalError: It cannot be read or written.
        """
        self.folder = folder
        self.begun: Begun | None = None
        self._answers: dict[tuple[str, str], Answered] = {}
        self._proposals: dict[tuple[str, str], Proposed] = {}
        self._uses: dict[str, int] = {}
        self._known: set[str] = set()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Readable by its owner alone: observations quote conversations.
            self._file = os.open(folder / JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            lines = (folder / JOURNAL).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError as error:
            raise JournalError(f"{folder}: the run cannot be kept there: {error.strerror}") from error
        for number, line in enumerate(lines, 1):
            if line:
                self._read(line, number)
        if lines[-1]:  # cut off when its writer was killed
            os.write(self._file, b"\n")

    def close(self) -> None:
        os.close(self._file)

    def add(self, line: Line) -> None:
        """Write a line, unless it is there already: a resumed run comes by the same places."""
        text = line.model_dump_json()
        if text not in self._known:
            os.write(self._file, text.encode() + b"\n")
            self._take(line, text)

    def _read(self, text: str, number: int) -> None:
        try:
            self._take(_LINE.validate_json(text), text)
        except ValidationError:
            log.warning("unreadable line in the journal", file=str(self.folder / JOURNAL), line=number)

    def _take(self, line: Line, text: str) -> None:
        self._known.add(text)
        if isinstance(line, Begun):
            self.begun = line
        elif isinstance(line, Answered):
            self._answers[line.prompt, line.case] = line
        elif isinstance(line, Proposed):
            self._proposals[line.name, line.base] = line
        elif isinstance(line, Counted):
            self._uses[line.prompt] = line.uses

    def proposed(self, name: str, base: str) -> Proposed | None:
        return self._proposals.get((name, base))

    def uses(self, prompt: str) -> int | None:
        """Return the use of the holdout that was counted for this winner."""
        return self._uses.get(prompt)

    def answer(self, prompt: Prompt, case: Labelled, questions: Collection[str] = ()) -> Answer | None:
        """Return what the judge of a case has answered with this prompt, which asks for `questions` if it is a shared one."""
        known = self._answers.get((prompt.hash, _key(case)))
        if known is None:
            return None
        observation = None
        if known.observation is not None:
            with suppress(
                ValidationError
            ):  # the form has changed meanwhile; nothing but the tuner's view of it is lost
                observation = form_of(prompt, questions).model_validate(known.observation)
        exchange = Exchange(prompt.model, prompt.hash, known.raw or "")
        judgement = Judgement(
            case.judge,
            prompt.stage,
            known.verdict,
            known.rule,
            known.reason,
            observation=observation,
            exchange=exchange,
        )
        return Answer(
            labelled=case,
            repeat=0,
            judgement=judgement,
            path=(prompt.stage,),
            ms=known.ms,
            usage=Usage(*known.tokens),
            cost=known.cost,
            calls=known.calls,
        )

    def keep(self, prompt: Prompt, answer: Answer) -> None:
        """Write down an answer, unless the model failed to give one."""
        if failed(answer):
            return
        given = answer.judgement
        assert given.exchange is not None
        self.add(
            Answered(
                prompt=prompt.hash,
                case=_key(answer.labelled),
                verdict=given.verdict,
                rule=given.rule,
                reason=given.reason,
                observation=given.observation.model_dump() if given.observation else None,
                raw=None if given.observation else given.exchange.raw.encode(errors="replace").decode(),
                ms=answer.ms,
                tokens=(answer.usage.prompt_tokens, answer.usage.completion_tokens),
                cost=answer.cost,
                calls=answer.calls,
            )
        )

    def write(self, name: str, wording: Wording) -> Path:
        """Keep a wording as a prompt file.

        Raises:
            JournalError: It cannot be written.
        """
        path = self.folder / f"{name}.md"
        try:
            path.write_text(wording.file, encoding="utf-8")
        except OSError as error:
            raise JournalError(f"{path}: cannot be written: {error.strerror}") from error
        return path


def _key(case: Labelled) -> str:
    return f"{case.judge}:{case_key(case)}"


def failed(answer: Answer) -> bool:
    """Whether the model gave no answer at all: a timeout, an upstream that refuses, a budget that is spent."""
    return answer.skipped or (answer.verdict == "unjudged" and answer.judgement.exchange is None)


def differences(begun: Settings, wishes: Mapping[str, object]) -> list[str]:
    """Say what is asked of a resumed run that it was not begun with."""
    was = begun.model_dump()
    return [
        f"{name}: the run was begun with {was[name]}, not with {value}"
        for name, value in wishes.items()
        if value not in (None, []) and was[name] != value
    ]


def changed_models(begun: Begun, models: Mapping[str, str | None]) -> list[str]:
    """Say which aliases no longer stand for the models that a run was begun with."""
    return [
        f"models.{alias}: was {before!r} when the run was begun and is {models.get(alias)!r} now; begin a new run"
        for alias, before in begun.models.items()
        if models.get(alias) != before
    ]
