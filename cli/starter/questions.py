"""The questions of `caf init`, in order. Without a terminal, it collects the missing options instead of asking."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

import typer

from cli.starter import answers as read
from cli.starter.answers import NONE, SENSITIVE, AnswerError, Answers, chatbot_name
from cli.starter.providers import PROVIDERS, ModelPlace, Provider, check_settings
from cli.terminal import leave, printable

OPTIONS = (
    "--name", "--about", "--sensitive", "--language", "--endpoint", "--endpoint-model", "--endpoint-key-env", "--prompt",
    "--provider", "--model", "--url", "--key-env", "--contact", "--documents",
)  # fmt: skip
"""Options that answer a question."""


T = TypeVar("T")


@dataclass
class Interview:
    """One interview."""

    option_values: Mapping[str, str | None]
    """Values of the options; None: not given."""
    asking: bool
    """Whether to ask the user on a terminal."""
    defaults: bool
    """Whether missing options get their defaults (`--yes`)."""
    missing: list[str] = field(default_factory=list)
    """Missing options."""

    def answer(
        self,
        option: str,
        question: str,
        read: Callable[[str], T],
        *,
        default: str | None = None,
        optional: bool = False,
    ) -> T | None:
        """Return the parsed answer: from the option, the user, or the default.

        Args:
            question: The question; lines before the last are an explanation.
            default: Suggested to the user, and used with `--yes`.
            optional: Use the default if the user cannot be asked.

        Returns:
            The answer; None if it is missing, which is noted.
        """
        if (option_value := self.option_values[option]) is not None:
            return self._read_option(option, option_value, read)
        if self.asking:
            return self._ask(question, read, default)
        if default is not None and (optional or self.defaults):
            return self._read_option(option, default, read)
        self.missing.append(option)
        return None

    def leave_if_missing(self) -> None:
        """Exit if options are missing, and list all of them."""
        if self.missing:
            reason = "--yes does not ask" if self.defaults else "there is no terminal to ask"
            hint = "" if self.defaults else ", or use defaults with --yes"
            leave(
                f"missing {', '.join(self.missing)}: {reason}. Give {'it' if len(self.missing) == 1 else 'them'}{hint}"
            )

    def _ask(self, question: str, read: Callable[[str], T], default: str | None) -> T:
        def convert(text: str) -> T:
            try:
                return read(text)
            except AnswerError as error:
                raise typer.BadParameter(printable(str(error))) from None

        *explanation, last = question.split("\n")
        typer.echo()
        for line in explanation:
            typer.secho(line, dim=True)
        answer: T = typer.prompt(last, default=default, value_proc=convert)
        return answer

    @staticmethod
    def _read_option(option: str, text: str, read: Callable[[str], T]) -> T:
        try:
            return read(text)
        except AnswerError as error:
            leave(f"{option}: {printable(str(error))}")


def ask_all(interview: Interview, folder: Path) -> Answers:
    """Ask for missing options. If the user cannot be asked, exit with the names of the missing options."""
    title = interview.answer("--name", "What is the chatbot called?", read.read_title, default=_usual_title(folder))
    about = interview.answer(
        "--about",
        "In one sentence, what is it for? For example: Informs tenants about their rights.\nPurpose",
        read.read_sentence,
        default=None if interview.asking else "Informs about what its knowledge base says.",
    )
    topics = interview.answer(
        "--sensitive",
        "On sensitive topics the chatbot states only what its sources state.\nSensitive topics, separated by commas, "
        f"or {NONE}",
        read.read_topics,
        default=SENSITIVE,
        optional=True,
    )
    language = interview.answer(
        "--language", "Language of the users (en, de, fr ...)", read.read_language, default="en", optional=True
    )
    endpoint = _ask_endpoint(interview)
    prompt = None
    if endpoint is None or interview.option_values["--prompt"] is not None:
        prompt = interview.answer(
            "--prompt",
            f"A file with the chatbot's prompt, which is copied. With {NONE}, a skeleton is written.\nPrompt file",
            read.read_prompt,
            default=NONE,
            optional=True,
        )
    judging = _ask_model(interview, wrapped=endpoint is not None)
    contact = interview.answer(
        "--contact",
        "Whom should a user in danger call? Users read this sentence, which should have a telephone number.\n"
        f"Emergency contact, or {NONE} to write it into config.yaml later",
        read.read_contact,
        default=NONE,
        optional=True,
    )
    documents = interview.answer(
        "--documents",
        f"Documents for the knowledge base (markdown, HTML, PDF, docx).\nA file or folder, or {NONE}",
        read.read_documents,
        default=NONE,
        optional=True,
    )
    interview.leave_if_missing()
    return Answers(
        title or "", about or "", topics or (), language or "en", cast(ModelPlace, judging), endpoint, prompt, documents or (),
        contact or None,
    )  # fmt: skip


def ask_folder() -> Path:
    """Ask for the folder of the files."""
    return Path(typer.prompt("Folder for the files (created if necessary)", default="my-chatbot")).expanduser()


def _usual_title(folder: Path) -> str:
    """Return the folder's name if it is a valid title."""
    name = read.one_line(folder.resolve().name)[:100]
    return name if chatbot_name(name) else "my-chatbot"


ENDPOINT = Provider("url", "an existing chatbot", model=None, url=None, key_env=None)


def _ask_endpoint(interview: Interview) -> ModelPlace | None:
    """Ask for an existing chatbot; return None without one."""
    url = interview.answer(
        "--endpoint",
        "Do you have a chatbot with an OpenAI-compatible API? CAF wraps it, and it keeps its own prompt.\n"
        f"Its address, up to /v1, or {NONE}",
        read.read_optional_url,
        default=NONE,
        optional=True,
    )
    if not url:
        if others := [o for o in ("--endpoint-model", "--endpoint-key-env") if interview.option_values[o] is not None]:
            leave(f"{' and '.join(others)}: needs --endpoint URL")
        return None
    model = interview.answer(
        "--endpoint-model",
        "Model name of the chatbot on that server",
        read.read_model,
        default="default",
        optional=True,
    )
    key_env = interview.answer(
        "--endpoint-key-env",
        f"Environment variable with its key (never the key itself), or {NONE}",
        read.read_key_env,
        default=NONE,
        optional=True,
    )
    return ModelPlace(ENDPOINT, model or "", url, key_env or "")


def _ask_model(interview: Interview, *, wrapped: bool) -> ModelPlace | None:
    """Ask for the model; return None if an answer is missing."""
    listed = "\n".join(f"  {n} {one.name:10} {one.title}" for n, one in enumerate(PROVIDERS.values(), 1))
    subject = "the model of the judges" if wrapped else "the model of the chatbot and its judges"
    provider = interview.answer(
        "--provider", f"Which provider has {subject}?\n{listed}\nName or number", read.read_provider, default=NONE
    )
    if provider is None:
        return None
    if provider.engine == "embedded":
        if unread := [o for o in ("--model", "--url", "--key-env") if interview.option_values[o] is not None]:
            leave(f"{', '.join(unread)}: not used with --provider {NONE}, which has no model")
        return ModelPlace(provider)
    url, key_env = provider.url, provider.key_env
    if provider.asks_url or interview.option_values["--url"] is not None:
        example = "https://NAME.openai.azure.com" if provider.name == "azure" else "up to /v1"
        url = interview.answer(
            "--url", f"Address of the provider ({example})", read.read_url, default=url, optional=True
        )
    model = interview.answer(
        "--model",
        "Name of the deployment" if provider.name == "azure" else "Name of the model" + _HINTS.get(provider.name, ""),
        read.read_model,
        default=provider.model,
        optional=True,
    )
    if provider.key_env != "" or interview.option_values["--key-env"] is not None:
        key_env = interview.answer(
            "--key-env",
            f"Environment variable with the key (never the key itself){'' if provider.key_env else f', or {NONE}'}",
            read.read_key_env,
            default=key_env or NONE,
            optional=True,
        )
    if interview.missing:
        return None
    place = ModelPlace(provider, model or "", url or "", key_env or "")
    if wrong := check_settings(place.settings()):
        leave(f"--provider {provider.name}: {wrong}")
    return place


_HINTS = {
    "litellm": ", with its provider: gemini/gemini-2.5-flash, mistral/mistral-large-latest ...",
    "anthropic": ", with its provider",
    "ollama": " (`ollama list` shows the installed ones)",
}
