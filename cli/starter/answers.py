"""The answers that describe the new chatbot of `caf init`, and the functions that parse them.

Each `read_*` function parses the text that a user typed or gave as an option. It raises AnswerError if the text is invalid.
"""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from cli.starter.languages import LANGUAGES
from cli.starter.providers import PROVIDERS, ModelPlace, Provider, check_settings, server_address
from proxy.config.language_codes import language_code

NONE = "none"
"""The answer with which a user skips an optional question."""
SENSITIVE = "self-harm, suicide, medication"
"""The default answer for the sensitive topics."""


class AnswerError(ValueError):
    """An answer is invalid. The message is a sentence for the user that says what is expected."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The validated answers to the questions of `caf init`, from which the files are rendered."""

    title: str
    """The chatbot's name as the user entered it. Clients use `name` instead."""
    about: str
    """The purpose of the chatbot, in one sentence."""
    topics: tuple[str, ...]
    """Sensitive topics, on which the chatbot states only what its sources state."""
    language: str
    """The language code of the users."""
    judging: ModelPlace
    """The model of the judges. A guarded chatbot drafts its replies with the same model."""
    endpoint: ModelPlace | None = None
    """The existing chatbot to wrap; None for a new guarded chatbot."""
    prompt: str | None = None
    """The text of the chatbot's prompt; None to write a skeleton."""
    documents: tuple[Path, ...] = ()
    """Files and folders to import into the knowledge base."""
    contact: str | None = None
    """The emergency contact for users in danger; None to write a placeholder that the operator must replace."""

    @property
    def name(self) -> str:
        """The name of the chatbot in config.yaml, which clients send as `model`."""
        return chatbot_name(self.title)

    @property
    def module(self) -> str:
        """The Python module of the judge. Modules need unique names, so it is named after the chatbot."""
        return re.sub(r"\W|[^\x00-\x7f]", "_", self.name) + "_rules"

    @property
    def kind(self) -> str:
        """The setting `chatbots.<name>.kind`."""
        return "guarded" if self.endpoint is None else "wrapped"

    @property
    def has_models(self) -> bool:
        """Whether the judges call a language model."""
        return self.judging.provider.engine != "embedded"

    @property
    def key_variables(self) -> list[str]:
        """Names of the environment variables that must hold API keys."""
        places = [self.judging, *([self.endpoint] if self.endpoint else [])]
        return list(dict.fromkeys(place.key_env for place in places if place.key_env))


def one_line(text: str) -> str:
    """Join the lines of a text with spaces. Remove control characters, and replace characters that UTF-8 cannot encode."""
    whole = " ".join(text.encode("utf-8", "replace").decode().split())
    return "".join(character for character in whole if unicodedata.category(character) not in ("Cc", "Cf", "Cs"))


def chatbot_name(title: str) -> str:
    """Return the name that clients use for a chatbot with this title.

    A title that is a valid name is returned unchanged. In any other title, each run of characters other than ASCII letters and
    digits becomes a hyphen. The result is empty if nothing is left.
    """
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}", title):
        return title
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-").lower()[:64].strip("-")


def read_title(text: str) -> str:
    """Return the name of the chatbot as people read it."""
    title = one_line(text)
    if not chatbot_name(title):
        raise AnswerError(
            f"the name {title!r} has no Latin letter or digit: expected at least one, because clients use it in `model`"
        )
    if len(title) > 100:
        raise AnswerError(f"the name has {len(title)} characters: expected at most 100")
    return title


def read_sentence(text: str) -> str:
    """Return the purpose of the chatbot, with punctuation at its end."""
    sentence = one_line(text)
    if not sentence:
        raise AnswerError("the purpose is empty: expected a sentence about the purpose of the chatbot")
    if len(sentence) > 500:
        raise AnswerError(
            f"the purpose has {len(sentence)} characters: expected at most 500; add details to role.md later"
        )
    return sentence if sentence.endswith((".", "!", "?", "。")) else f"{sentence}."


def read_contact(text: str) -> str:
    """Return the emergency contact; empty if the user does not know it yet."""
    contact = one_line(text)
    if len(contact) > 500:
        raise AnswerError(f"the emergency contact has {len(contact)} characters: expected at most 500")
    return "" if contact.lower() in ("", NONE) else contact


def read_topics(text: str) -> tuple[str, ...]:
    """Return the sensitive topics of a comma-separated list, without duplicates."""
    topics = [one_line(topic) for topic in text.split(",")]
    return tuple(dict.fromkeys(topic for topic in topics if topic and topic != NONE))


def read_language(text: str) -> str:
    """Return the language code for a language code or an English name."""
    answer = one_line(text)
    codes = {name.lower(): code for code, name in LANGUAGES.items()}
    code = codes.get(answer.lower()) or language_code(answer)
    if code is None:
        raise AnswerError(f"unknown language {answer!r}: expected a language code, such as en, de or fr")
    return code


def read_provider(text: str) -> Provider:
    """Return a provider by its name, or by its number in the list that the user sees."""
    answer = one_line(text).lower()
    if answer.isdecimal() and 1 <= int(answer) <= len(PROVIDERS):
        return [*PROVIDERS.values()][int(answer) - 1]
    if answer not in PROVIDERS:
        raise AnswerError(f"unknown provider {answer!r}: expected one of {', '.join(PROVIDERS)}")
    return PROVIDERS[answer]


def read_model(text: str) -> str:
    """Return the name of a model on its server."""
    model = one_line(text)
    if not model:
        raise AnswerError("the model name is empty: expected the name of the model on its server")
    return model


def read_url(text: str) -> str:
    """Return the base URL of a server, without `/chat/completions` and without a query."""
    url = server_address(one_line(text))
    if wrong := check_settings({"engine": "openai", "base_url": url}):
        raise AnswerError(f"the URL {wrong}")
    return url


def read_optional_url(text: str) -> str:
    """Return the base URL of a server; empty if the user skipped the question."""
    return "" if text.strip().lower() in ("", NONE) else read_url(text)


def read_key_env(text: str) -> str:
    """Return the name of an environment variable; empty if no key is needed.

    The error message never repeats the text, because it may be an API key.
    """
    name = one_line(text)
    if name.lower() in ("", NONE):
        return ""
    looks_like_a_key = len(name) > 16 and re.search(r"\d", name) and re.search(r"[a-z]", name)
    if looks_like_a_key or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise AnswerError(
            "the text is not the name of an environment variable: expected a name such as OPENAI_API_KEY; never give the key itself"
        )
    return name


def read_prompt(text: str) -> str | None:
    """Return the text of a prompt file; None if the user skipped the question."""
    if text.strip().lower() in ("", NONE):
        return None
    path = Path(text).expanduser()
    try:
        prompt = path.read_text(encoding="utf-8-sig").strip()
    except OSError as error:
        raise AnswerError(f"{path}: the prompt file cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise AnswerError(f"{path}: the prompt file is not UTF-8 text; save it as UTF-8") from None
    if not prompt:
        raise AnswerError(f"{path}: the prompt file is empty: expected the chatbot's prompt")
    return prompt + "\n"


def read_documents(text: str) -> tuple[Path, ...]:
    """Return the absolute paths of files and folders, given one per line."""
    paths = [Path(line).expanduser() for line in text.split("\n") if line.strip().lower() not in ("", NONE)]
    if missing := [str(path) for path in paths if not path.exists()]:
        raise AnswerError(f"{', '.join(missing)}: no such file or folder")
    return tuple(path.resolve() for path in paths)
