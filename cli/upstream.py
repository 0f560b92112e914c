"""Finds the model of an existing OpenAI-compatible server, and wraps it without a configuration file.

`caf serve --upstream URL` serves the wrapped chatbot. `caf init --endpoint URL` only looks up the model.
"""

import asyncio
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import typer

from cli.starter.languages import TEXTS
from cli.starter.providers import PROVIDERS, ModelPlace, check_settings, server_address
from cli.terminal import printable
from models.errors import ModelError, ModelSettingsError, UpstreamBusy, UpstreamGarbled, UpstreamRefused
from models.model_list import list_models
from models.settings import ModelSettings
from proxy.config.chatbot_settings import PLACEHOLDER
from proxy.config.local_judges import WORTH
from scenarios import files

KEY_VARIABLE = "CAF_UPSTREAM_KEY"
"""Environment variable of the server's API key. If it is not set, OpenAI's own server gets the key in `OPENAI_API_KEY`."""
OPENAI_HOST = "api.openai.com"
ROLE = "A general assistant. It is not a doctor, a therapist or a friend."
"""The role that the judges check, because the wrapped chatbot keeps its own prompt to itself."""
LISTED = 10
"""Maximum number of models that an error message names."""


class UpstreamError(Exception):
    """The server cannot be wrapped. The message names the option and its value, and says what to try."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The command-line options that name a server and its model, for error messages."""

    url: str
    model: str
    key_remedy: str
    """What to do if the server needs a key and none was sent."""


UPSTREAM = ServerOptions("--upstream", "--model", f"export the key in {KEY_VARIABLE}")
ENDPOINT = ServerOptions(
    "--endpoint", "--endpoint-model", "name the key's environment variable with --endpoint-key-env"
)


@dataclass(frozen=True, slots=True)
class Upstream:
    """The chatbot of another server that `caf serve --upstream` wraps."""

    place: ModelPlace
    is_listed: bool
    """Whether the server lists the model. False means that the server lists no models, so the name is not verified."""

    @property
    def chatbot(self) -> str:
        """The chatbot's name, which clients send as `model`: the name of the model, with `-` in place of invalid characters."""
        name = re.sub(r"[^A-Za-z0-9._:-]", "-", self.place.model)[:64]
        return name if name[:1].isalnum() else f"chatbot{name}"[:64]

    def configuration(self) -> dict[str, Any]:
        """Return the data of a configuration file that wraps the chatbot."""
        judges = [{"name": name, "stages": ["local"]} for name in ("emergency", "role")]
        contact = TEXTS["en"].contact.partition(PLACEHOLDER)[0].strip()
        chatbot = {
            "kind": "wrapped",
            "model": "chatbot",
            "role": ROLE,
            "judges": judges,
            "refiner": None,  # the local refiner needs sources, and this configuration has no knowledge base
            "emergency": {"contact": contact},
        }
        return {"models": {"chatbot": self.place.settings()}, "chatbots": {self.chatbot: chatbot}}

    def as_yaml(self) -> str:
        """Return the text of a configuration file that wraps the chatbot."""
        return (
            "# Printed by `caf serve --upstream`. Save it as config.yaml, then run `caf check` and `caf serve`.\n"
            "# This file contains no API key. `api_key_env` names the environment variable that holds the key.\n"
            f"# Judges: {_JUDGES}.\n"
            f"# {WORTH[0].upper()}{WORTH[1:]}.\n"
            f"# With a knowledge base: {self._init_command()}\n"
            "# With model judges: the same with --provider openai, or another one (`caf init --help`).\n"
            f"{files.dumps(self.configuration())}"
        )

    def startup_lines(self, address: str) -> Iterator[str]:
        """Yield the lines about the wrapped chatbot that `caf serve` prints at startup.

        Args:
            address: URL of the proxy, with `/v1`.
        """
        key = f"key from {self.place.key_env}" if self.place.key_env else "no key"
        unlisted = "" if self.is_listed else " (not verified: the server does not list its models)"
        body = json.dumps({"model": self.chatbot, "messages": [{"role": "user", "content": "Hello"}]})
        yield f"  upstream  {self.place.url}, model {self.place.model}{unlisted}, {key}"
        yield f"  judges    {_JUDGES}"
        yield f"  try       curl {address}/chat/completions -H 'Content-Type: application/json' -d {shlex.quote(body)}"
        yield f"  next      {self._init_command()}"

    def _init_command(self) -> str:
        endpoint = f"--endpoint {shlex.quote(self.place.url)} --endpoint-model {shlex.quote(self.place.model)}"
        return f"caf init FOLDER {endpoint} --endpoint-key-env {self.place.key_env or 'none'}"


_JUDGES = "emergency and role; no knowledge base checks facts, and rejected replies become the fallback message"


def find_upstream(url: str, model: str | None, environ: Mapping[str, str]) -> Upstream:
    """List the models of a server, and return the chatbot to wrap.

    Args:
        url: Base URL of the server. `/chat/completions` at its end is removed.
        model: Name of the model on the server. None selects the only model that the server lists.
        environ: Environment variables; KEY_VARIABLE may hold the API key.

    Raises:
        UpstreamError: The URL is invalid, the server cannot be reached or refuses the key, or it does not have the model.
    """
    address = server_address(url.strip())
    place = ModelPlace(PROVIDERS["url"], model or "", address, choose_key_variable(address, environ))
    if fault := check_settings(place.settings() | {"base_url": place.url}):
        value = "" if "@" in url else f" {url!r}:"  # it may hold a password
        raise UpstreamError(f"--upstream:{value} {fault}")
    report_shortened(UPSTREAM.url, url, place.url)
    if model is None:
        return Upstream(replace(place, model=find_only_model(place, environ, UPSTREAM)), is_listed=True)
    names = _list_models(place, environ, UPSTREAM)
    # Ollama lists NAME:latest and Gemini models/NAME; both accept NAME.
    if names and not {model, f"{model}:latest", f"models/{model}"}.intersection(names):
        raise UpstreamError(
            f"--model: {model!r}: {place.url}: {_describe_models(names)}; if it accepts this name all the same, write a "
            f"configuration with `caf init FOLDER --endpoint {shlex.quote(place.url)} --endpoint-model {shlex.quote(model)}`"
        )
    return Upstream(place, is_listed=bool(names))


def choose_key_variable(address: str, environ: Mapping[str, str]) -> str:
    """Return the environment variable with the API key of a server; an empty text if no key must be sent."""
    try:
        parts = urlsplit(address)
        is_openai = (parts.scheme, parts.hostname, parts.port) in (
            ("https", OPENAI_HOST, None),
            ("https", OPENAI_HOST, 443),
        )
    except ValueError:  # reported by `check_settings`
        is_openai = False
    variable = "OPENAI_API_KEY" if KEY_VARIABLE not in environ and is_openai else KEY_VARIABLE
    return variable if environ.get(variable, "").strip() else ""


def find_only_model(place: ModelPlace, environ: Mapping[str, str], options: ServerOptions) -> str:
    """List the models of a server, and return the name of its only model.

    Args:
        place: URL and key variable of the server. The model's name is not read.
        environ: Environment variables; one of them holds the API key.
        options: The options to name in error messages.

    Raises:
        UpstreamError: The server lists no model or several models, cannot be reached, or refuses the key.
    """
    names = _list_models(replace(place, model=""), environ, options)
    if len(names) != 1:
        raise UpstreamError(f"{options.url}: {place.url}: {_describe_models(names)}; name one with {options.model}")
    return names[0]


def report_shortened(option: str, given: str, url: str) -> None:
    """Print a line on standard error if `server_address` has shortened the URL that the user gave."""
    if url != given.strip().rstrip("/"):
        typer.echo(f"caf: {option}: shortened to {printable(url)}, because CAF adds /chat/completions itself", err=True)


def _list_models(place: ModelPlace, environ: Mapping[str, str], options: ServerOptions) -> list[str]:
    """Return the names of the server's models. The list is empty if the server lists none and `place` names the model."""
    try:
        return asyncio.run(list_models(ModelSettings.model_validate(place.settings()), environ))
    except ModelSettingsError as error:
        remedy = "" if place.model else f", or name the model with {options.model}"
        raise UpstreamError(f"{options.url}: {place.url}: cannot list its models: {error}{remedy}") from None
    except (UpstreamBusy, UpstreamGarbled, UpstreamRefused) as error:
        if isinstance(error, UpstreamRefused) and error.status in (401, 403):
            remedy = f"correct the key in {place.key_env}" if place.key_env else options.key_remedy
        elif place.model:
            return []
        else:
            hint = "" if urlsplit(place.url).path.strip("/") else " (most servers need /v1 at its end)"
            remedy = f"check the URL{hint}, or name the model with {options.model}"
        raise UpstreamError(
            f"{options.url}: {place.url}: cannot list its models (GET /models): {error.subject} {error.description()}; {remedy}"
        ) from None
    except ModelError as error:
        raise UpstreamError(
            f"{options.url}: {place.url}: {error.subject} {error.description()}; start it, or correct the URL"
        ) from None


def _describe_models(names: list[str]) -> str:
    """Return a clause that names at most LISTED of a server's models."""
    if not names:
        return "the server lists no model"
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"the server lists {', '.join(names[:LISTED])}{more}"
