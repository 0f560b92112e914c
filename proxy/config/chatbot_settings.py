"""What the configuration file says of a chatbot: its role, judges, emergency, retrieval."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from judges.observation import CrisisKind
from knowledge_base.bm25 import Language
from proxy.config.judge_settings import JudgeSettings
from proxy.config.language_codes import by_language_code
from proxy.config.settings import AnchoredPath, Settings, anchor_path

FilterMode = Literal["on", "off", "shadow"]
KINDS: tuple[CrisisKind, ...] = get_args(CrisisKind)
"""The kinds of emergency that judges tell apart."""


def _by_language(value: Any) -> Any:
    """Put a text that is for every language under the empty code."""
    value = {"": value} if isinstance(value, str) else by_language_code(value)
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


PLACEHOLDER = "CHANGE-ME"
"""Stands in a configuration of `caf init` wherever the operator has to write something."""


class EmergencySettings(Settings):
    enabled: bool = True
    """false: nobody looks for emergencies. `emergency: off` is short for it."""
    contact: Texts = Field({})
    """The contact that emergency texts, and every fallback message, offer: a text, or texts by language code, of which the first is
    used when the user's language is unknown or not there. Needed unless `enabled` is false."""
    kinds: list[CrisisKind] = Field([*KINDS], min_length=1)
    """The kinds of emergency that count; signs of others are ignored."""
    fallback_contact: bool = True
    """false: a fallback message offers the contact only where the user's message gives a reason."""
    unread_contact: bool = True
    """false: that the emergency judge could not read the message is no reason to offer the contact."""
    texts: dict[str, Annotated[dict[str, str], BeforeValidator(by_language_code)]] = Field({})
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

    @model_validator(mode="after")
    def _has_contact(self) -> "EmergencySettings":
        if self.enabled and not self.contact:
            raise ValueError("`contact` is needed: whom somebody in danger should call; or `emergency: off`")
        return self

    @field_validator("webhook")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        if value is not None and not re.match(r"https?://[^/\s]+", value):
            raise ValueError(f"{value!r} is no http(s) URL")
        return value


def _switched_off(value: Any) -> Any:
    """Accept `emergency: off`, which YAML reads as false."""
    if value is False or (isinstance(value, str) and value.lower() == "off"):
        return {"enabled": False}
    if value is None or isinstance(value, dict | EmergencySettings):
        return value
    raise ValueError("give `off`, or a mapping with a `contact`")


class StatementSettings(Settings):
    not_from_sources: str = Field(min_length=1)
    """Says that what the reply adds is not from its sources."""
    verify: str = Field(min_length=1)
    """Asks to check it with a professional."""


class TopicSettings(Settings):
    name: str = Field(min_length=1)
    """The topic, as judges are told of it, such as medication."""
    terms: list[str] = Field([])
    """Words that touch the topic, besides those that are known for its name."""

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class RetrievalSettings(Settings):
    selector: str = "lexical"
    """`lexical` (BM25 over the sections' texts), or the alias of the model that picks sections by their summaries."""
    language: Language = "english"
    """The language of the sections, for stems and stop words."""
    evidence_tokens: int = Field(3_000, ge=100)
    """Tokens of sections that a reply is held against. A knowledge base that fits is in view whole; of a larger one, what draft and
    question find."""
    max_requests: int = Field(3, ge=1)
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
    """The judges that its replies, and its users' messages, are put to; none: nothing is judged."""
    reply_prompts: list[AnchoredPath] = Field([])
    """Prompt files, for the swift stage, the chief or both, that replace those which the built-in judges of replies share."""
    refiner: str | None = None
    """`local`, or the alias of the model that rewrites rejected drafts; none: rejected drafts become the fallback message."""
    max_refinements: int = Field(1, ge=0)
    """How often a rejected draft may be rewritten and judged again; 0: never, and it becomes the fallback message."""
    filter: FilterMode = "on"
    """on; off: no judge, refiner or warning; shadow: judged in the background, nothing changed."""
    fallback: Texts = Field(
        "I am sorry, I cannot give a reliable answer to that. Please ask a professional you trust.",
        validate_default=True,
    )
    """What the user gets instead of a reply that could not be made acceptable: a text, or texts by language code, of which the
    first is used when the user's language is unknown or not there. The emergency contact is added to it in the same language."""
    emergency: Annotated[
        EmergencySettings | None,
        BeforeValidator(_switched_off, json_schema_input_type=EmergencySettings | Literal["off", False] | None),
    ] = None
    """What somebody in danger is told, or `off`. Needed by every chatbot but a passthrough one."""
    statements: Annotated[dict[str, StatementSettings], BeforeValidator(by_language_code)] = Field({})
    """By language code, the first for all others: what is added to a reply whose only fault is that it lacks these statements.
    Without them such a reply goes to the next stage of its judges."""
    sensitive_topics: list[TopicSettings] = Field([])
    """Topics on which advice, doses, risks and diagnoses that its sources do not give are rejected, whatever it says besides."""
    trusted_tools: list[Annotated[str, Field(pattern=r"^\S+$")]] = Field([])
    """Tools whose calls are delivered unjudged. Calls of others are judged like replies, of which the local judges, who read
    sentences, accept few. Calls of tools that the request does not declare are dropped in any case."""
    citations: Literal["shown", "hidden"] = "shown"
    """Whether a reply ends with a line that names its sources."""
    streaming: Literal["hold", "observe"] = "hold"
    """What is sent before the verdict. hold: nothing. observe: all of it; it is judged afterwards, to warn the chatbot."""
    retrieval: RetrievalSettings = RetrievalSettings()
    """How sections are picked, and how many are in use."""
    length: LengthSettings = LengthSettings()
    """How long a reply may be."""
    context_tokens: int = Field(24_000, ge=500)
    """Estimated tokens of what the model is sent at most; the oldest exchanges are left out first."""
    warning_turns: int = Field(4, ge=1)
    """For how many turns a warning is shown to the chatbot."""
    warning_texts: Literal["specific", "fixed"] = "specific"
    """What the chatbot is told of a reply that was objected to: the judge's feedback where it is safe, or the rule's fixed text."""

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
        path = anchor_path(Path(value), info)
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
            raise ValueError(f"cannot read the file {path}: {reason}") from error

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
                "document_limits",
            } & self.model_fields_set
            if unused:
                raise ValueError(
                    f"a passthrough chatbot does not use {', '.join(sorted(unused))}: remove or use kind: guarded"
                )
            return self
        missing = []
        if self.knowledge_base is not None and "knowledge_base" not in self.evidence:
            missing.append(
                "`evidence` leaves out knowledge_base, though there is one: add it to the list, or remove the folder"
            )
        if self.kind == "guarded" and not self.role:
            missing.append("a guarded chatbot needs `role`: what it is there for and what it must not be")
        if self.emergency is None:
            missing.append(
                "`emergency` with a `contact` is needed: every fallback message offers it; or `emergency: off`"
            )
        elif not self.emergency.enabled and any(judge.name == "emergency" for judge in self.judges):
            missing.append("`emergency` is off, but `judges` lists the emergency judge: remove one of them")
        elif self.emergency.contact and "" not in self.fallback and "" not in self.emergency.contact:
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
