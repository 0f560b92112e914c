"""The interview of `caf init`: its questions in order.

An option on the command line answers its question. Without a terminal, the interview collects the names of the missing options
instead of asking.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar, cast

import typer

from cli.starter import answers as read
from cli.starter.answers import NONE, SENSITIVE, AnswerError, Answers, chatbot_name
from cli.starter.providers import PROVIDERS, ModelPlace, Provider, check_settings
from cli.terminal import leave, printable
from cli.upstream import ENDPOINT, UpstreamError, find_only_model, report_shortened

OPTIONS = (
    "--name", "--about", "--sensitive", "--language", "--endpoint", "--endpoint-model", "--endpoint-key-env", "--prompt",
    "--provider", "--model", "--url", "--key-env", "--contact", "--documents",
)  # fmt: skip
"""The options that answer a question, in the order of the questions."""


T = TypeVar("T")


@dataclass
class Interview:
    """Gets the answer to each question from an option, from the user, or from a default."""

    option_values: Mapping[str, str | None]
    """The values of the options. None means that the option was not given."""
    asking: bool
    """Whether to ask the user questions on the terminal."""
    defaults: bool
    """Whether defaults replace missing options (`--yes`)."""
    missing: list[str] = field(default_factory=list)
    """The names of options that are required, were not given, and could not be asked for."""

    def answer(
        self,
        option: str,
        question: str,
        read: Callable[[str], T],
        *,
        default: str | None = None,
        optional: bool = False,
    ) -> T | None:
        """Return the answer to one question, parsed by `read`.

        Args:
            option: The option that answers the question.
            question: The question, in the last line. The lines before it explain the question.
            read: Parses the answer, and raises AnswerError if it is invalid.
            default: The answer that is suggested to the user, and that is used with `--yes`.
            optional: Whether to use the default if the user cannot be asked, even without `--yes`.

        Returns:
            The parsed answer. None if there is no answer; the option is then added to `missing`.
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
        """If options are missing, print all of their names and exit."""
        if self.missing:
            reason = "--yes asks no questions" if self.defaults else "there is no terminal to ask questions on"
            hint = "" if self.defaults else ", or use defaults with --yes"
            plural = "s" * (len(self.missing) > 1)
            leave(f"missing option{plural} {', '.join(self.missing)}: {reason}. Give the option{plural}{hint}")

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
    """Return the answers to all questions. Exit if an answer is missing and the user cannot be asked.

    Args:
        folder: The folder for the files; its name is the default name of the chatbot.
    """
    title = interview.answer("--name", "What is the chatbot called?", read.read_title, default=_usual_title(folder))
    about = interview.answer(
        "--about",
        "What is the chatbot for, in one sentence? For example: Informs tenants about their rights.\nPurpose",
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
    """Ask the user for the folder to write the files into."""
    return Path(typer.prompt("Folder for the files (created if necessary)", default="my-chatbot")).expanduser()


def _usual_title(folder: Path) -> str:
    """Return the default name of the chatbot: the folder's name if it has a Latin letter or digit, or else `my-chatbot`."""
    name = read.one_line(folder.resolve().name)[:100]
    return name if chatbot_name(name) else "my-chatbot"


EXISTING = Provider("url", "an existing chatbot", model=None, url=None, key_env=None)
"""The provider of a chatbot to wrap."""


def _ask_endpoint(interview: Interview) -> ModelPlace | None:
    """Return the location of the existing chatbot to wrap, or None for a new chatbot."""
    url = interview.answer(
        "--endpoint",
        "Do you have a chatbot with an OpenAI-compatible API? CAF wraps it, and the chatbot keeps its own prompt.\n"
        f"Its address, up to /v1, or {NONE}",
        _reporting("--endpoint", read.read_optional_url),
        default=NONE,
        optional=True,
    )
    if not url:
        if others := [o for o in ("--endpoint-model", "--endpoint-key-env") if interview.option_values[o] is not None]:
            leave(f"{' and '.join(others)}: only valid with --endpoint URL")
        return None
    key_env = interview.answer(
        "--endpoint-key-env",
        f"Environment variable with the API key of that server (never the key itself), or {NONE}",
        read.read_key_env,
        default=NONE,
        optional=True,
    )
    place = ModelPlace(EXISTING, "", url, key_env or "")
    question, default = "Model name of the chatbot on that server", None
    if interview.option_values["--endpoint-model"] is None:
        try:
            default = find_only_model(place, os.environ, ENDPOINT)
        except UpstreamError as error:
            if not interview.asking:
                leave(printable(str(error)))
            question = f"{printable(str(error))}\n{question}"
    model = interview.answer("--endpoint-model", question, read.read_model, default=default, optional=True)
    return replace(place, model=model or "")


def _reporting(option: str, read_url: Callable[[str], str]) -> Callable[[str], str]:
    """Return a reader of URLs that also tells the user when it has shortened the URL."""

    def read_and_report(text: str) -> str:
        if url := read_url(text):
            report_shortened(option, text, url)
        return url

    return read_and_report


def _ask_model(interview: Interview, *, wrapped: bool) -> ModelPlace | None:
    """Return the location of the model of the judges, which also drafts the replies of a new chatbot.

    Args:
        wrapped: Whether an existing chatbot is wrapped, which has a model already.

    Returns:
        The location. None if an answer is missing.
    """
    listed = "\n".join(f"  {n} {one.name:10} {one.title}" for n, one in enumerate(PROVIDERS.values(), 1))
    subject = "the model of the judges" if wrapped else "the model of the chatbot and its judges"
    provider = interview.answer(
        "--provider", f"Which provider has {subject}?\n{listed}\nName or number", read.read_provider, default=NONE
    )
    if provider is None:
        return None
    if provider.engine == "embedded":
        if unread := [o for o in ("--model", "--url", "--key-env") if interview.option_values[o] is not None]:
            leave(f"{', '.join(unread)}: not allowed with --provider {NONE}, which uses no language model")
        return ModelPlace(provider)
    url, key_env = provider.url, provider.key_env
    if provider.asks_url or interview.option_values["--url"] is not None:
        example = "https://NAME.openai.azure.com" if provider.name == "azure" else "up to /v1"
        url = interview.answer(
            "--url",
            f"Address of the provider ({example})",
            _reporting("--url", read.read_url),
            default=url,
            optional=True,
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
        leave(f"--provider {provider.name}: the model settings are invalid: {wrong}")
    return place


_HINTS = {
    "litellm": ", with its provider: gemini/gemini-2.5-flash, mistral/mistral-large-latest ...",
    "anthropic": ", with its provider",
    "ollama": " (`ollama list` shows the installed models)",
}
