"""`caf init`: set up a new chatbot, from a few questions to its first turn."""

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
            help="Folder for the files, created if necessary; default: ask for it, or the current folder.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the chatbot.")] = None,
    about: Annotated[
        str | None, typer.Option(metavar="SENTENCE", help="Purpose of the chatbot, in one sentence.")
    ] = None,
    sensitive: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC,...", help="Topics on which the chatbot states only what its sources state; or none."
        ),
    ] = None,
    language: Annotated[str | None, typer.Option(metavar="CODE", help="Language of the users: en, de, fr ...")] = None,
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of an existing chatbot to wrap; or none.")
    ] = None,
    endpoint_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Model name of that chatbot on its server.")
    ] = None,
    endpoint_key_env: Annotated[
        str | None, typer.Option(metavar="VARIABLE", help="Environment variable with the key of that server; or none.")
    ] = None,
    prompt: Annotated[
        str | None, typer.Option(metavar="FILE", help="The chatbot's prompt; or none, for a skeleton.")
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Provider of the model: openai, azure, ollama, vllm, anthropic, litellm, url or none."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the model at the provider; for Azure, of the deployment."),
    ] = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of the provider; default: the usual one.")
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(
            metavar="VARIABLE", help="Environment variable with the provider's key, never the key itself; or none."
        ),
    ] = None,
    contact: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Emergency contact for users in danger; without it, you write it into config.yaml later.",
        ),
    ] = None,
    documents: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="A file or folder for the knowledge base; may be repeated; or none."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing, and use defaults for missing options.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the files, but write nothing.")] = False,
    contents: Annotated[bool, typer.Option("--contents", help="With --dry-run: print the files as well.")] = False,
) -> None:
    """Set up a chatbot of your own.

    Asks for missing options. Then writes a commented configuration, a prompt, a section of a knowledge base, a judge, five
    scenarios, a checkpoint and an experiment; checks them, and takes one real turn. Without a terminal it does not ask, but
    lists the missing options. It never overwrites a file, and no file holds a key.

    \b
    Examples:
      caf init my-chatbot
      caf init demo --yes
      caf init desk --name "Tenants' desk" --about "Informs tenants about their rights." --provider openai --yes
      caf init desk --endpoint http://127.0.0.1:9000/v1 --provider ollama --model qwen3 --yes --dry-run

    \b
    Exit codes: 0 written and checked, even if the model could not be reached; 1 stopped, or `caf check` found problems;
    2 wrong usage, or a file already exists: nothing was written.
    """
    if contents and not dry_run:
        leave("--contents: needs --dry-run")
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
            "\nWithout a model, the judges of role and emergencies read only English. Other texts get the fallback message."
        )
    imported = _import_documents(folder, answers)
    right = _passes_check(folder / CONFIG)
    if right:
        _try(folder / CONFIG, answers)
    _print_next_steps(folder, answers, imported=imported)
    if not (right and imported):
        raise typer.Exit(PROBLEMS)


def _print_files(folder: Path, answers: Answers, texts: dict[str, str], heading: str) -> None:
    """List the files with their purposes, and with their texts if given."""
    typer.echo(f"\n{heading} {printable(str(folder))}:")
    files = targets(answers)
    width = max(map(len, files))
    for path, (_, purpose) in files.items():
        typer.echo(f"  {path:{width}}  {purpose}")
        if path in texts:
            typer.echo("".join(f"    | {line}\n" for line in texts[path].splitlines()))


def _list_documents(answers: Answers) -> list[Path]:
    files = [file for path in answers.documents for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    return [file for file in files if file.is_file() and not file.name.startswith(".")]


def _check_documents(answers: Answers) -> None:
    """Exit if a folder holds no document, or a library for one is not installed."""
    from knowledge_base.building.reading import PLAIN  # its libraries take long to import

    files = _list_documents(answers)
    if answers.documents and not files:
        leave(f"--documents: {', '.join(map(str, answers.documents))}: expected at least one document")
    if all(file.suffix.lower() in PLAIN for file in files):
        return
    if missing := [library for library in LIBRARIES["import"] if find_spec(library) is None]:
        leave(f"--documents: needs {missing[0]}, which is not installed: {install_command('import')}")


def _import_documents(folder: Path, answers: Answers) -> bool:
    """Convert the documents to sections. Return whether all documents could be read."""
    if not answers.documents:
        return True
    typer.echo("\nConverting the documents to sections, like `caf kb import`:")
    try:
        import_(_list_documents(answers), folder / "knowledge_base")
    except typer.Exit:
        return False
    return True


def _passes_check(config: Path) -> bool:
    typer.echo("\nChecking the files, like `caf check`:")
    try:
        check(None, config)
    except typer.Exit:
        return False
    return True


def _try(config: Path, answers: Answers) -> None:
    """Take a turn if the environment has the keys for it."""
    unset = [variable for variable in answers.key_variables if not os.environ.get(variable)]
    typer.echo()
    if unset:
        typer.echo(f"No first turn: {' and '.join(unset)} is not set. Export the key in it.")
    else:
        _take_first_turn(config, answers)


def _take_first_turn(config: Path, answers: Answers) -> None:
    """Take a turn and print it. A failure is only reported, because the files are written."""
    typer.echo("A first turn through the proxy:")
    typer.echo(f"  you> {QUESTION}")
    try:
        reply = take_turn(config, answers.name)
    except ModelSettingsError as error:
        _print_failures([str(error)], config, answers)
        return
    except KeyboardInterrupt:
        typer.echo("  Cancelled; the files are written.")
        return
    if isinstance(reply, list):
        _print_failures(reply, config, answers)
        return
    print_line(f"{answers.name}> {reply.text}", indent=2)
    for line in summarise_reply(reply):
        print_line(line, indent=2, style="dim")
    if reply.caf is not None and reply.caf.outcome != "accepted":
        show = f"{_command()} trace show {reply.caf.turn_id[:8]} --config {shlex.quote(str(config))}"
        typer.echo(f"  Why it is {reply.caf.outcome}: {show}")


def _print_failures(failures: Sequence[str], config: Path, answers: Answers) -> None:
    """Print why the models could not be asked, and how to try again."""
    typer.echo("  A model call failed:")
    for failure in failures:
        print_line(failure, indent=4)
    places = [place for place in (answers.endpoint, answers.judging) if place is not None and place.url]
    unreached = any("Upstream" in failure and "UpstreamRefused" not in failure for failure in failures)
    for url in dict.fromkeys(place.url for place in places if unreached):
        typer.echo(f"  Does a server run at {url}, and is that its address?" + _hint_at_path(url))
    for place in places if any("UpstreamRefused" in failure for failure in failures) else ():
        key = f"Is the key in {place.key_env} right" if place.key_env else "Does it need no key"
        typer.echo(f"  {key}, and does {place.url} know the model {place.model!r}?" + _hint_at_path(place.url))
    typer.echo("  The files are written. Correct `models` in config.yaml or start the server, then try again with:")
    typer.echo(f"  {_command()} chat --config {shlex.quote(str(config))}")


def _hint_at_path(url: str) -> str:
    return "" if urlsplit(url).path.strip("/") else " Most servers need /v1 at its end."


def _print_next_steps(folder: Path, answers: Answers, *, imported: bool) -> None:
    """Print the next steps as shell commands."""
    command = _command()
    steps = {
        f"grep -rn {PLACEHOLDER} .": "replace these placeholders"
        + ("" if answers.contact else ", the emergency contact first"),
        f"{command} serve": f"serve OpenAI clients, model {answers.name}; console: http://127.0.0.1:8080/console",
        f"{command} chat": "talk to the chatbot in the terminal",
        f"{command} trace list": "show what happened in each turn",
        f"{command} trace label ID --judge role --verdict accept": "correct a judge's verdict on a turn",
        f"{command} judges eval --data scenarios/judges": "measure the judges",
        f"{command} drift run scenarios/experiments/first.yaml": "measure the effect of the filter",
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
    """Return the command for calling `caf` from another folder."""
    beside = Path(sys.executable).with_name("caf")
    on_path = shutil.which("caf")
    return shlex.quote(str(beside)) if beside.exists() and on_path != str(beside) else "caf"
