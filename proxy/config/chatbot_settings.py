"""What the configuration file says of a chatbot: its role, judges, emergency, retrieval."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from judges.observation import Sign
from judges.python_judge import ClassReference
from judges.verdict import Stage
from proxy.config.settings import AnchoredPath, Settings, anchored

Filter = Literal["on", "off", "shadow"]
KINDS: tuple[str, ...] = get_args(Sign.model_fields["kind"].annotation)
"""The kinds of emergency that judges tell apart."""


def _by_language(value: Any) -> Any:
    """Put a text that is for every language under the empty code."""
    if isinstance(value, str):
        value = {"": value}
    elif isinstance(value, dict) and not all(isinstance(code, str) and code for code in value):
        raise ValueError('language codes are texts such as en; YAML takes a bare no for false, so write "no"')
    if isinstance(value, dict) and (not value or not all(isinstance(t, str) and t.strip() for t in value.values())):
        raise ValueError("give a text, or at least one by language code, as in {en: ..., de: ...}")
    return value


_TEXT = {"type": "string", "minLength": 1}
Texts = Annotated[
    dict[str, str],
    BeforeValidator(_by_language),
    WithJsonSchema({"anyOf": [_TEXT, {"type": "object", "additionalProperties": _TEXT, "minProperties": 1}]}),
]
"""A text by language code, the default first; one that is for every language stands under the empty code."""


def _class_reference(value: Any, info: ValidationInfo) -> ClassReference:
    found = re.fullmatch(r"(\w+(?:\.\w+)*):(\w+)", value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("name a module and a class in it, as in my_rules:NoPrices")
    return ClassReference(anchored(Path(), info), found[1], found[2])


OwnClass = Annotated[
    ClassReference,
    BeforeValidator(_class_reference),
    WithJsonSchema({"type": "string", "pattern": r"^\w+(\.\w+)*:\w+$"}),
]


class AcceptBelow(Settings):
    """Up to where a local judge may accept alone, and for whom that was found out."""

    score: float = Field(ge=0, le=1)
    """The local stage accepts what scores below this, and nothing else."""
    weights: str | None = Field(None, pattern=r"^[0-9a-f]{8}$")
    """The id of the weights it was calibrated for. Left out, or not the id of today's, the threshold is ignored."""


def _threshold(value: Any) -> Any:
    """Take a bare number as a score for which nobody has said the weights."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"score": value}
    if isinstance(value, dict) and isinstance(value.get("weights"), int | float):
        raise ValueError("weights: put the id in quotes: YAML takes one of digits alone for a number")
    if value is None or isinstance(value, dict | AcceptBelow):
        return value
    raise ValueError('give {score: 0.31, weights: "ab12cd34"}, as `caf judges calibrate --write` does')


_Score = Annotated[float, Field(ge=0, le=1)]


class JudgeSettings(Settings):
    name: str | None = None
    """A built-in judge: source_fidelity, transparency, role or emergency. Left out, a judge of your own."""
    prompts: list[AnchoredPath] = Field([])
    """The prompt files of your own judge (a swift and a chief version, or one of them), or of a built-in one to replace its own."""
    python: OwnClass | None = None
    """Your own judge as a Python class, MODULE:CLASS, from Python's path or the folder of this file; see docs/judges.md."""
    settings: dict[str, Any] = Field({})
    """The keyword arguments that this class is made with."""
    stages: list[Stage] | None = None
    """Cheapest first. Each stage screens for the next; the last one decides. Default: the stages that have a prompt, and for the
    emergency judge `local` before them."""
    on_error: Literal["closed", "open"] = "closed"
    """When the judge crashes, times out or says something unreadable: closed replaces the reply by the fallback message,
    open delivers it with the outcome `unjudged`."""
    accept_below: Annotated[
        AcceptBelow | None, BeforeValidator(_threshold, json_schema_input_type=AcceptBelow | _Score | None)
    ] = None
    """The local stage accepts what scores below this, and nothing else; `caf judges calibrate --write` finds it and writes it
    with the id of the weights it holds for. Default, and for a bare number or the id of other weights: its rules decide when it is
    the only stage, and in front of others it accepts nothing by itself."""
    reject_alone: list[Stage] | None = None
    """Stages whose reject is final though others follow. Default: none, but `local` for the emergency judge."""
    timeout_s: float = Field(30, gt=0)
    """A stage that has not answered by then leaves the case unjudged."""
    research_language: bool = False
    """Of the emergency judge's local stage: users write of patients and records, so that a sentence which is plainly about these
    (cohort: first suicide attempt) tells of no danger; what users say of themselves, or of somebody beside them, does as ever."""

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"prompts": [value]} if value.endswith(".md") else {"name": value}
        return value

    @model_validator(mode="after")
    def _one_of_both(self) -> "JudgeSettings":
        if self.python is None and self.name is None and not self.prompts:
            raise ValueError(
                "give `name` (a built-in judge), `prompts` (files of your own judge), or `python` (a class of your own)"
            )
        if self.python is not None and (
            others := self.model_fields_set - {"python", "settings", "on_error", "timeout_s"}
        ):
            raise ValueError(f"a judge with `python` has no {', '.join(sorted(others))}: its class says that")
        if self.python is None and self.settings:
            raise ValueError("`settings` are for the class that `python` names")
        if self.research_language and self.name != "emergency":
            raise ValueError("`research_language` is for the judge `emergency`")
        if self.stages is not None:
            order: list[Stage] = ["local", "swift", "chief"]
            if not self.stages or [s for s in order if s in self.stages] != self.stages:
                raise ValueError("`stages` lists one or more of local, swift, chief, in that order, each once")
        return self


class EmergencySettings(Settings):
    contact: Texts
    """The contact that every fallback message and emergency text must offer: a text, or texts by language code, of which the first
    is used when the user's language is unknown or not there."""
    texts: dict[str, dict[str, str]] = Field({})
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


class StatementSettings(Settings):
    not_from_sources: str = Field(min_length=1)
    """Says that what the reply adds is not from its sources."""
    verify: str = Field(min_length=1)
    """Asks to check it with a professional."""


class TopicSettings(Settings):
    name: str = Field(min_length=1)
    terms: list[str] = Field([])
    """Words that touch the topic, besides those that are known for its name."""

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


Evidence = Literal["knowledge_base", "documents", "tools", "upstream"]


class DocumentLimits(Settings):
    count: int = Field(16, ge=1)
    """Documents of a turn."""
    bytes: int = Field(65_536, ge=1)
    """Of their texts together, in UTF-8."""


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
    evidence: list[Evidence] = Field(["knowledge_base"])
    """What counts as a source. documents: the request's field of that name; tools: results of tools since the user's last message
    (both from keys with the permission `evidence`, and never on a sensitive topic: a client may have made them up); upstream: what
    comes with the completion of a model with `trusted_evidence`."""
    document_limits: DocumentLimits = DocumentLimits()
    """What a request may bring; more is refused."""
    judges: list[JudgeSettings] = Field([])
    reply_prompts: list[AnchoredPath] = Field([])
    """Prompt files, for the swift stage, the chief or both, that replace those which the built-in judges of replies share."""
    refiner: str | None = None
    """`local`, or the alias of the model that rewrites rejected drafts; none: rejected drafts become the fallback message."""
    max_refinements: int = Field(1, ge=0)
    filter: Filter = "on"
    """on; off: no judge, refiner or warning; shadow: judged in the background, nothing changed."""
    fallback: Texts = Field(
        "I am sorry, I cannot give a reliable answer to that. Please ask a professional you trust.",
        validate_default=True,
    )
    """What the user gets instead of a reply that could not be made acceptable: a text, or texts by language code, of which the
    first is used when the user's language is unknown or not there. The emergency contact is added to it in the same language."""
    emergency: EmergencySettings | None = None
    statements: dict[str, StatementSettings] = Field({})
    """By language code, the first for all others: what is added to a reply whose only fault is that it lacks these statements.
    Without them what it adds to its sources is taken out, where that can be done."""
    sensitive_topics: list[TopicSettings] = Field([])
    trusted_tools: list[str] = Field([])
    """Tools whose calls are delivered unjudged. Calls of others are judged like replies, of which the local judges, who read
    sentences, accept few. Calls of tools that the request does not declare are dropped in any case."""
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
        path = anchored(Path(value), info)
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
                "reply_prompts",
                "refiner",
                "emergency",
                "sensitive_topics",
                "statements",
                "trusted_tools",
                "evidence",
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
        elif "" not in self.fallback and "" not in self.emergency.contact:
            missing += [
                f"`emergency.contact` has no text for {code!r}, a language of `fallback`: every fallback message offers the "
                "contact in its own language"
                for code in self.fallback
                if code not in self.emergency.contact
            ]
        if self.refiner is None and "refiner" not in self.model_fields_set and self.judges:
            missing.append(
                "`refiner` is needed: local, the alias of a model, or null to replace rejected drafts by the fallback"
            )
        if missing:
            raise ValueError("\n".join(missing))
        return self
