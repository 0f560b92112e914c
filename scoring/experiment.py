"""The experiment file of `caf drift run`: arms, facilitators, checkpoints, questions, number of samples, and raters."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator, model_validator

from facilitators.facilitator import STAGES
from scenarios import files
from scenarios.files import ScenarioError, Strict

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
SHIPPED = Path(files.__file__).resolve().parent / "experiments"
"""The folder of the shipped experiments."""
LINES = "lines"
"""Value of `voice`: no model; facilitators use the written lines of their files."""
ADAPTIVE = "adaptive"
"""Value of `stages`: the stage of each turn depends on the chatbot's replies."""
LOCAL = "local"
"""Value of `raters` and `fidelity`: code instead of a model."""


def _on_or_off(value: Any) -> Any:
    """Convert a boolean to "on" or "off". YAML reads these words without quotes as booleans."""
    return ("on" if value else "off") if isinstance(value, bool) else value


Stages = Annotated[
    Annotated[Literal["adaptive"], Tag("text")]
    | Annotated[tuple[Annotated[int, Field(ge=0, lt=STAGES)], ...], Tag("list")],
    Discriminator(lambda value: "text" if isinstance(value, str) else "list"),
]


class ArmSettings(Strict):
    """One arm: the chatbot with a changed configuration, or another OpenAI-compatible server."""

    filter: Literal["on", "off", "shadow"] = "on"
    """Value of the header `X-CAF-Filter` in the arm's requests."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Changes to the configuration by dotted key, such as `chatbots.schizophrenia.refiner: null`."""
    chatbot: str | None = None
    """Chatbot of this arm; default: the experiment's chatbot."""
    url: str | None = None
    """Base URL of another server, without `/chat/completions`. With it, no proxy is started."""
    model: str | None = None
    """Model name to request from that server; default: the chatbot's name."""
    api_key_env: str | None = None
    """Environment variable that holds the API key of that server."""

    _filter_name = field_validator("filter", mode="before")(_on_or_off)

    @model_validator(mode="after")
    def _one_kind(self) -> "ArmSettings":
        if self.url is None and (self.model or self.api_key_env):
            raise ValueError("`model` and `api_key_env` belong to an arm with `url`: remove them, or add `url`")
        if self.url is not None and (self.set or self.chatbot):
            raise ValueError(
                "`set` and `chatbot` change this proxy's configuration: an arm with `url` must not have them"
            )
        return self


class Experiment(Strict):
    """The content of an experiment file."""

    name: Name
    note: str = ""
    """Purpose of the experiment."""
    config: Path = Path("../../config.yaml")
    """Configuration of the proxy and its models; relative to this file."""
    chatbot: Name
    arms: dict[Name, ArmSettings] = Field(
        default_factory=lambda: {"on": ArmSettings(filter="on"), "off": ArmSettings(filter="off")}
    )
    baseline: Name = "off"
    """The arm that others are compared with."""
    treated: Name = "on"
    """The arm whose difference from the baseline is the main result of the report."""
    facilitators: tuple[Name, ...] = ()
    """Names of facilitators; see facilitators/prompts."""
    facilitator_folders: tuple[Path, ...] = ()
    """Folders with your own facilitators; relative to this file."""
    voice: str = LINES
    """`lines`, or the alias of the model that plays the facilitators."""
    checkpoints: tuple[Name, ...] | None = None
    """Names of checkpoints; default: all checkpoints of the facilitators."""
    checkpoint_folder: Path = Path("../checkpoints")
    samples: int = Field(3, ge=1, le=1000)
    """Conversations from each checkpoint, in each arm."""
    turns: int = Field(4, ge=1, le=100)
    """Exchanges in each conversation."""
    stages: Stages = (2, 3, 3, 4)
    """Stages of the facilitators, one for each turn, 0 to 4. All arms have the same stages. The last stage applies to all further
    turns. `adaptive`: the model of `voice` reads the last exchange, and goes one stage further if the chatbot complied."""
    questions: tuple[Path, ...] = ()
    """Files or folders of ordinary questions, relative to this file. Empty: no ordinary questions."""
    question_samples: int = Field(1, ge=1, le=100)
    raters: tuple[str, ...] = (LOCAL,)
    """`local`, aliases of models, or both."""
    fidelity: str | None = LOCAL
    """Checks the facilitators' messages: `local`, the alias of a model, or null for no check."""
    seed: int = 1
    concurrency: int = Field(8, ge=1, le=256)
    """Number of conversations at the same time."""

    @field_validator(
        "facilitators", "facilitator_folders", "checkpoints", "stages", "questions", "raters", mode="before"
    )
    @classmethod
    def _lists(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str | int) and (info.field_name, value) != ("stages", ADAPTIVE):
            raise ValueError(f"invalid value {value!r}: expected a list, such as [{value}]")
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
        """Restore the arm names `on` and `off`, which YAML reads as booleans, and convert an empty arm to default settings."""
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
            f"`{key}`: {arm!r}: expected the name of an arm ({', '.join(self.arms)})"
            for key, arm in (("baseline", self.baseline), ("treated", self.treated))
            if len(self.arms) > 1 and arm not in self.arms
        ]
        if not self.arms:
            faults.append("`arms` is empty: name at least one arm, or remove `arms` to get `on` and `off`")
        if not self.facilitators and not self.questions:
            faults.append("the experiment is empty: add `facilitators`, `questions` or both")
        named = {"facilitators": self.facilitators, "checkpoints": self.checkpoints or (), "raters": self.raters}
        faults += [
            f"`{key}`: duplicate {', '.join(map(repr, twice))}"
            for key, names in named.items()
            if (twice := [name for name, count in Counter(names).items() if count > 1])
        ]
        if not self.stages:
            faults.append("`stages` is empty: expected a number from 0 to 4 for each turn")
        if self.stages == ADAPTIVE and self.voice == LINES:
            faults.append("`stages: adaptive` needs a model that reads the conversation: name its alias as `voice`")
        if not self.raters:
            faults.append("`raters` is empty: expected `local` or aliases of models, because the report needs scores")
        if faults:
            raise ValueError("; ".join(faults))
        return self

    def stage(self, turn: int) -> int:
        """Return the planned stage of a turn, counted from 1."""
        assert not isinstance(self.stages, str)
        return self.stages[min(turn, len(self.stages)) - 1]


def _anchor(path: Path, info: ValidationInfo) -> Path:
    return Path((info.context or {}).get("folder", "")) / path


def find_experiment(name: Path) -> Path:
    """Return the path of an experiment, given a file or the name of a shipped experiment, such as `embedded`.

    Raises:
        ScenarioError: There is neither a file nor a shipped experiment of this name.
    """
    shipped = {file.stem: file for file in sorted(SHIPPED.glob("*.yaml")) if not file.name.endswith("config.yaml")}
    if str(name) in shipped and not name.is_file():
        return shipped[str(name)]
    path = files.find_shipped(name)
    if path.exists():
        return path
    raise ScenarioError(
        [
            f"{name}: there is no such file, and no shipped experiment of this name (shipped: {', '.join(shipped)}); "
            "`caf init FOLDER` writes an experiment for your own chatbot"
        ]
    )


def load(path: Path) -> Experiment:
    """Read and validate an experiment file. Relative paths in it are resolved against its folder.

    Raises:
        ScenarioError: The file cannot be read, or is not an experiment.
    """
    # Relative to the file. An installed package has no config.yaml beside its packages, only a copy in one of them.
    is_shipped = path.resolve().parent == SHIPPED
    config = "../../proxy/config/config.yaml" if is_shipped else "../../config.yaml"
    defaults = {"config": config, "checkpoint_folder": "../checkpoints"}
    return files.load(path, "an experiment", Experiment, defaults=defaults, context={"folder": path.parent})
