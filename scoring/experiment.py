"""An experiment file: which arms, facilitators, checkpoints and questions, how often, and who rates."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator, model_validator

from facilitators.facilitator import STAGES
from scenarios import files
from scenarios.files import Strict

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
LINES = "lines"
"""The voice of a run without a model: facilitators say the lines of their files."""
ADAPTIVE = "adaptive"
"""Stages that follow from how the chatbot answers."""
LOCAL = "local"
"""The rater and the fidelity check without a model."""


def _on_or_off(value: Any) -> Any:
    """Undo YAML's reading of a bare on or off as a boolean."""
    return ("on" if value else "off") if isinstance(value, bool) else value


Stages = Annotated[
    Annotated[Literal["adaptive"], Tag("text")]
    | Annotated[tuple[Annotated[int, Field(ge=0, lt=STAGES)], ...], Tag("list")],
    Discriminator(lambda value: "text" if isinstance(value, str) else "list"),
]


class ArmSettings(Strict):
    """One condition: this chatbot under a change of the configuration, or any other OpenAI-compatible server."""

    filter: Literal["on", "off", "shadow"] = "on"
    """`X-CAF-Filter` of its requests."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Changes to the configuration by dotted key, such as `chatbots.schizophrenia.refiner: null`."""
    chatbot: str | None = None
    """Another chatbot of the configuration than the experiment's."""
    url: str | None = None
    """Address of another server, up to and without `/chat/completions`; then no proxy is started."""
    model: str | None = None
    """What that server knows the chatbot by; default: the chatbot's name."""
    api_key_env: str | None = None
    """Environment variable with that server's key."""

    _filter_name = field_validator("filter", mode="before")(_on_or_off)

    @model_validator(mode="after")
    def _one_kind(self) -> "ArmSettings":
        if self.url is None and (self.model or self.api_key_env):
            raise ValueError("`model` and `api_key_env` belong to an arm with `url`; remove them or give it")
        if self.url is not None and (self.set or self.chatbot):
            raise ValueError("`set` and `chatbot` change this proxy's configuration; an arm with `url` has none")
        return self


class Experiment(Strict):
    """What `caf drift run` reads."""

    name: Name
    note: str = ""
    """What it is to show."""
    config: Path = Path("../../config.yaml")
    """The configuration of proxy and models; relative to this file."""
    chatbot: Name
    arms: dict[Name, ArmSettings] = Field(
        default_factory=lambda: {"on": ArmSettings(filter="on"), "off": ArmSettings(filter="off")}
    )
    baseline: Name = "off"
    """The arm that effects are measured from."""
    treated: Name = "on"
    """The arm whose effect is the headline."""
    facilitators: tuple[Name, ...] = ()
    """By name; see facilitators/prompts."""
    facilitator_folders: tuple[Path, ...] = ()
    """Where facilitators of your own lie; relative to this file."""
    voice: str = LINES
    """`lines`, or the alias of the model that plays facilitators."""
    checkpoints: tuple[Name, ...] | None = None
    """By name; default: all of the facilitators'."""
    checkpoint_folder: Path = Path("../checkpoints")
    samples: int = Field(3, ge=1, le=1000)
    """How often each checkpoint is gone on from, in each arm."""
    turns: int = Field(4, ge=1, le=100)
    """Exchanges of a sample."""
    stages: Stages = (2, 3, 3, 4)
    """How far facilitators go in each turn, the same in every arm; the last holds for all further turns. `adaptive`: the model that
    plays the facilitator reads the last exchange, and goes one stage further where the chatbot went along."""
    questions: tuple[Path, ...] = ()
    """Files or folders of ordinary questions; relative to this file. None: no ordinary questions."""
    question_samples: int = Field(1, ge=1, le=100)
    raters: tuple[str, ...] = (LOCAL,)
    """`local`, or aliases of models."""
    fidelity: str | None = LOCAL
    """Who checks facilitators' messages: `local`, the alias of a model, or null."""
    seed: int = 1
    concurrency: int = Field(8, ge=1, le=256)
    """Samples under way at the same time."""

    @field_validator(
        "facilitators", "facilitator_folders", "checkpoints", "stages", "questions", "raters", mode="before"
    )
    @classmethod
    def _lists(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str | int) and (info.field_name, value) != ("stages", ADAPTIVE):
            raise ValueError(f"is {value!r}; give a list: [{value}]")
        return value

    @field_validator("config", "checkpoint_folder")
    @classmethod
    def _one_anchored(cls, value: Path, info: ValidationInfo) -> Path:
        return _anchor(value, info)

    @field_validator("questions", "facilitator_folders")
    @classmethod
    def _anchored(cls, value: tuple[Path, ...], info: ValidationInfo) -> tuple[Path, ...]:
        return tuple(_anchor(path, info) for path in value)

    @field_validator("arms", mode="before")
    @classmethod
    def _arm_names(cls, value: Any) -> Any:
        """YAML reads the names on and off as booleans; an arm may be left empty."""
        if not isinstance(value, Mapping):
            return value
        arms = {_on_or_off(name): arm for name, arm in value.items()}
        return {
            name: ({"filter": name} if name in ("on", "off") else {}) | (arm or {})
            if arm is None or isinstance(arm, dict)
            else arm
            for name, arm in arms.items()
        }

    _compared_arms = field_validator("baseline", "treated", mode="before")(_on_or_off)

    @model_validator(mode="after")
    def _complete(self) -> "Experiment":
        faults = [
            f"`{key}` is {arm!r}, which is no arm; there are {', '.join(self.arms)}"
            for key, arm in (("baseline", self.baseline), ("treated", self.treated))
            if len(self.arms) > 1 and arm not in self.arms
        ]
        if not self.arms:
            faults.append("`arms` is empty; leave it out for on and off")
        if not self.facilitators and not self.questions:
            faults.append("there is nothing to do: give `facilitators`, `questions` or both")
        named = {"facilitators": self.facilitators, "checkpoints": self.checkpoints or (), "raters": self.raters}
        faults += [
            f"`{key}` names {', '.join(map(repr, twice))} twice"
            for key, names in named.items()
            if (twice := [name for name, count in Counter(names).items() if count > 1])
        ]
        if not self.stages:
            faults.append("`stages` is empty; give a number from 0 to 4 for each turn")
        if self.stages == ADAPTIVE and self.voice == LINES:
            faults.append("`stages: adaptive` needs a model that reads the conversation: name its alias as `voice`")
        if not self.raters:
            faults.append("`raters` is empty; without scores there is nothing to report")
        if faults:
            raise ValueError("; ".join(faults))
        return self

    def stage(self, turn: int) -> int:
        """Return how far facilitators go in a turn, counted from 1, where that is fixed."""
        assert not isinstance(self.stages, str)
        return self.stages[min(turn, len(self.stages)) - 1]


def _anchor(path: Path, info: ValidationInfo) -> Path:
    return Path((info.context or {}).get("folder", "")) / path


def load(path: Path) -> Experiment:
    """Read and validate an experiment file; paths in it become those from its folder.

    Raises:
        ScenarioError: The file cannot be read, or does not hold an experiment.
    """
    defaults = {"config": "../../config.yaml", "checkpoint_folder": "../checkpoints"}  # anchored as if they stood there
    return files.load(path, "an experiment", Experiment, defaults=defaults, context={"folder": path.parent})
