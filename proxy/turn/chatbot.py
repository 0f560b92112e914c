"""A running chatbot, which clients select by `model`: its models, judges and sections, and its texts in each language."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from judges.case import Case, Topic, emergency_case
from judges.languages import code_of, rank_languages
from judges.pipeline import Pipeline
from judges.refiner import Refiner, Statements, open_refiner
from knowledge_base.library import Library, Source
from models.client import Models
from proxy.config.blueprint import Blueprint
from proxy.config.chatbot_settings import ChatbotSettings

T = TypeVar("T")
READ_CHARS = 4_000
"""Language detection reads only the last 4,000 characters of a message, to limit its time."""
LEAST_SHARE = 0.2
"""Minimum probability of a detected language. A message without words gets 0.12 for English. Chosen on
judges/evaluation/training/talk/dev.jsonl, where 0.2 % of the messages in an unconfigured language are assigned a configured one."""
_ALIKE = {"no": "da", "da": "no"}
"""Languages that are hard to distinguish in short messages. If only one is configured, the other's probability is added to it."""


@dataclass(frozen=True, slots=True)
class Chatbot:
    """A chatbot that is ready for requests: its settings, connected to the models, judges and sections."""

    name: str
    settings: ChatbotSettings
    models: Models
    library: Library | None
    pipeline: Pipeline
    refiner: Refiner | None
    topics: tuple[Topic, ...] = field(default=())
    aliases: frozenset[str] = frozenset()
    """Aliases of the models that the chatbot's turns may call."""
    sections: Mapping[str, Source] = field(init=False, repr=False, compare=False)
    """The sections of the library by id; empty without a library. A plain dictionary, for fast look-ups."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sections", dict(self.library or {}))

    def warm_up(self) -> None:
        """Load the data of the judges and of section search, so that the first request does not wait for it.

        Raises:
            Exception: A local judge cannot start.
        """
        self.pipeline.warm_up()
        if self.library is not None:
            self.library.index.search(self.settings.role, 1)

    @property
    def upstream_model(self) -> str:
        """The name that the upstream uses for the chatbot's model."""
        return self.models.settings[self.settings.model].model or self.settings.model

    @property
    def judges(self) -> list[str]:
        """The names of the chatbot's judges, the emergency judge first."""
        own = self.pipeline
        return [cascade.name for cascade in (*([own.emergency] if own.emergency else ()), *own.on_reply)]

    def emergency_case(self, user_message: str, earlier: Sequence[str]) -> Case:
        """Return the emergency judge's case: the user's last messages, and the configured kinds of emergency."""
        settings = self.settings.emergency
        case = emergency_case(user_message, earlier)
        kinds = None if settings is None else frozenset(settings.kinds)
        return replace(case, emergency_kinds=kinds, language=self.language)

    @property
    def language(self) -> str:
        """The language code of the chatbot's sections and replies."""
        return code_of(self.settings.retrieval.language)

    def contact(self, user_text: str) -> str:
        """Return the emergency contact in the language of the user's text, else the first configured contact."""
        return in_language_of(user_text, self._contacts)

    def fallback(self, user_text: str) -> str:
        """Return the fallback message with the emergency contact, in the user's language, else in the first language."""
        fallbacks, contacts = self.settings.fallback, self._contacts
        languages = contacts if "" in fallbacks else fallbacks
        language = language_of(user_text, languages) or next(iter(languages))
        text, contact = (texts.get(language) or texts[""] for texts in (fallbacks, contacts))
        text = text.strip()
        emergency = self.settings.emergency
        offers = emergency is not None and emergency.fallback_contact and contact not in text
        return f"{text}\n\n{contact}" if offers else text

    @property
    def _contacts(self) -> Mapping[str, str]:
        emergency = self.settings.emergency
        return (emergency.contact if emergency else {}) or {"": ""}

    def statements(self, user_text: str) -> Statements | None:
        """Return the statements to add to a reply, in the user's language, else in the first; None if not configured."""
        if not self.settings.statements:
            return None
        texts = in_language_of(user_text, self.settings.statements)
        return Statements(texts.not_from_sources, texts.verify)

    def emergency_text(self, kind: str, user_text: str) -> str:
        """Return the reply to an emergency: the text for this kind in the user's language, else the first text of the kind.

        If the kind has no text in the user's language, the text of another kind or the contact in that language is returned,
        because an understandable reply matters more than the exact kind.
        """
        settings = self.settings.emergency
        if settings is None or not settings.contact:
            return self.fallback(user_text)
        texts: dict[str, str] = {}
        for by_language in (settings.texts.get(kind, {}), *settings.texts.values(), settings.contact):
            for code, text in by_language.items():
                texts.setdefault(code, text)
        language = language_of(user_text, texts)
        if language is not None:
            return texts[language]
        return next(iter((settings.texts.get(kind) or settings.contact).values()))


def open_chatbot(blueprint: Blueprint, models: Models) -> Chatbot:
    """Connect a chatbot with the models that it calls."""
    library, settings = blueprint.library, blueprint.settings
    return Chatbot(
        name=blueprint.name,
        settings=settings,
        models=models,
        library=library,
        pipeline=Pipeline([plan.open(models) for plan in blueprint.plans]),
        refiner=open_refiner(settings.refiner, models),
        topics=tuple(Topic(t.name, tuple(t.terms)) for t in settings.sensitive_topics),
        aliases=frozenset(blueprint.aliases),
    )


def in_language_of(user_text: str, texts: Mapping[str, T]) -> T:
    """Return the value of `texts`, by language code, for the language of the user's text, else the first value."""
    return texts[language_of(user_text, texts) or next(iter(texts))]


def language_of(text: str, among: Iterable[str]) -> str | None:
    """Return the most probable language of a text among the given codes; None if all are improbable. A tie selects the first."""
    codes = list(filter(None, among))  # "" is the code of a text for all languages
    if not codes:
        return None
    ranked = rank_languages(text[-READ_CHARS:])
    shares = {code: ranked.get(code, 0.0) for code in codes}
    for code, other in _ALIKE.items():
        if code in shares and other not in shares:
            shares[code] += ranked.get(other, 0.0)
    best = max(codes, key=shares.__getitem__)
    return best if shares[best] >= LEAST_SHARE else None
