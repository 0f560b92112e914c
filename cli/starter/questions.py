"""What `caf init` asks, in its order: in a terminal with a question each; elsewhere it notes which option is missing."""

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
"""Each answers a question."""


T = TypeVar("T")


@dataclass
class Interview:
    """One run of questions."""

    option_values: Mapping[str, str | None]
    """What the options say; None: nothing."""
    asking: bool
    """Whether there is somebody at a terminal who wants to be asked."""
    defaults: bool
    """Whether what is missing gets its default, `--yes`."""
    missing: list[str] = field(default_factory=list)
    """Options that would have been asked for."""

    def answer(
        self,
        option: str,
        question: str,
        read: Callable[[str], T],
        *,
        default: str | None = None,
        optional: bool = False,
    ) -> T | None:
        """Return what an option, somebody, or the default says, read.

        Args:
            question: What is asked; lines before the last are an explanation.
            default: Offered where somebody is asked, and taken with `--yes`.
            optional: The default may be taken where nobody can be asked.

        Returns:
            None: it is missing and has been noted.
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
        """End the command if something is missing, and name all of it."""
        if self.missing:
            reason = "with --yes nobody is asked" if self.defaults else "there is no terminal to ask at"
            hint = "" if self.defaults else ", or --yes for the defaults of those that have one"
            leave(
                f"not given: {', '.join(self.missing)}; {reason}. Give {'it' if len(self.missing) == 1 else 'them'}{hint}"
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
    """Ask what no option says; end the command, with the names of the options, if something is missing and nobody can be asked."""
    title = interview.answer("--name", "What is the chatbot called?", read.read_title, default=_usual_title(folder))
    about = interview.answer(
        "--about",
        "In one sentence, what is it for? For example: Informs tenants about their rights.\nWhat it is for",
        read.read_sentence,
        default=None if interview.asking else "Informs about what its knowledge base says.",
    )
    topics = interview.answer(
        "--sensitive",
        "On sensitive topics it says only what its sources state, whatever it is asked.\nSensitive topics, with commas "
        f"between; or {NONE}",
        read.read_topics,
        default=SENSITIVE,
        optional=True,
    )
    language = interview.answer(
        "--language", "Language of its users (en, de, fr ...)", read.read_language, default="en", optional=True
    )
    endpoint = _ask_endpoint(interview)
    prompt = None
    if endpoint is None or interview.option_values["--prompt"] is not None:
        prompt = interview.answer(
            "--prompt",
            f"A file with its own prompt, which is copied; or {NONE}, and a skeleton is written.\nPrompt file",
            read.read_prompt,
            default=NONE,
            optional=True,
        )
    judging = _ask_model(interview, wrapped=endpoint is not None)
    contact = interview.answer(
        "--contact",
        "Whom should somebody in danger call? A sentence with a telephone number, as users will read it.\n"
        f"Emergency contact; or {NONE}, and it is yours to write into config.yaml",
        read.read_contact,
        default=NONE,
        optional=True,
    )
    documents = interview.answer(
        "--documents",
        f"Documents for its knowledge base (markdown, HTML, PDF, docx).\nA file or folder; or {NONE}",
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
    """Ask where the files are to go."""
    return Path(typer.prompt("Folder for its files (made if it is not there)", default="my-chatbot")).expanduser()


def _usual_title(folder: Path) -> str:
    """Return the folder's name if it makes a name."""
    name = read.one_line(folder.resolve().name)[:100]
    return name if chatbot_name(name) else "my-chatbot"


ENDPOINT = Provider("url", "a chatbot that is there already", model=None, url=None, key_env=None)


def _ask_endpoint(interview: Interview) -> ModelPlace | None:
    """Ask for the chatbot that there is already; None: there is none."""
    url = interview.answer(
        "--endpoint",
        "Is there a chatbot already that speaks the OpenAI protocol? It keeps its own prompt and is wrapped.\n"
        f"Its address, up to /v1; or {NONE}",
        read.read_optional_url,
        default=NONE,
        optional=True,
    )
    if not url:
        if others := [o for o in ("--endpoint-model", "--endpoint-key-env") if interview.option_values[o] is not None]:
            leave(f"{' and '.join(others)}: say more of --endpoint, which is not given")
        return None
    model = interview.answer(
        "--endpoint-model", "What that server knows it by", read.read_model, default="default", optional=True
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
    """Ask where the model is; None: something is missing."""
    listed = "\n".join(f"  {n} {one.name:10} {one.title}" for n, one in enumerate(PROVIDERS.values(), 1))
    subject = "the model of its judges" if wrapped else "its model, which the judges ask as well"
    provider = interview.answer(
        "--provider", f"Where is {subject}?\n{listed}\nName or number", read.read_provider, default=NONE
    )
    if provider is None:
        return None
    if provider.engine == "embedded":
        if unread := [o for o in ("--model", "--url", "--key-env") if interview.option_values[o] is not None]:
            leave(f"{', '.join(unread)}: not used with --provider {NONE}, which asks no model")
        return ModelPlace(provider)
    url, key_env = provider.url, provider.key_env
    if provider.asks_url or interview.option_values["--url"] is not None:
        example = "https://NAME.openai.azure.com" if provider.name == "azure" else "up to /v1"
        url = interview.answer("--url", f"Its address ({example})", read.read_url, default=url, optional=True)
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
    "ollama": " (`ollama list` shows those there are)",
}
