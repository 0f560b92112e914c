"""The answers about the new chatbot, and their parsers."""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from cli.starter.languages import LANGUAGES
from cli.starter.providers import PROVIDERS, ModelPlace, Provider, check_settings, server_address
from proxy.config.language_codes import language_code

NONE = "none"
"""Answer for nothing."""
SENSITIVE = "self-harm, suicide, medication"


class AnswerError(ValueError):
    """An answer is invalid; the message says what is expected."""


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers for `caf init`."""

    title: str
    """The name as entered, for people."""
    about: str
    topics: tuple[str, ...]
    language: str
    judging: ModelPlace
    """The model of the judges; for a guarded chatbot also its own."""
    endpoint: ModelPlace | None = None
    """The existing chatbot to wrap."""
    prompt: str | None = None
    """The text of the chatbot's prompt."""
    documents: tuple[Path, ...] = ()
    contact: str | None = None
    """Emergency contact for users in danger; None: the operator writes it later."""

    @property
    def name(self) -> str:
        return chatbot_name(self.title)

    @property
    def module(self) -> str:
        """The module of the judge in Python, named after the chatbot, because Python modules need unique names."""
        return re.sub(r"\W|[^\x00-\x7f]", "_", self.name) + "_rules"

    @property
    def kind(self) -> str:
        return "guarded" if self.endpoint is None else "wrapped"

    @property
    def has_models(self) -> bool:
        """Whether the judges call a language model."""
        return self.judging.provider.engine != "embedded"

    @property
    def key_variables(self) -> list[str]:
        """The environment variables with API keys."""
        places = [self.judging, *([self.endpoint] if self.endpoint else [])]
        return list(dict.fromkeys(place.key_env for place in places if place.key_env))


def one_line(text: str) -> str:
    """Return a text in one line, without control characters and without characters that UTF-8 cannot encode."""
    whole = " ".join(text.encode("utf-8", "replace").decode().split())
    return "".join(character for character in whole if unicodedata.category(character) not in ("Cc", "Cf", "Cs"))


def chatbot_name(title: str) -> str:
    """Return the chatbot's name for clients: the title if it is valid, else its letters and digits."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}", title):
        return title
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-").lower()[:64].strip("-")


def read_title(text: str) -> str:
    title = one_line(text)
    if not chatbot_name(title):
        raise AnswerError(
            f"{title!r}: expected at least one letter or digit of the Latin alphabet, for the name that clients use"
        )
    if len(title) > 100:
        raise AnswerError(f"has {len(title)} characters: expected at most 100")
    return title


def read_sentence(text: str) -> str:
    sentence = one_line(text)
    if not sentence:
        raise AnswerError("is empty: expected a sentence about the purpose of the chatbot")
    if len(sentence) > 500:
        raise AnswerError(f"has {len(sentence)} characters: expected at most 500; write the rest into role.md")
    return sentence if sentence.endswith((".", "!", "?", "。")) else f"{sentence}."


def read_contact(text: str) -> str:
    """Return the emergency contact; empty if it is not known yet."""
    contact = one_line(text)
    if len(contact) > 500:
        raise AnswerError(f"has {len(contact)} characters: expected at most 500")
    return "" if contact.lower() in ("", NONE) else contact


def read_topics(text: str) -> tuple[str, ...]:
    topics = [one_line(topic) for topic in text.split(",")]
    return tuple(dict.fromkeys(topic for topic in topics if topic and topic != NONE))


def read_language(text: str) -> str:
    """Return the code of a language, given its code or its English name."""
    answer = one_line(text)
    codes = {name.lower(): code for code, name in LANGUAGES.items()}
    code = codes.get(answer.lower()) or language_code(answer)
    if code is None:
        raise AnswerError(f"{answer!r}: expected the code of a language, such as en, de or fr")
    return code


def read_provider(text: str) -> Provider:
    answer = one_line(text).lower()
    if answer.isdecimal() and 1 <= int(answer) <= len(PROVIDERS):
        return [*PROVIDERS.values()][int(answer) - 1]
    if answer not in PROVIDERS:
        raise AnswerError(f"{answer!r}: expected one of {', '.join(PROVIDERS)}")
    return PROVIDERS[answer]


def read_model(text: str) -> str:
    model = one_line(text)
    if not model:
        raise AnswerError("is empty: expected the model's name on its server")
    return model


def read_url(text: str) -> str:
    url = server_address(one_line(text))
    if wrong := check_settings({"engine": "openai", "base_url": url}):
        raise AnswerError(wrong)
    return url


def read_optional_url(text: str) -> str:
    return "" if text.strip().lower() in ("", NONE) else read_url(text)


def read_key_env(text: str) -> str:
    """Return the name of an environment variable; empty if no key is needed. A text that looks like a key is never repeated."""
    name = one_line(text)
    if name.lower() in ("", NONE):
        return ""
    looks_like_a_key = len(name) > 16 and re.search(r"\d", name) and re.search(r"[a-z]", name)
    if looks_like_a_key or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise AnswerError(
            "expected the name of an environment variable, such as OPENAI_API_KEY; never give the key itself"
        )
    return name


def read_prompt(text: str) -> str | None:
    """Return the text of a prompt file; None without a file."""
    if text.strip().lower() in ("", NONE):
        return None
    path = Path(text).expanduser()
    try:
        prompt = path.read_text(encoding="utf-8-sig").strip()
    except OSError as error:
        raise AnswerError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise AnswerError(f"{path}: is not UTF-8 text: save it with that encoding") from None
    if not prompt:
        raise AnswerError(f"{path}: is empty: expected a prompt")
    return prompt + "\n"


def read_documents(text: str) -> tuple[Path, ...]:
    """Return files and folders, given one per line."""
    paths = [Path(line).expanduser() for line in text.split("\n") if line.strip().lower() not in ("", NONE)]
    if missing := [str(path) for path in paths if not path.exists()]:
        raise AnswerError(f"{', '.join(missing)}: no such file or folder")
    return tuple(path.resolve() for path in paths)
