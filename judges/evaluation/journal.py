"""The folder of a tuning run: every version of the prompt that was tried, and a journal from which the run can be resumed."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import structlog
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from judges.evaluation.edits import Proposal, Wording
from judges.evaluation.errors import EvaluationError
from judges.evaluation.holdout import case_key
from judges.evaluation.labelled import LabelledCase
from judges.evaluation.run_cases import Answer
from judges.prompt import Prompt
from judges.verdict import Exchange, Judgement, Verdict
from models.unique_keys import DuplicateKeyError, refuse_duplicates
from models.usage import Usage

log = structlog.get_logger(__name__)
JOURNAL = "journal.jsonl"
START = "start.md"


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Settings(_Line):
    """The settings of a tuning run. They stay the same when the run is resumed."""

    judge: str
    stage: Literal["swift", "chief"] | None = None
    prompt: Path | None = None
    """The prompt file to tune; None: the configured prompt of the judge."""
    model: str | None = None
    """The alias of the judge's model; None: the alias in the front matter of the prompt."""
    tuner: str = "chief"
    """The alias of the model that proposes edits."""
    chatbot: str | None = None
    """The name of the chatbot; None: the first chatbot that has judges."""
    data: list[Path] = []
    tags: list[str] = []
    families: list[str] = []
    limit: int | None = None
    """Maximum number of dev cases per judge."""
    rounds: int = 4
    """Maximum number of rounds."""
    candidates: int = 2
    """Number of proposals per round."""
    alpha: float = 0.1
    """Significance level for keeping a candidate."""


class StartLine(_Line):
    """The start of a run."""

    event: Literal["begun"] = "begun"
    settings: Settings
    models: dict[str, str | None]
    """The model of each alias at the start of the run."""


class AnswerLine(_Line):
    """The judge's answer to a case. Failed calls are not recorded, so that a resumed run retries them."""

    event: Literal["answer"] = "answer"
    prompt: str
    """Hash of the instructions."""
    case: str
    """`JUDGE:CASE_KEY` (`holdout.case_key`). Judges that share a prompt are asked about the same cases."""
    verdict: Verdict
    rule: str | None
    reason: str
    observation: dict[str, Any] | None
    raw: str | None
    """The judge's raw answer; None if it contains a readable observation."""
    ms: float | None
    """Duration, in milliseconds; None if the answer was cached."""
    tokens: tuple[int, int]
    """Numbers of prompt tokens and completion tokens."""
    cost: float | None
    """None if no model has a price."""
    calls: int
    """Number of model calls."""


class ProposalLine(_Line):
    """A proposal of edits, the source of a candidate."""

    event: Literal["proposal"] = "proposal"
    name: str
    """Name of the candidate."""
    base: str
    """Hash of the instructions that the candidate edits."""
    proposal: Proposal | None
    """None: the model's answer was unreadable."""


class RulingLine(_Line):
    """The outcome of a candidate. Only people read this line; a resumed run does not."""

    event: Literal["ruled"] = "ruled"
    name: str
    outcome: Literal["kept", "note", "refused"]
    because: str


class HoldoutLine(_Line):
    """A counted use of the holdout."""

    event: Literal["holdout"] = "holdout"
    prompt: str
    """Hash of the winning instructions."""
    uses: int
    """Number of uses of the holdout, including this use."""


class DecisionLine(_Line):
    """The user's decision about the winner."""

    event: Literal["decided"] = "decided"
    winner: str
    """Name of the winning version."""
    written_to: Path | None
    """The file of the winner; None: the winner was discarded."""


class _Observation(BaseModel):
    """An observation from the journal. It accepts any form, including old forms, because only the tuner model reads it."""

    model_config = ConfigDict(extra="allow")


Line = StartLine | AnswerLine | ProposalLine | RulingLine | HoldoutLine | DecisionLine
_LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="event")])


class Journal:
    """The events of a tuning run, in memory and in the file journal.jsonl."""

    def __init__(self, folder: Path) -> None:
        """Open the folder of a run and read its journal. A missing folder is created.

        Raises:
            EvaluationError: The folder cannot be read or written.
        """
        self.folder = folder
        self.start: StartLine | None = None
        self._answers: dict[tuple[str, str], AnswerLine] = {}
        self._proposals: dict[tuple[str, str], ProposalLine] = {}
        self._uses: dict[str, int] = {}
        self._texts: set[str] = set()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Readable only by the owner, because observations quote conversations.
            self._file = os.open(folder / JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            lines = (folder / JOURNAL).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError as error:
            raise EvaluationError(f"{folder}: cannot store the tuning run in this folder: {error.strerror}") from error
        for number, line in enumerate(lines, 1):
            if line:
                self._read(line, number)
        if lines[-1]:  # an incomplete line: the process was killed while it wrote
            os.write(self._file, b"\n")

    def add(self, line: Line) -> None:
        """Append a line, unless the journal already contains it. A resumed run repeats the same steps."""
        text = line.model_dump_json()
        if text not in self._texts:
            os.write(self._file, text.encode() + b"\n")
            self._apply(line, text)

    def _read(self, text: str, number: int) -> None:
        try:
            refuse_duplicates(text)
            self._apply(_LINE.validate_json(text), text)
        except DuplicateKeyError as error:
            raise EvaluationError(f"{self.folder / JOURNAL}:{number}: {error.msg}") from None
        except ValidationError:
            log.warning("unreadable line in the journal", file=str(self.folder / JOURNAL), line=number)

    def _apply(self, line: Line, text: str) -> None:
        self._texts.add(text)
        if isinstance(line, StartLine):
            self.start = line
        elif isinstance(line, AnswerLine):
            self._answers[line.prompt, line.case] = line
        elif isinstance(line, ProposalLine):
            self._proposals[line.name, line.base] = line
        elif isinstance(line, HoldoutLine):
            self._uses[line.prompt] = line.uses

    def proposal_for(self, name: str, base: str) -> ProposalLine | None:
        """Return the recorded proposal for a candidate; None if the journal has no such proposal.

        Args:
            name: Name of the candidate.
            base: Hash of the instructions that the candidate edits.
        """
        return self._proposals.get((name, base))

    def uses(self, prompt: str) -> int | None:
        """Return the recorded number of holdout uses for a winner; None if no use was counted.

        Args:
            prompt: Hash of the winning instructions.
        """
        return self._uses.get(prompt)

    def answer(self, prompt: Prompt, case: LabelledCase) -> Answer | None:
        """Return the recorded answer to a case with a prompt; None if there is no answer yet."""
        line = self._answers.get((prompt.hash, _key(case)))
        if line is None:
            return None
        judgement = Judgement(
            case.judge,
            prompt.stage,
            line.verdict,
            line.rule,
            line.reason,
            observation=None if line.observation is None else _Observation(**line.observation),
            exchange=Exchange(prompt.model, prompt.hash, line.raw or ""),
        )
        return Answer(
            example=case,
            repeat=0,
            judgement=judgement,
            path=(prompt.stage,),
            ms=line.ms,
            usage=Usage(*line.tokens),
            cost=line.cost,
            calls=line.calls,
        )

    def record(self, prompt: Prompt, answer: Answer) -> None:
        """Record an answer to a case. A missing answer (`has_failed`) is not recorded."""
        if has_failed(answer):
            return
        judgement = answer.judgement
        assert judgement.exchange is not None
        self.add(
            AnswerLine(
                prompt=prompt.hash,
                case=_key(answer.example),
                verdict=judgement.verdict,
                rule=judgement.rule,
                reason=judgement.reason,
                observation=judgement.observation.model_dump() if judgement.observation else None,
                raw=None if judgement.observation else judgement.exchange.raw.encode(errors="replace").decode(),
                ms=answer.ms,
                tokens=(answer.usage.prompt_tokens, answer.usage.completion_tokens),
                cost=answer.cost,
                calls=answer.calls,
            )
        )

    def write(self, name: str, wording: Wording) -> Path:
        """Write a version of the prompt to the file NAME.md in the folder of the run, and return its path.

        Raises:
            EvaluationError: The file cannot be written.
        """
        path = self.folder / f"{name}.md"
        try:
            path.write_text(wording.file, encoding="utf-8")
        except OSError as error:
            raise EvaluationError(f"{path}: cannot write the prompt: {error.strerror}") from error
        return path


def _key(case: LabelledCase) -> str:
    return f"{case.judge}:{case_key(case)}"


def has_failed(answer: Answer) -> bool:
    """Return whether the model gave no answer: the call timed out, the upstream refused it, or the budget was spent."""
    return answer.skipped or (answer.verdict == "unjudged" and answer.judgement.exchange is None)
