"""`caf chat`: a conversation in the terminal."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.cells import cell_len

from cli.conversation import ChatError, Conversation, list_chatbots, open_session, summarise_reply
from cli.drawing import print_line
from cli.terminal import PROBLEMS, ConfigOption, config_path, leave, plain_errors, printable, terminal_width
from models.validation_errors import did_you_mean
from scenarios.checkpoint import save
from scenarios.files import ScenarioError

COMMANDS = """\
/save FILE  write the conversation to FILE as a checkpoint
/undo       remove the last question and its reply
/new        start a new conversation
/quit       leave (Ctrl-D does too; Ctrl-C during a reply cancels the reply)
A line that starts with a space is sent unchanged, even if a / follows."""


def chat(
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of a running proxy; default: start one for this chat.")
    ] = None,
    config: ConfigOption = None,
    model: Annotated[str | None, typer.Option(metavar="CHATBOT", help="The chatbot; default: the first one.")] = None,
    filter_mode: Annotated[
        Literal["on", "off"] | None,
        typer.Option("--filter", help="Turn the filter on or off; default: the chatbot's setting."),
    ] = None,
    user: Annotated[str | None, typer.Option(help="The `user` field of the requests.")] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the conversation as a checkpoint when you leave.")
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Environment variable that holds the key for the proxy.")
    ] = None,
) -> None:
    """Talk to a chatbot in this terminal.

    Below each reply: outcome, citations, warnings, duration and turn id. /help lists the commands.

    \b
    Examples:
      caf chat
      caf chat --filter off
      caf chat --url http://127.0.0.1:8080 --save drift.yaml
      printf 'What causes it?\\nAnd what helps?\\n' | caf chat

    \b
    Exit codes:
      0  success
      1  a piped question got no reply, or the conversation could not be saved
      2  wrong usage or configuration
    """
    if url is not None and config is not None:
        raise typer.BadParameter("give --url for a running proxy or --config to start one, not both")
    if save is not None and save.exists():
        leave(f"--save {save}: the file exists already; choose another name")
    key = _read_key(api_key_env)
    path = config_path(config)
    with plain_errors(path), _open_proxy(url, path) as address:
        with asyncio.Runner() as runner:
            session = runner.run(open_session(key, filter_mode))
            try:
                chatbot = _choose_chatbot(model, runner.run(list_chatbots(session, address)))
                conversation = Conversation(session, address, chatbot, user)
                succeeded = Chat(conversation, runner).run()
            except ChatError as error:
                leave(printable(str(error)))
            finally:
                runner.run(session.close())
        if save is not None and conversation.messages:
            succeeded = _save(conversation, save) and succeeded
    if not succeeded:
        raise typer.Exit(PROBLEMS)


def _read_key(variable: str | None) -> str | None:
    if variable is None:
        return None
    if not os.environ.get(variable):
        leave(f"--api-key-env {variable}: the environment variable is not set; export the key in it")
    return os.environ[variable]


@contextmanager
def _open_proxy(url: str | None, config: Path) -> Iterator[str]:
    """Yield the given address, or the address of a new proxy that runs until the chat ends."""
    if url is not None:
        if not url.startswith(("http://", "https://")):
            leave(f"--url {url!r}: expected an address such as http://127.0.0.1:8080")
        yield url.rstrip("/").removesuffix("/v1")
        return
    # Imported here, because a chat with a running proxy does not need these modules.
    from proxy.app import create_app
    from proxy.config.config import load_config
    from proxy.serving.listening import isolated_config, listening_beside
    from proxy.telemetry.logs import configure_logs

    settings = load_config(config)
    configure_logs("error")  # log lines would appear between the replies
    with listening_beside(create_app(isolated_config(settings))) as address:
        yield address


def _choose_chatbot(name: str | None, chatbots: list[str]) -> str:
    if not chatbots:
        raise ChatError("the proxy serves no chatbot")
    if name is not None and name not in chatbots:
        raise ChatError(
            f"--model {name!r}: unknown chatbot (expected one of {', '.join(chatbots)}){did_you_mean(name, chatbots)}"
        )
    return name or chatbots[0]


class Wrapper:
    """Wraps streamed text at white space, to fit the terminal. Words longer than a line are not broken here."""

    def __init__(self, width: int, column: int) -> None:
        """Args: column: the column of the first character."""
        self._width, self._column = width, column
        self._rest = ""
        """Text that is not written yet: white space and the beginning of a word."""

    def feed(self, piece: str) -> str:
        """Return the wrapped text to write now. The last word is held back until it is complete."""
        *words, self._rest = re.split(r"(?=[ \t\n])", self._rest + piece)
        return "".join(map(self._place, words))

    def end(self) -> str:
        """Return the text that was held back."""
        return self._place(self._rest)

    def _place(self, word: str) -> str:
        if word[:1] in (" ", "\t") and self._column + cell_len(word) > self._width:
            word = f"\n{word[1:]}"
        self._column = cell_len(word[1:]) if word.startswith("\n") else self._column + cell_len(word)
        return word


class Chat:
    """The loop of `caf chat`: reads the user's lines and prints the replies, until the user leaves."""

    def __init__(self, conversation: Conversation, runner: asyncio.Runner) -> None:
        self._conversation, self._runner = conversation, runner
        self._interactive = sys.stdin.isatty()
        self._succeeded = True

    def run(self) -> bool:
        """Run the conversation. Return False if a question got no reply, or the conversation could not be saved."""
        if self._interactive:
            typer.secho(f"Talking to {self._conversation.chatbot}. /help lists the commands.", dim=True)
        for line in self._read_lines():
            if not line.strip():
                continue
            if line.startswith("/"):
                if line.split()[0] == "/quit":
                    break
                self._run_command(*line.split(maxsplit=1))
            else:
                self._ask_question(line.strip())
        return self._succeeded or self._interactive

    def _read_lines(self) -> Iterator[str]:
        if self._interactive:
            with suppress(ImportError):
                import readline  # noqa: F401  # gives input() a history and editing keys
        with suppress(EOFError, KeyboardInterrupt):
            while True:
                if self._interactive:
                    yield input("you> ")
                    continue
                line = sys.stdin.readline()
                if not line:
                    return
                typer.echo(f"you> {printable(line.rstrip())}")
                yield line

    def _ask_question(self, question: str) -> None:
        prompt = f"{self._conversation.chatbot}> "
        typer.echo(prompt, nl=False)
        wrapper = Wrapper(terminal_width(), len(prompt))

        def show(piece: str) -> None:
            typer.echo(wrapper.feed(printable(piece)), nl=False)

        try:
            reply = self._runner.run(self._conversation.ask(question, show))
        except KeyboardInterrupt:
            typer.echo(wrapper.end())
            typer.secho("  cancelled; the question is not part of the conversation", dim=True)
            return
        except ChatError as error:
            self._succeeded = False
            typer.echo(wrapper.end())
            print_line(f"No reply: {error}", indent=2)
            return
        typer.echo(wrapper.end())
        for line in summarise_reply(reply):
            print_line(line, indent=2, style="dim")

    def _run_command(self, name: str, argument: str = "") -> None:
        if name == "/help":
            typer.echo(COMMANDS)
        elif name == "/new":
            self._conversation.messages.clear()
            typer.secho("  new conversation", dim=True)
        elif name == "/undo":
            undone = self._conversation.undo()
            typer.secho(f"  removed: {printable(undone.content)}" if undone else "  nothing to undo", dim=True)
        elif name == "/save" and argument.strip():
            if self._conversation.messages:
                self._succeeded = _save(self._conversation, Path(argument.strip())) and self._succeeded
            else:
                typer.echo("  nothing to save yet")
        elif name == "/save":
            typer.echo("  /save: expected the name of a file, such as /save drift.yaml")
        else:
            typer.echo(f"  unknown command {printable(name)}; /help lists the commands")


def _save(conversation: Conversation, path: Path) -> bool:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._")[:100] or "conversation"
    try:
        save(conversation.checkpoint(name), path)
    except ScenarioError as error:
        typer.echo(f"  not saved: {error}", err=True)
        return False
    typer.secho(f"  saved to {path}", dim=True)
    return True
