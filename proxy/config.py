"""The configuration file: read, validated once, every problem named with file, key and what would be right."""

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import parse_qs, urlsplit

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from judges.observation import Sign
from judges.verdict import Stage
from models.fallback import fallback_problems
from models.settings import ModelSettings

Filter = Literal["on", "off", "shadow"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$")]


def _anchored(path: Path, info: ValidationInfo) -> Path:
    """Take a relative path from the folder of the file it stands in."""
    return Path((info.context or {}).get("folder", "")) / path


AnchoredPath = Annotated[Path, AfterValidator(_anchored)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""The name of an environment variable."""
KINDS: tuple[str, ...] = get_args(Sign.model_fields["kind"].annotation)
"""The kinds of emergency that judges tell apart."""


class ConfigError(Exception):
    """The configuration cannot be used; `problems` holds one sentence for each fault."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = _once(problems)
        super().__init__("\n".join(self.problems))


_PLACE = re.compile(r"((?:.*?: )?(?:chatbots|models))\.(\S+?): (.*)", re.DOTALL)


def _once(problems: list[str]) -> list[str]:
    """Tell the same fault of several chatbots or models once: it may stand in a YAML anchor that all of them use."""
    first: dict[tuple[str, ...], str] = {}
    times: Counter[tuple[str, ...]] = Counter()
    for problem in problems:
        found = _PLACE.fullmatch(problem)
        # The chatbot's own name is left out, and where it has a list, the index in it.
        fault = (found[1], found[2].rpartition(".")[2] if "." in found[2] else "", found[3]) if found else (problem,)
        first.setdefault(fault, problem)
        times[fault] += 1
    return [
        problem if (more := times[fault] - 1) == 0 else f"{problem}; and so in {more} more place{'s' * (more > 1)}"
        for fault, problem in first.items()
    ]


class Settings(BaseModel):
    """The base of every section: unknown keys are refused, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ServerSettings(Settings):
    host: str = "127.0.0.1"
    """Where to listen. Anything but a loopback address needs `keys`."""
    port: int = Field(8080, ge=0, le=65535)
    max_body_bytes: int = Field(4_000_000, ge=1_000)
    """Larger request bodies get 413."""
    max_messages: int = Field(2_000, ge=1)
    """Requests with more messages get 400."""
    turn_timeout_s: float = Field(120, gt=0)
    """A turn that is not done by then is cancelled and answered with 504."""
    header_wait_s: float = Field(10, ge=0)
    """How long the headers of a stream wait for the verdict, so that an error can still have its own status."""
    keep_alive_s: float = Field(5, gt=0)
    """After that, seconds between the comments that keep the client from giving up."""
    grace_s: float = Field(10, ge=0)
    """How long open turns may still take when the proxy is told to stop."""


class MemorySettings(Settings):
    store: Literal["process", "redis"] = "process"
    """Where states of conversations are kept: in this process, or in Redis, which several processes share."""
    url: str = "redis://127.0.0.1:6379/0"
    """Address of Redis, without a password."""
    password_env: Variable | None = None
    """Environment variable with Redis' password."""
    timeout_s: float = Field(1, gt=0)
    """How long Redis may take to connect or to answer."""
    on_error: Literal["closed", "degrade"] = "closed"
    """When Redis does not answer: closed refuses the request with 503; degrade serves it as a fresh conversation, counted and
    logged. The emergency text is sent either way."""
    max_turns: int = Field(20_000, ge=1)
    """Turns of conversations remembered in this process; past that the longest unused is forgotten."""
    max_age_s: float = Field(86_400, gt=0)
    """A conversation unused for this long is forgotten."""

    @field_validator("url")
    @classmethod
    def _plain(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("redis", "rediss", "unix"):
            raise ValueError("must begin with redis://, rediss:// or unix://")
        if parts.password:
            raise ValueError("must not hold a password; name its environment variable in password_env")
        return value


class KeySettings(Settings):
    file: AnchoredPath | None = None
    """A file of salted hashes; `caf key create` makes it and adds to it. A change is noticed within a second."""
    env: Variable | None = None
    """An environment variable that holds the same as such a file."""

    @model_validator(mode="after")
    def _one_of_both(self) -> "KeySettings":
        if self.file is None and self.env is None:
            raise ValueError("give `file`, `env` or both; leave `keys` out for a proxy without keys on loopback")
        return self


class PrivacySettings(Settings):
    store: Literal["auto", "full", "redacted", "none"] = "auto"
    """What traces hold. full: texts; redacted: no text, only ids, verdicts, times; none: no trace.
    auto is full on a keyless loopback address, else redacted."""
    days: float = Field(30, gt=0)
    """Traces older than this are deleted."""
    path: AnchoredPath = Field(Path("data/traces.db"), validate_default=True)
    """The SQLite file of the traces."""
    url: str | None = None
    """Address of a PostgreSQL database, without a password: traces go there instead, which several hosts can share."""
    password_env: Variable | None = None
    """Environment variable with PostgreSQL's password."""

    @field_validator("url")
    @classmethod
    def _without_password(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            parts = urlsplit(value)
            given = parts.password or "password" in parse_qs(parts.query)
            parts.port  # noqa: B018  # raises when it is none
        except ValueError as error:
            raise ValueError(f"is no address: {error}") from None
        if given:
            raise ValueError("must not hold a password; name its environment variable in password_env")
        if parts.scheme != "postgresql" or not parts.path.strip("/"):
            raise ValueError("must be the address of a database, such as postgresql://caf@127.0.0.1:5432/caf")
        return value


class AuditSettings(Settings):
    folder: AnchoredPath
    """Where the chains of the audit log go, one file for each process."""
    sync: Literal["turn", "second"] = "second"
    """When the disk must have confirmed what is written: at once, or once a second, which a power cut may cost. No reply waits
    for it."""


class JudgeSettings(Settings):
    name: str | None = None
    """A built-in judge: source_fidelity, transparency, role or emergency. Left out, a judge of your own."""
    prompts: list[AnchoredPath] = []
    """The prompt files of your own judge (a swift and a chief version, or one of them), or of a built-in one to replace its own."""
    stages: list[Stage] | None = None
    """Cheapest first. Each stage screens for the next; the last one decides. Default: the stages that have a prompt, and for the
    emergency judge `local` before them."""
    on_error: Literal["closed", "open"] = "closed"
    """When the judge crashes, times out or says something unreadable: closed replaces the reply by the fallback message,
    open delivers it with the outcome `unjudged`."""
    accept_below: float | None = Field(None, ge=0, le=1)
    """The local stage accepts what scores below this, and nothing else; `caf judges calibrate` finds it. Default: its rules decide
    when it is the only stage, and in front of others it accepts nothing by itself."""
    reject_alone: list[Stage] | None = None
    """Stages whose reject is final though others follow. Default: none, but `local` for the emergency judge."""
    timeout_s: float = Field(30, gt=0)
    """A stage that has not answered by then leaves the case unjudged."""

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"prompts": [value]} if value.endswith(".md") else {"name": value}
        return value

    @model_validator(mode="after")
    def _one_of_both(self) -> "JudgeSettings":
        if self.name is None and not self.prompts:
            raise ValueError("give `name` (a built-in judge), or `prompts` (files of your own judge)")
        if self.stages is not None:
            order: list[Stage] = ["local", "swift", "chief"]
            if not self.stages or [s for s in order if s in self.stages] != self.stages:
                raise ValueError("`stages` lists one or more of local, swift, chief, in that order, each once")
        return self


class EmergencySettings(Settings):
    contact: str = Field(min_length=1)
    """The contact that every fallback message and emergency text must offer."""
    texts: dict[str, dict[str, str]] = {}
    """For each kind of emergency, the reply by language code; a kind without a text gets the contact alone.
    The first language given is used when the user's is not there."""
    remember_turns: int = Field(4, ge=1)
    """For how many turns after it the chatbot is told of the emergency."""
    webhook: str | None = None
    """An http(s) URL that gets a POST with turn_id, conversation_id, chatbot and kind (no text) when the judge fires."""

    @field_validator("texts")
    @classmethod
    def _known_kinds(cls, value: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        for kind, texts in value.items():
            if kind not in KINDS:
                raise ValueError(f"{kind!r} is no kind of emergency; there are {', '.join(KINDS)}")
            if not texts or not all(text.strip() for text in texts.values()):
                raise ValueError(f"{kind}: give at least one text, by language code, such as en")
        return value

    @field_validator("webhook")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        if value is not None and not re.match(r"https?://[^/\s]+", value):
            raise ValueError(f"{value!r} is no http(s) URL")
        return value


class TopicSettings(Settings):
    name: str = Field(min_length=1)
    terms: list[str] = []
    """Words that tell the local judges that the topic is touched, besides those they know for its name."""

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class RetrievalSettings(Settings):
    selector: str = "lexical"
    """`lexical`, or the alias of the model that picks sections by their summaries."""
    max_requests: int = Field(2, ge=1)
    """Sources put in at most per turn."""
    max_sources: int = Field(4, ge=1)
    """Sources in use at most per conversation."""
    uncited_turns: int = Field(2, ge=1)
    """A source not cited for this many turns is taken out."""


class LengthSettings(Settings):
    soft: int = Field(320, ge=20)
    """Tokens of a reply above which the chatbot is warned."""
    hard: int = Field(640, ge=20)
    """Tokens of a reply above which it is shortened before it is judged."""

    @model_validator(mode="after")
    def _ordered(self) -> "LengthSettings":
        if self.hard < self.soft:
            raise ValueError("`hard` must not be below `soft`")
        return self


class ChatbotSettings(Settings):
    kind: Literal["guarded", "wrapped", "passthrough"] = "guarded"
    """guarded: CAF writes the role, sources and warnings into what the model sees.
    wrapped: an existing chatbot with its own prompt; its replies are judged against evidence CAF finds itself.
    passthrough: forwards requests and replies untouched."""
    model: str
    """Alias of the model that drafts."""
    role: str = ""
    """What the chatbot is and must not be; text, or a path that ends in .md."""
    knowledge_base: AnchoredPath | None = None
    """Folder of the sections."""
    judges: list[JudgeSettings] = []
    refiner: str | None = None
    """`local`, or the alias of the model that rewrites rejected drafts; none: rejected drafts become the fallback message."""
    max_refinements: int = Field(1, ge=0)
    filter: Filter = "on"
    """on; off: no judge, refiner or warning; shadow: judged in the background, nothing changed."""
    fallback: str = "I am sorry, I cannot give a reliable answer to that. Please ask a professional you trust."
    """What the user gets instead of a reply that could not be made acceptable. The emergency contact is added to it."""
    emergency: EmergencySettings | None = None
    sensitive_topics: list[TopicSettings] = []
    citations: Literal["shown", "hidden"] = "shown"
    streaming: Literal["hold", "verified", "observe"] = "hold"
    """What leaves before the verdict. hold: nothing. verified: each sentence that the local judges settle to accept; it stays, and
    what is rejected later is rewritten from there. observe: all of it; it is judged afterwards, to warn the chatbot."""
    retrieval: RetrievalSettings = RetrievalSettings()
    length: LengthSettings = LengthSettings()
    context_tokens: int = Field(24_000, ge=500)
    """Estimated tokens of what the model is sent at most; the oldest exchanges are left out first."""
    warning_turns: int = Field(4, ge=1)
    """For how many turns a warning is shown to the chatbot."""

    @field_validator("filter", mode="before")
    @classmethod
    def _yaml_bool(cls, value: Any) -> Any:
        """YAML reads a bare on or off as a boolean."""
        return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value

    @field_validator("role")
    @classmethod
    def _read(cls, value: str, info: ValidationInfo) -> str:
        value = value.strip()
        if not value.endswith(".md") or "\n" in value:
            return value
        path = _anchored(Path(value), info)
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} cannot be read: {error}") from error

    @model_validator(mode="after")
    def _complete(self) -> "ChatbotSettings":
        if self.kind == "passthrough":
            unused = {
                "role",
                "knowledge_base",
                "judges",
                "refiner",
                "emergency",
                "sensitive_topics",
            } & self.model_fields_set
            if unused:
                raise ValueError(
                    f"a passthrough chatbot does not use {', '.join(sorted(unused))}: remove or use kind: guarded"
                )
            return self
        missing = []
        if self.kind == "guarded" and not self.role:
            missing.append("a guarded chatbot needs `role`: what it is there for and what it must not be")
        if self.emergency is None:
            missing.append("`emergency` with a `contact` is needed: every fallback message offers it")
        if self.refiner is None and "refiner" not in self.model_fields_set and self.judges:
            missing.append(
                "`refiner` is needed: local, the alias of a model, or null to replace rejected drafts by the fallback"
            )
        if missing:
            raise ValueError("\n".join(missing))
        return self


class Config(Settings):
    server: ServerSettings = ServerSettings()
    models: dict[Name, ModelSettings]
    chatbots: dict[Name, ChatbotSettings] = Field(min_length=1)
    memory: MemorySettings = MemorySettings()
    keys: KeySettings | None = None
    """Who may ask. Left out, anybody who can connect, which only a loopback address allows."""
    privacy: PrivacySettings = PrivacySettings()
    audit: AuditSettings | None = None
    """A log of every outcome and every change of configuration and keys, which shows if somebody has changed it. Left out: none."""
    embeddings: str | None = None
    """Alias of the model that /v1/embeddings forwards to, under the alias or its `model` name. Passthrough chatbots answer there
    in any case, under their own name."""
    expose: Literal["caf", "none"] = "caf"
    """none leaves the `caf` object out of replies."""

    @model_validator(mode="after")
    def _aliases_exist(self) -> "Config":
        faults = fallback_problems(self.models)
        for name, bot in self.chatbots.items():
            used = {"model": bot.model, "refiner": bot.refiner, "retrieval.selector": bot.retrieval.selector}
            for key, alias in used.items():
                builtin = {"refiner": "local", "retrieval.selector": "lexical"}.get(key)
                if alias is not None and alias != builtin and alias not in self.models:
                    known = ", ".join(self.models) or "none"
                    faults.append(f"chatbots.{name}.{key}: no model alias {alias!r} (configured: {known})")
        if self.embeddings is not None and self.embeddings not in self.models:
            known = ", ".join(self.models) or "none"
            faults.append(f"embeddings: no model alias {self.embeddings!r} (configured: {known})")
        elif self.embeddings is not None and (kind := self.models[self.embeddings].engine) != "openai":
            faults.append(f"embeddings: {self.embeddings!r} has the engine {kind!r}; only openai forwards embeddings")
        if faults:
            raise ValueError("\n".join(faults))
        return self


class _Loader(yaml.SafeLoader):
    """YAML takes the last of two equal keys without a word; here they are a fault."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} stands twice", problem_mark=key.start_mark)
            seen.add(str(key.value))
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def load_config(path: Path) -> Config:
    """Read and validate a configuration file; paths in it become absolute, relative to the file.

    Raises:
        ConfigError: The file cannot be read, is no YAML, or does not hold a valid configuration.
    """
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read ({error.strerror}); give another file with --config"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: is not UTF-8 text (byte {error.start})"]) from error
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError([f"{path}:{where} is not valid YAML: {getattr(error, 'problem', None) or error}"]) from error
    if not isinstance(data, dict):
        raise ConfigError([f"{path}: holds no mapping; a configuration has the keys {', '.join(Config.model_fields)}"])
    return parse_config(data, path)


def parse_config(data: dict[str, Any], path: Path) -> Config:
    """Validate configuration data as if it stood in the file `path`.

    Raises:
        ConfigError: With one problem for each fault.
    """
    try:
        # The traces' path has a default, which is relative to the file like any other.
        return Config.model_validate({"privacy": {}, **data}, context={"folder": path.resolve().parent})
    except ValidationError as error:
        raise ConfigError([f"{path}: {fault}" for fault in faults(error)]) from error


def faults(error: ValidationError) -> list[str]:
    """Turn a pydantic error into sentences that name the key, the value and what would be right."""
    sentences = []
    for one in error.errors(include_url=False):
        key = ".".join(str(part) for part in one["loc"])
        message = one["msg"].removeprefix("Value error, ")
        given = one["input"]
        # Somebody may have put a key in the wrong place, or a password into an address or where its variable is named.
        secret = one["loc"][:1] == ("models",) or one["loc"][-1:] in (("url",), ("password_env",), ("env",))
        plain = isinstance(given, str | int | float | bool) and one["type"] != "extra_forbidden" and not secret
        shown = f" (got {given!r})" if plain else ""
        if one["type"] == "extra_forbidden":
            message = "is not a setting here; check the spelling or remove it"
        sentences += [f"{key}: {line}{shown}" if key else line for line in message.split("\n")]
    return sentences
