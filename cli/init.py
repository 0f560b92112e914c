"""`caf init`: sets up a new chatbot.

The command asks a few questions, writes the files, checks them, and sends the chatbot a first question.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from cli.check import check
from cli.conversation import summarise_reply
from cli.drawing import print_line
from cli.extras import LIBRARIES
from cli.knowledge_base import import_
from cli.starter.answers import Answers
from cli.starter.files import CONFIG, WriteError, check_folder, check_free, render, targets, write_all
from cli.starter.first_turn import QUESTION, take_turn
from cli.starter.questions import OPTIONS, Interview, ask_all, ask_folder
from cli.terminal import PROBLEMS, leave, printable
from models.errors import ModelSettingsError
from models.extras import install_command
from proxy.config.chatbot_settings import PLACEHOLDER


def init(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER",
            help="Folder to write the files into; created if necessary. Default: asks for it, or uses the current folder.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the chatbot.")] = None,
    about: Annotated[
        str | None, typer.Option(metavar="SENTENCE", help="Purpose of the chatbot, in one sentence.")
    ] = None,
    sensitive: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC,...",
            help="Topics on which the chatbot states only what its sources state, or `none`.",
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Language of the users, such as en, de or fr.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="Base URL of an existing chatbot to wrap, or `none`.")
    ] = None,
    endpoint_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Model name of that chatbot on its server. Default: the only model that the server lists.",
        ),
    ] = None,
    endpoint_key_env: Annotated[
        str | None,
        typer.Option(metavar="VARIABLE", help="Environment variable with the API key of that server, or `none`."),
    ] = None,
    prompt: Annotated[
        str | None, typer.Option(metavar="FILE", help="File with the chatbot's prompt, or `none` for a skeleton.")
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Provider of the model: openai, azure, ollama, vllm, anthropic, litellm, url or none."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the model at the provider. For Azure, name of the deployment."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Base URL of the provider. Default: its public or usual local URL."),
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(
            metavar="VARIABLE",
            help="Environment variable with the provider's API key (never the key itself), or `none`.",
        ),
    ] = None,
    contact: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Emergency contact for users in danger. Default: a placeholder in config.yaml, for you to replace.",
        ),
    ] = None,
    documents: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH", help="File or folder to import into the knowledge base; may be repeated. Or `none`."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask no questions; use defaults for missing options.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the files without writing them.")] = False,
    contents: Annotated[
        bool, typer.Option("--contents", help="With --dry-run: print the contents of the files too.")
    ] = False,
) -> None:
    """Set up a chatbot of your own.

    Asks for missing options. Then writes a commented configuration, a prompt, one section of a knowledge base, a judge, five
    scenarios, a checkpoint and an experiment. Checks these files, and asks the chatbot a first question. Without a terminal,
    `caf init` asks nothing and lists the missing options. It never overwrites a file, and writes no API key into a file.

    \b
    Examples:
      caf init my-chatbot
      caf init demo --yes
      caf init desk --about "Informs tenants." --provider openai
      caf init desk --endpoint http://127.0.0.1:9000/v1 --documents docs --yes

    \b
    Exit codes:
      0  files written, and the first question answered (or not asked: no key)
      1  files written, but the check, the import or the first question failed;
         or stopped by Ctrl-C
      2  nothing written: wrong usage, or a file already exists
    """
    if contents and not dry_run:
        leave("--contents: only valid with --dry-run")
    listed = "\n".join(documents) if documents else None
    values = (
        name, about, sensitive, language, endpoint, endpoint_model, endpoint_key_env, prompt, provider, model, url, key_env,
        contact, listed,
    )  # fmt: skip
    interview = Interview(dict(zip(OPTIONS, values, strict=True)), asking=sys.stdin.isatty() and not yes, defaults=yes)
    try:
        folder = folder or (ask_folder() if interview.asking else Path("."))
        if not dry_run:
            check_folder(folder)
            check_free(folder, [CONFIG])  # before the user answers a dozen questions
        answers = ask_all(interview, folder)
        _check_documents(answers)
        files = render(answers)
        if dry_run:
            _print_files(folder, answers, files if contents else {}, "Would write into")
            check_folder(folder)
            check_free(folder, files)
            return
        write_all(folder, files)
    except WriteError as error:
        leave(printable(str(error)))
    except (KeyboardInterrupt, EOFError, typer.Abort):
        typer.echo("\ncaf: stopped; nothing was written", err=True)
        raise typer.Exit(PROBLEMS) from None
    _print_files(folder, answers, {}, "Wrote into")
    if not answers.has_models and answers.language != "en":
        typer.echo(
            "\nWithout a model, the role and emergency judges understand only English. In other languages, users get the fallback "
            "message."
        )
    imported = _import_documents(folder, answers)
    works = _passes_check(folder / CONFIG) and _try_first_turn(folder / CONFIG, answers)
    _print_next_steps(folder, answers, imported=imported)
    if not (works and imported):
        raise typer.Exit(PROBLEMS)


def _print_files(folder: Path, answers: Answers, texts: dict[str, str], heading: str) -> None:
    """List the files with their descriptions.

    Args:
        texts: Contents to print below the files, by path; empty to print only the list.
        heading: The words before the folder in the first line.
    """
    typer.echo(f"\n{heading} {printable(str(folder))}:")
    files = targets(answers)
    width = max(map(len, files))
    for path, (_, purpose) in files.items():
        typer.echo(f"  {path:{width}}  {purpose}")
        if path in texts:
            typer.echo("".join(f"    | {line}\n" for line in texts[path].splitlines()))


def _list_documents(answers: Answers) -> list[Path]:
    """Return the documents to import: the given files, and the files directly in the given folders, except hidden ones."""
    files = [file for path in answers.documents for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    return [file for file in files if file.is_file() and not file.name.startswith(".")]


def _check_documents(answers: Answers) -> None:
    """Exit if there is no document, or if a library that reads one of the documents is not installed."""
    from knowledge_base.building.reading import PLAIN  # its libraries take long to import

    files = _list_documents(answers)
    if answers.documents and not files:
        leave(f"--documents: no document in {', '.join(map(str, answers.documents))}: expected at least one file")
    if all(file.suffix.lower() in PLAIN for file in files):
        return
    if missing := [library for library in LIBRARIES["import"] if find_spec(library) is None]:
        leave(
            f"--documents: cannot read the documents: the library {missing[0]} is not installed; install it with: "
            f"{install_command('import')}"
        )


def _import_documents(folder: Path, answers: Answers) -> bool:
    """Convert the documents to sections of the knowledge base. Return whether all documents could be read."""
    if not answers.documents:
        return True
    typer.echo("\nConverting the documents to sections, like `caf kb import`:")
    try:
        import_(_list_documents(answers), folder / "knowledge_base")
    except typer.Exit:
        return False
    return True


def _passes_check(config: Path) -> bool:
    """Run `caf check` on the new configuration. Return whether there are no problems."""
    typer.echo("\nChecking the files, like `caf check`:")
    try:
        check(None, config)
    except typer.Exit:
        return False
    return True


def _try_first_turn(config: Path, answers: Answers) -> bool:
    """Ask the chatbot a first question and print the reply, unless a key is missing. Return whether nothing failed."""
    unset = [variable for variable in answers.key_variables if not os.environ.get(variable)]
    typer.echo()
    if unset:
        names, verb = " and ".join(unset), "is" if len(unset) == 1 else "are"
        typer.echo(f"No first question: {names} {verb} not set. Export the API key in this environment variable.")
        return True
    typer.echo("A first question through the proxy:")
    typer.echo(f"  you> {QUESTION}")
    try:
        reply = take_turn(config, answers.name)
    except ModelSettingsError as error:
        reply = [str(error)]
    except KeyboardInterrupt:
        typer.echo("  Cancelled. All files were written.")
        return False
    if isinstance(reply, list):
        _print_failures(reply, config, answers)
        return False
    print_line(f"{answers.name}> {reply.text}", indent=2)
    for line in summarise_reply(reply):
        print_line(line, indent=2, style="dim")
    if reply.caf is not None and reply.caf.outcome != "accepted":
        show = f"{_command()} trace show {reply.caf.turn_id[:8]} --config {shlex.quote(str(config))}"
        typer.echo(f"  To see why the reply is {reply.caf.outcome}: {show}")
    return True


def _print_failures(failures: Sequence[str], config: Path, answers: Answers) -> None:
    """Print why the first question failed, which servers were asked, and how to try again.

    Args:
        failures: Sentences, each with a cause and what to try.
    """
    typer.echo("  The first question failed:")
    for failure in failures:
        print_line(failure, indent=4)
    for place in dict.fromkeys(
        place for place in (answers.endpoint, answers.judging) if place is not None and place.url
    ):
        key = f"key from {place.key_env}" if place.key_env else "no key"
        hint = "" if urlsplit(place.url).path.strip("/") else "; most servers need /v1 at the end of the URL"
        print_line(f"server {place.url}, model {place.model!r}, {key}{hint}", indent=4)
    path = shlex.quote(str(config))
    typer.echo(
        f"  All files were written. Correct `models` in {printable(path)}, or start the server. Then try again with:"
    )
    typer.echo(f"    {_command()} chat --config {printable(path)}")


def _print_next_steps(folder: Path, answers: Answers, *, imported: bool) -> None:
    """Print the next steps as shell commands.

    Args:
        imported: Whether all documents were imported. Otherwise the first step repeats the import.
    """
    command = _command()
    steps = {
        f"grep -rn {PLACEHOLDER} .": "replace these placeholders"
        + ("" if answers.contact else ", the emergency contact first"),
        f"{command} serve": f"serve OpenAI clients, model {answers.name}; console: http://127.0.0.1:8080/console",
        f"{command} chat": "talk to the chatbot in the terminal",
        f"{command} trace list": "show what happened in each turn",
        f"{command} trace label ID --judge role --verdict accept": "correct a judge's verdict on a turn",
        f"{command} judges eval --data scenarios/judges": "measure the judges (needs the extra `lab`)",
        f"{command} drift run scenarios/experiments/first.yaml": "measure the effect of the filter (needs the extra `lab`)",
    }
    if not imported:
        paths = " ".join(shlex.quote(str(path)) + ("/*" if path.is_dir() else "") for path in answers.documents)
        steps = {f"{command} kb import {paths} --into knowledge_base": "convert your documents to sections"} | steps
    typer.echo("\nNext:")
    if folder.resolve() != Path.cwd():
        typer.echo(f"  cd {printable(shlex.quote(str(folder)))}")
    for step, reason in steps.items():
        width = 24 if len(step) <= 24 else 52
        typer.echo(f"  {printable(step):{width}}  # {reason}")


def _command() -> str:
    """Return the shell command that starts this `caf` from any folder."""
    beside = Path(sys.executable).with_name("caf")
    on_path = shutil.which("caf")
    return shlex.quote(str(beside)) if beside.exists() and on_path != str(beside) else "caf"
