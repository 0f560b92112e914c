"""The settings of one chatbot in the configuration file: role, judges, emergency, retrieval."""

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
"""The kinds of emergency that judges distinguish."""


def _by_language(value: Any) -> Any:
    """Return texts by language code. A single text gets the empty code, which means every language."""
    value = {"": value} if isinstance(value, str) else by_language_code(value)
    if not (isinstance(value, dict) and value and all(isinstance(t, str) and t.strip() for t in value.values())):
        raise ValueError("expected a text, or texts by language code, as in {en: ..., de: ...}")
    return value


_TEXT = {"type": "string", "minLength": 1}
Texts = Annotated[
    dict[str, str],
    BeforeValidator(_by_language),
    WithJsonSchema({"anyOf": [_TEXT, {"type": "object", "additionalProperties": _TEXT, "minProperties": 1}]}),
]
"""Texts by language code. The first text is the default. The empty code means every language."""


PLACEHOLDER = "CHANGE-ME"
"""`caf init` writes this wherever the operator must fill in a text."""


class EmergencySettings(Settings):
    enabled: bool = True
    """Whether users' messages are checked for emergencies. `emergency: off` is short for `enabled: false`."""
    contact: Texts = Field({})
    """Whom a person in danger should call: a text, or texts by language code. Fallback messages contain the contact, and it is the
    reply to an emergency without a text in `texts`. The first contact is used when the user's language is unknown or has none.
    Required unless `enabled` is false."""
    kinds: list[CrisisKind] = Field([*KINDS], min_length=1)
    """The kinds of emergency to react to. Signs of other kinds are ignored."""
    fallback_contact: bool = True
    """Whether every fallback message contains the contact. false: only if the emergency judge suspects danger, or fails on the
    user's message (see `unread_contact`)."""
    unread_contact: bool = True
    """Whether a fallback message contains the contact if the emergency judge failed on the user's message. Used only if
    `fallback_contact` is false."""
    texts: dict[str, Annotated[dict[str, str], BeforeValidator(by_language_code)]] = Field({})
    """The replies to emergencies, by kind of emergency and language code. If a kind has no text in the user's language, the text of
    another kind or the contact in that language is used. If the language is unknown or has no text at all, the first text of the
    kind is used, or else the contact."""
    remember_turns: int = Field(4, ge=1)
    """Number of later turns in which the chatbot is reminded of the emergency."""
    webhook: str | None = None
    """URL (http or https) to notify of each emergency. The proxy sends a POST request with turn_id, conversation_id, chatbot and
    kind, but no text of the conversation."""

    @field_validator("texts")
    @classmethod
    def _known_kinds(cls, value: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        for kind, texts in value.items():
            if kind not in KINDS:
                raise ValueError(f"unknown emergency kind {kind!r} (expected one of {', '.join(KINDS)})")
            if not texts or not all(text.strip() for text in texts.values()):
                raise ValueError(f"{kind}: expected at least one text by language code, as in {{en: ...}}")
        return value

    @model_validator(mode="after")
    def _has_contact(self) -> "EmergencySettings":
        if self.enabled and not self.contact:
            raise ValueError("`contact` is missing: say whom a person in danger should call, or set `emergency: off`")
        return self

    @field_validator("webhook")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        if value is not None and not re.match(r"https?://[^/\s]+", value):
            raise ValueError("expected an http:// or https:// URL")
        return value


def _switched_off(value: Any) -> Any:
    """Accept `emergency: off`, which YAML reads as false."""
    if value is False or (isinstance(value, str) and value.lower() == "off"):
        return {"enabled": False}
    if value is None or isinstance(value, dict | EmergencySettings):
        return value
    raise ValueError("expected `off`, or a mapping with a `contact`")


class StatementSettings(Settings):
    not_from_sources: str = Field(min_length=1)
    """Sentence that states that part of the reply is not from its sources."""
    verify: str = Field(min_length=1)
    """Sentence that asks the user to verify the reply with a professional."""


class TopicSettings(Settings):
    name: str = Field(min_length=1)
    """The topic as named to the judges, such as medication."""
    terms: list[str] = Field([])
    """Words that belong to the topic, in addition to the built-in words for its name."""

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class RetrievalSettings(Settings):
    selector: str = "lexical"
    """`lexical` (BM25 over the sections' texts), or the alias of the model that selects sections by their summaries."""
    language: Language = "english"
    """The language of the sections, for stemming and stop words."""
    evidence_tokens: int = Field(3_000, ge=100)
    """Maximum tokens of the sections that judges compare a reply with. A knowledge base that fits is used whole. A larger one is
    searched with the draft and the question."""
    max_requests: int = Field(3, ge=1)
    """Maximum number of sections that the search adds to the chatbot's prompt in a turn. The chatbot can then request as many."""
    max_sources: int = Field(4, ge=1)
    """Maximum number of sections in the chatbot's prompt."""
    uncited_turns: int = Field(2, ge=1)
    """A section that was not cited for this many turns is removed from the chatbot's prompt."""


class LengthSettings(Settings):
    soft: int = Field(320, ge=20)
    """Maximum tokens of a reply without a warning. The chatbot is warned about longer replies."""
    hard: int = Field(640, ge=20)
    """Maximum tokens of a reply. Longer replies are shortened before they are judged."""

    @model_validator(mode="after")
    def _ordered(self) -> "LengthSettings":
        if self.hard < self.soft:
            raise ValueError(f"`hard` must not be below `soft` (got hard: {self.hard}, soft: {self.soft})")
        return self


Evidence = Literal["knowledge_base", "documents", "tools", "upstream"]


class DocumentLimits(Settings):
    count: int = Field(16, ge=1)
    """Maximum number of documents per turn."""
    bytes: int = Field(65_536, ge=1)
    """Maximum size of all texts of documents in a turn together, in UTF-8 bytes."""


class ChatbotSettings(Settings):
    kind: Literal["guarded", "wrapped", "passthrough"] = "guarded"
    """guarded: CAF adds the role, sources and warnings to the model's prompt.
    wrapped: an existing chatbot with its own prompt; CAF finds evidence and judges the replies against it.
    passthrough: CAF forwards requests and replies unchanged."""
    model: str
    """Alias of the model that drafts replies."""
    role: str = ""
    """What the chatbot is and what it must not be: a text, or a path that ends in .md."""
    knowledge_base: AnchoredPath | None = None
    """Folder with the sections of the knowledge base."""
    evidence: list[Evidence] = Field(["knowledge_base"])
    """What counts as a source. knowledge_base: the sections. documents: the field `documents` of the request. tools: tool results
    since the user's last message. Documents and tool results need a key with the permission `evidence`. They never count on a
    sensitive topic, because a client may have invented them. upstream: documents that a model with `trusted_evidence` sends with
    its completion."""
    document_limits: DocumentLimits = DocumentLimits()
    """Limits on the documents of a request. A request that exceeds them is refused."""
    judges: list[JudgeSettings] = Field([])
    """The judges of the chatbot's replies and of its users' messages. Empty: nothing is judged."""
    reply_prompts: list[AnchoredPath] = Field([])
    """Prompt files for the swift or chief stage. They replace the prompts that the built-in judges of replies share."""
    refiner: str | None = None
    """`local`, or the alias of the model that rewrites rejected drafts. null: rejected drafts are replaced by the fallback
    message."""
    max_refinements: int = Field(1, ge=0)
    """Maximum number of times that a rejected draft is rewritten and judged again. 0: the fallback message replaces the draft at
    once."""
    filter: FilterMode = "on"
    """on: judge, refine and warn. off: no judges, refiner or warnings. shadow: judge in the background without changing replies."""
    fallback: Texts = Field(
        "I am sorry, I cannot give a reliable answer to that. Please ask a professional you trust.",
        validate_default=True,
    )
    """The message that replaces a rejected reply: a text, or texts by language code. The first text is used when the user's
    language is unknown or has no text. The emergency contact is added in the same language."""
    emergency: Annotated[
        EmergencySettings | None,
        BeforeValidator(_switched_off, json_schema_input_type=EmergencySettings | Literal["off", False] | None),
    ] = None
    """The emergency texts and contact, or `off`. Required except for passthrough chatbots."""
    statements: Annotated[dict[str, StatementSettings], BeforeValidator(by_language_code)] = Field({})
    """Statements by language code. The proxy adds them to a reply whose only fault is that they are missing. The first language is
    used for all languages without statements. Without this setting, the next stage judges such a reply."""
    sensitive_topics: list[TopicSettings] = Field([])
    """Topics on which advice, doses, risks and diagnoses must come from the sources. A reply with other statements on these topics
    is rejected, even with a disclaimer."""
    trusted_tools: list[Annotated[str, Field(pattern=r"^\S+$")]] = Field([])
    """Names of the tools whose calls are delivered unjudged. Calls of other tools are judged like replies. Local judges reject most
    calls, because these judges expect sentences. Calls of tools that the request does not declare are always dropped."""
    citations: Literal["shown", "hidden"] = "shown"
    """Whether a reply ends with a line that names its sources."""
    streaming: Literal["hold", "observe"] = "hold"
    """What a stream sends before the verdict. hold: nothing. observe: the whole reply; judges read it afterwards, to warn the
    chatbot."""
    retrieval: RetrievalSettings = RetrievalSettings()
    """How sections are selected for the chatbot and its judges."""
    length: LengthSettings = LengthSettings()
    """Limits on the length of a reply."""
    context_tokens: int = Field(24_000, ge=500)
    """Maximum estimated tokens of a prompt for the chatbot's model. Above it, the oldest exchanges are left out."""
    warning_turns: int = Field(4, ge=1)
    """Number of turns in which the chatbot is shown a warning."""
    warning_texts: Literal["specific", "fixed"] = "specific"
    """The text of a warning. specific: the judge's feedback where it is safe. fixed: the rule's fixed text."""

    @field_validator("filter", mode="before")
    @classmethod
    def _yaml_bool(cls, value: Any) -> Any:
        """Convert booleans to `on` and `off`, because YAML reads a bare on or off as a boolean."""
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
                    f"a passthrough chatbot ignores the settings {', '.join(sorted(unused))}: remove them, or set `kind: guarded`"
                )
            return self
        missing = []
        if self.knowledge_base is not None and "knowledge_base" not in self.evidence:
            missing.append(
                "`evidence` does not list knowledge_base, but `knowledge_base` is set; add it to the list, or remove the setting "
                "`knowledge_base`"
            )
        if self.kind == "guarded" and not self.role:
            missing.append("a guarded chatbot needs `role`: a text about what it is and what it must not be")
        if self.emergency is None:
            missing.append(
                "`emergency` is missing: say in `emergency.contact` whom a person in danger should call, or set `emergency: off`"
            )
        elif not self.emergency.enabled and any(judge.name == "emergency" for judge in self.judges):
            missing.append("`emergency` is off, but `judges` lists the emergency judge; remove one of them")
        elif self.emergency.contact and "" not in self.fallback and "" not in self.emergency.contact:
            missing += [
                f"`emergency.contact` has no text for {code!r}, a language of `fallback`; add one, because a fallback message "
                "contains the contact in the same language"
                for code in self.fallback
                if code not in self.emergency.contact
            ]
        if self.refiner is None and "refiner" not in self.model_fields_set and self.judges:
            missing.append(
                "`refiner` is missing (expected local, a model alias, or null to replace rejected drafts by the fallback)"
            )
        if missing:
            raise ValueError("\n".join(missing))
        return self
