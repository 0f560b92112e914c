"""Reads and validates the configuration file. Every problem names the file, the key and the expected value."""

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from models.fallback import fallback_problems
from models.settings import ModelSettings
from models.unique_keys import describe_yaml_error, load_yaml
from models.validation_errors import Location, describe_faults, did_you_mean
from proxy.config.chatbot_settings import ChatbotSettings
from proxy.config.removed_settings import drop_removed_settings
from proxy.config.settings import (
    PACKAGES,
    SHIPPED,
    AuditSettings,
    ConsoleSettings,
    KeySettings,
    MemorySettings,
    PrivacySettings,
    ServerSettings,
    Settings,
)

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$")]


class ConfigError(Exception):
    """The configuration is invalid. `problems` has one message for each fault."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = _deduplicate(problems)
        super().__init__("\n".join(self.problems))


_PLACE = re.compile(r"((?:.*?: )?(?:chatbots|models))\.(\S+?): (.*)", re.DOTALL)


def _deduplicate(problems: list[str]) -> list[str]:
    """Merge messages about the same fault. Several chatbots or models may share a YAML anchor, or use the same file."""
    first: dict[tuple[str, ...], str] = {}
    times: Counter[tuple[str, ...]] = Counter()
    for problem in problems:
        found = _PLACE.fullmatch(problem)
        # Compare faults without the chatbot's name and the index in a list.
        fault = (found[1], found[2].rpartition(".")[2] if "." in found[2] else "", found[3]) if found else (problem,)
        first.setdefault(fault, problem)
        times[fault] += 1
    return [
        problem
        if len(fault) == 1 or (more := times[fault] - 1) == 0
        else f"{problem}; also in {more} more place{'s' * (more > 1)}"
        for fault, problem in first.items()
    ]


class Config(Settings):
    server: ServerSettings = ServerSettings()
    models: dict[Name, ModelSettings]
    chatbots: dict[Name, ChatbotSettings] = Field(min_length=1)
    memory: MemorySettings = MemorySettings()
    keys: KeySettings | None = None
    """API keys of the clients. If left out, every client that can connect is accepted, which needs a loopback `server.host`."""
    privacy: PrivacySettings = PrivacySettings()
    audit: AuditSettings | None = None
    """A tamper-evident log of every outcome and every change of configuration and keys. If left out, there is no audit log."""
    embeddings: str | None = None
    """Alias of the model that /v1/embeddings forwards to. Clients name it by the alias or by its `model`. Passthrough chatbots are
    always available there, under their own names."""
    expose: Literal["caf", "none"] = "caf"
    """caf: replies carry the `caf` object. none: replies do not."""

    console: ConsoleSettings = ConsoleSettings()
    """The web console. `console: on` is short for `console: {show: on}`."""
    _file: Path | None = PrivateAttr(None)
    _ignored: list[str] = PrivateAttr([])

    @property
    def file(self) -> Path | None:
        """The file that the configuration was read from; None if there is no file."""
        return self._file

    @property
    def ignored(self) -> list[str]:
        """A message for each setting of an earlier version in the file. Such settings have no effect."""
        return self._ignored

    @field_validator("console", mode="before")
    @classmethod
    def _take_short_form(cls, value: Any) -> Any:
        return {"show": value} if isinstance(value, str | bool) else value

    @property
    def serves_console(self) -> bool:
        """Whether the proxy serves the console."""
        return self.console.show == "on" or (self.console.show == "auto" and self.keys is None)

    @model_validator(mode="after")
    def _aliases_exist(self) -> "Config":
        faults = fallback_problems(self.models)
        for name, bot in self.chatbots.items():
            used = {"model": bot.model, "refiner": bot.refiner, "retrieval.selector": bot.retrieval.selector}
            for key, alias in used.items():
                builtin = {"refiner": "local", "retrieval.selector": "lexical"}.get(key)
                if alias is not None and alias != builtin and alias not in self.models:
                    aliases = ", ".join(self.models) or "none"
                    known = [*self.models, builtin] if builtin else self.models
                    near = did_you_mean(alias, known)
                    faults.append(f"chatbots.{name}.{key}: no model alias {alias!r} (configured: {aliases}){near}")
        if self.embeddings is not None and self.embeddings not in self.models:
            aliases = ", ".join(self.models) or "none"
            near = did_you_mean(self.embeddings, self.models)
            faults.append(f"embeddings: no model alias {self.embeddings!r} (configured: {aliases}){near}")
        elif self.embeddings is not None and (kind := self.models[self.embeddings].engine) != "openai":
            faults.append(
                f"embeddings: the alias {self.embeddings!r} has the engine {kind!r} (expected openai, the only engine that "
                "forwards embeddings)"
            )
        if "*" in self.server.cors_origins and self.keys is None:
            faults.append(
                "server.cors_origins: `*` needs `keys`: without them, every web page opened on this machine could use the chatbots "
                "and read the replies; name the origins of your pages, or configure `keys`"
            )
        if faults:
            raise ValueError("\n".join(faults))
        return self


def load_config(path: Path) -> Config:
    """Read and validate a configuration file. Relative paths in it are resolved from the file's folder.

    Raises:
        ConfigError: The file cannot be read, is not YAML, or holds no valid configuration.
    """
    try:
        data = load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        remedy = ", or create one with `caf init FOLDER`" if isinstance(error, FileNotFoundError) else ""
        raise ConfigError(
            [f"{path}: the configuration cannot be read ({error.strerror}); name another file with --config{remedy}"]
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            [f"{path}: is not UTF-8 text (invalid byte at offset {error.start}); save the file as UTF-8"]
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError([f"{path}{describe_yaml_error(error)}"]) from error
    if not isinstance(data, dict):
        raise ConfigError([f"{path}: is not a YAML mapping (known keys: {', '.join(Config.model_fields)})"])
    return parse_config(data, path)


def parse_config(data: dict[str, Any], path: Path | None) -> Config:
    """Validate configuration data as if they had been read from a file.

    Args:
        data: The decoded content of the file.
        path: The file. Relative paths in `data` are resolved from its folder; None: from the current folder.

    Raises:
        ConfigError: The data are invalid. The error has one problem per fault.
    """
    data, ignored = drop_removed_settings(data)
    file = None if path is None else path.resolve()
    try:
        # Sections whose default paths must be resolved from the file's folder too.
        folder = Path.cwd() if file is None else PACKAGES if file == SHIPPED else file.parent
        config = Config.model_validate({"privacy": {}, "console": {}, **data}, context={"folder": folder})
    except ValidationError as error:
        faults = describe_faults(error, Config, may_show=may_show)
        raise ConfigError([f"{path}: {fault}" if path else fault for fault in faults]) from error
    config._file = file
    config._ignored = ignored
    return config


def may_show(location: Location) -> bool:
    """Return whether an error may quote the value at a location of a configuration.

    A value may hold a secret: a key in the wrong place, a password in an address or in place of its variable's name.
    """
    sections, settings = ("models", "memory", "privacy", "keys"), {"url", "webhook", "password_env", "env"}
    return not (location and location[0] in sections) and settings.isdisjoint(location)


def in_file(path: Path, problem: str) -> str:
    """Add the path of the configuration file to a problem that names only a key."""
    return (
        f"{path}: {problem}"
        if problem.startswith(("chatbots.", "models.", "server.", "memory.", "keys.", "privacy.", "audit."))
        else problem
    )
