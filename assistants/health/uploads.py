"""Reads the files that a user sends: tables, which become the subject `upload` of the request, and pictures of meals."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from weakref import finalize

import orjson
from pydantic import Field

from assistants.assistant import AssistantError, AssistantRequest
from assistants.attachments import AttachmentError, FileRules
from assistants.health.access import UPLOAD
from assistants.health.planner import PROMPTS, TIMEOUT_S
from assistants.health.sources import Strict, Subject, Subjects
from assistants.health.tasks.food import find_nearest
from models.engine import Body

VISION = "vision"
"""Key of the model that reads pictures, under `models` of the assistant's alias."""
_RECORDING = re.compile(r"ppg[ _-]([0-9]{4}-[0-9]{2}-[0-9]{2}t[0-9]{4})[ _-]([1-9][0-9]{0,3})hz\.csv")
RULES = FileRules(
    re.compile(rf"(?:sleep|activity|meals)\.(?:csv|parquet)|bundle\.json|{_RECORDING.pattern}"),
    "Name tables sleep, activity or meals (.csv or .parquet), bundle.json, or ppg 2020-08-29T0800 20hz.csv. "
    "Send the text of a PDF or of another document in the request's field `documents`.",
    ("text/csv", "text/plain", "application/json", "application/octet-stream", "application/vnd.ms-excel"),
)
NO_MODEL = "No model is set up for pictures (`vision`, docs/health_agent.md). What did you eat, and how many grams?"
NO_FOOD = "I see no food in this picture. What did you eat, and how many grams of each food?"


class Uploads(Subjects):
    """The subjects of a data folder, plus the subject `upload`, whose data are the files in a request."""

    def __init__(self, others: Subjects, files: Mapping[str, bytes]) -> None:
        """Write the files to a temporary folder. Raise AttachmentError if recordings have different sampling rates."""
        recordings = {name: match for name in files if (match := _RECORDING.fullmatch(name))}
        if len({match[2] for match in recordings.values()}) > 1:
            rates = ", ".join(sorted({f"{match[2]} Hz" for match in recordings.values()}))
            raise AttachmentError(f"The recordings have several sampling rates ({rates}). Send recordings of one rate.")
        home, digest = Path(mkdtemp(prefix="caf-health-")), hashlib.sha256()
        self._others, self._own = others, Subject(home / UPLOAD)
        # The folder exists as long as a task uses the subject. Otherwise a late task could find no files, and report "no data".
        finalize(self._own, rmtree, home, ignore_errors=True)
        (home / UPLOAD / "ppg").mkdir(parents=True)
        for name, raw in sorted(files.items()):
            digest.update(f"{name} {hashlib.sha256(raw).hexdigest()}\n".encode())
            if match := recordings.get(name):
                (home / UPLOAD / "profile.yaml").write_text(f"ppg_hz: {match[2]}\n")
                name = f"ppg/{match[1].upper()}.csv"
            (home / UPLOAD / name).write_bytes(raw)
        self._version = digest.hexdigest()

    def open(self, id: str) -> Subject:
        return self._own if id == UPLOAD else self._others.open(id)

    def version(self, id: str) -> str:
        return self._version if id == UPLOAD else self._others.version(id)


class Food(Strict):
    """A food in a picture, its grams between `low` and `high`."""

    name: str
    low: float = Field(ge=1, le=5_000)
    likely: float = Field(ge=1, le=5_000)
    high: float = Field(ge=1, le=5_000)


class Seen(Strict):
    """What a model sees in pictures. The prompt describes each field."""

    foods: list[Food] = Field(max_length=20)
    note: str


async def look(request: AssistantRequest, pictures: list[Body]) -> str:
    """Ask a model which foods are in the pictures. Return a question that asks the user to confirm the foods and amounts.

    Raises:
        ModelError: The model failed.
    """
    message = {"type": "text", "text": orjson.dumps({"message": request.view.question}).decode()}
    system = {"role": "system", "content": (PROMPTS / "vision.md").read_text("utf-8")}
    messages: list[Body] = [system, {"role": "user", "content": [message, *pictures]}]
    if request.ask_structured is None:
        return NO_MODEL
    try:
        seen = (await request.ask_structured(VISION, messages, Seen, step="look", timeout_s=TIMEOUT_S)).value
    except AssistantError:  # no model is configured for this role
        return NO_MODEL
    request.note("picture", seen.model_dump_json())
    lines = []
    for one in seen.foods:
        low, likely, high = sorted((one.low, one.likely, one.high))
        name = next(iter(find_nearest(one.name)), "a food that is not in the table")  # text in a picture is no evidence
        lines.append(f"- {name}: about {likely:.0f} g ({low:.0f} to {high:.0f} g)")
    return "\n".join(("In the picture I see:", *lines, "Is that right? Correct it, or say yes.")) if lines else NO_FOOD
