"""`caf init`: a chatbot of one's own, from a few questions to its first turn."""

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
            metavar="FOLDER", help="Where the files go, made if it is not there; default: this folder, or asked."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the chatbot is called; clients choose it by this.")] = None,
    about: Annotated[str | None, typer.Option(metavar="SENTENCE", help="What it is for.")] = None,
    sensitive: Annotated[
        str | None,
        typer.Option(metavar="TOPIC,...", help="On these it says only what its sources state; or none."),
    ] = None,
    language: Annotated[str | None, typer.Option(metavar="CODE", help="Of its users: en, de, fr ...")] = None,
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="A chatbot that there is already, to be wrapped; or none.")
    ] = None,
    endpoint_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="What that server knows the chatbot by.")
    ] = None,
    endpoint_key_env: Annotated[
        str | None, typer.Option(metavar="VARIABLE", help="Environment variable with its key; or none.")
    ] = None,
    prompt: Annotated[
        str | None, typer.Option(metavar="FILE", help="The chatbot's own prompt; or none, for a skeleton.")
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Where the model is: openai, azure, ollama, vllm, anthropic, litellm, url or none."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the provider knows the model by; Azure: the deployment.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="The provider's address, if it is not the usual one.")
    ] = None,
    key_env: Annotated[
        str | None, typer.Option(metavar="VARIABLE", help="Environment variable with its key, never the key; or none.")
    ] = None,
    contact: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Whom somebody in danger should call; without, yours to write.")
    ] = None,
    documents: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="A file or folder for the knowledge base; may be repeated; or none."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing: a default for whatever is not given.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; list the files that would be.")] = False,
    contents: Annotated[bool, typer.Option("--contents", help="With --dry-run: what would be in them, too.")] = False,
) -> None:
    """Set up a chatbot of your own.

    Asks what no option says, then writes a commented configuration, a prompt, a section of a knowledge base, a judge, five
    scenarios, a checkpoint and an experiment; checks them, and takes one real turn. Without a terminal it asks nothing and
    says which option is missing. Nothing is ever overwritten, and no file holds a key.

    \b
    Examples:
      caf init my-chatbot
      caf init demo --yes
      caf init desk --name "Tenants' desk" --about "Informs tenants about their rights." --provider openai --yes
      caf init desk --endpoint http://127.0.0.1:9000/v1 --provider ollama --model qwen3 --yes --dry-run

    \b
    Exit codes: 0 written and checked, even if the model could not be reached; 1 stopped, or `caf check` found problems;
    2 wrong usage, or a file is there already: nothing was written.
    """
    if contents and not dry_run:
        leave("--contents: is for --dry-run; without it the files themselves can be read")
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
            check_free(folder, [CONFIG])  # before anybody answers a dozen questions
        answers = ask_all(interview, folder)
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
            "\nWithout a model, the judges of role and emergencies read English: what they cannot read gets the fallback message."
        )
    imported = _import_documents(folder, answers)
    right = _passes_check(folder / CONFIG)
    if right:
        _try(folder / CONFIG, answers)
    _print_next_steps(folder, answers, imported=imported)
    if not (right and imported):
        raise typer.Exit(PROBLEMS)


def _print_files(folder: Path, answers: Answers, texts: dict[str, str], heading: str) -> None:
    """List the files with their purposes, each followed by its text if that is given."""
    typer.echo(f"\n{heading} {printable(str(folder))}:")
    files = targets(answers)
    width = max(map(len, files))
    for path, (_, purpose) in files.items():
        typer.echo(f"  {path:{width}}  {purpose}")
        if path in texts:
            typer.echo("".join(f"    | {line}\n" for line in texts[path].splitlines()))


def _import_documents(folder: Path, answers: Answers) -> bool:
    """Make sections of the documents; return whether all could be read."""
    if not answers.documents:
        return True
    typer.echo("\nMaking sections of the documents, as `caf kb import` does:")
    if missing := [library for library in LIBRARIES["import"] if find_spec(library) is None]:
        typer.echo(f"  this needs {missing[0]}, which is not installed: {install_command('import')}")
        return False
    files = [file for path in answers.documents for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    try:
        import_([file for file in files if file.is_file() and not file.name.startswith(".")], folder / "knowledge_base")
    except typer.Exit:
        return False
    return True


def _passes_check(config: Path) -> bool:
    typer.echo("\nChecking it, as `caf check` does:")
    try:
        check(None, config)
    except typer.Exit:
        return False
    return True


def _try(config: Path, answers: Answers) -> None:
    """Take a turn if the keys for it are here."""
    unset = [variable for variable in answers.key_variables if not os.environ.get(variable)]
    typer.echo()
    if unset:
        typer.echo(f"No turn was tried, since {' and '.join(unset)} is not set here: export the key in it.")
    else:
        _take_first_turn(config, answers)


def _take_first_turn(config: Path, answers: Answers) -> None:
    """Take a turn and print it; what fails is said, and no more: the files are written."""
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
    """Say that the models could not be asked, and that nothing is lost."""
    typer.echo("  A model could not be asked:")
    for failure in failures:
        print_line(failure, indent=4)
    places = [place for place in (answers.endpoint, answers.judging) if place is not None and place.url]
    unreached = any("Upstream" in failure and "UpstreamRefused" not in failure for failure in failures)
    for url in dict.fromkeys(place.url for place in places if unreached):
        typer.echo(f"  Does a server run at {url}, and is that its address?" + _hint_at_path(url))
    for place in places if any("UpstreamRefused" in failure for failure in failures) else ():
        key = f"Is the key in {place.key_env} right" if place.key_env else "Does it need no key"
        typer.echo(f"  {key}, and does {place.url} know the model {place.model!r}?" + _hint_at_path(place.url))
    typer.echo("  The files are written. When `models` in config.yaml is right and the server runs, try again with:")
    typer.echo(f"  {_command()} chat --config {shlex.quote(str(config))}")


def _hint_at_path(url: str) -> str:
    return "" if urlsplit(url).path.strip("/") else " Most servers want /v1 at its end."


def _print_next_steps(folder: Path, answers: Answers, *, imported: bool) -> None:
    """Print what to do next, as lines for a shell."""
    command = _command()
    steps = {
        f"grep -rn {PLACEHOLDER} .": "what is yours to write"
        + ("" if answers.contact else ", the emergency contact first"),
        f"{command} serve": f"for OpenAI clients, with the model {answers.name}; to look: http://127.0.0.1:8080/console",
        f"{command} chat": "talk to it in the terminal",
        f"{command} trace list": "what happened in each turn",
        f"{command} trace label ID --judge role --verdict accept": "correct a judge on a turn",
        f"{command} judges eval --data scenarios/judges": "how good the judges are",
        f"{command} drift run scenarios/experiments/first.yaml": "whether the filter helps: a report",
    }
    if not imported:
        paths = " ".join(shlex.quote(str(path)) + ("/*" if path.is_dir() else "") for path in answers.documents)
        steps = {f"{command} kb import {paths} --into knowledge_base": "your documents, as sections"} | steps
    typer.echo("\nNext:")
    if folder.resolve() != Path.cwd():
        typer.echo(f"  cd {printable(shlex.quote(str(folder)))}")
    for step, reason in steps.items():
        width = 24 if len(step) <= 24 else 52
        typer.echo(f"  {printable(step):{width}}  # {reason}")


def _command() -> str:
    """Return how this command is called from another folder."""
    beside = Path(sys.executable).with_name("caf")
    on_path = shutil.which("caf")
    return shlex.quote(str(beside)) if beside.exists() and on_path != str(beside) else "caf"
