"""Wraps a chatbot of an OpenAI-compatible server without a configuration file, for `caf serve --upstream URL`."""

import asyncio
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from cli.starter.languages import TEXTS
from cli.starter.providers import PROVIDERS, ModelPlace, check_settings
from models.errors import ModelError, ModelSettingsError, UpstreamBusy, UpstreamGarbled, UpstreamRefused
from models.model_list import list_models
from models.settings import ModelSettings
from proxy.config.chatbot_settings import PLACEHOLDER
from proxy.config.local_judges import WORTH
from scenarios import files

KEY_VARIABLES = ("CAF_UPSTREAM_KEY", "OPENAI_API_KEY")
"""Environment variables to search for the key. If the first is set but empty, no key is sent."""
ROLE = "A general assistant. It is not a doctor, a therapist or a friend."
LISTED = 10
"""Maximum number of models in an error message."""


class UpstreamError(Exception):
    """The server cannot be wrapped; the message names the option, the value and what to try."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A chatbot on another server."""

    place: ModelPlace
    is_listed: bool
    """Whether the server lists the model. False: the server lists no models."""

    @property
    def chatbot(self) -> str:
        """The name that clients use as `model`: the model's name, with `-` instead of invalid characters."""
        name = re.sub(r"[^A-Za-z0-9._:-]", "-", self.place.model)[:64]
        return name if name[:1].isalnum() else f"chatbot{name}"[:64]

    def configuration(self) -> dict[str, Any]:
        """Return the configuration in the form of a configuration file."""
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
        """Return the configuration as the text of a file."""
        return (
            "# Printed by `caf serve --upstream`. Save it as config.yaml, then run `caf check` and `caf serve`.\n"
            "# No key is in this file: api_key_env names the environment variable that holds it.\n"
            f"# Judges: {_JUDGES}.\n"
            f"# {WORTH[0].upper()}{WORTH[1:]}.\n"
            f"# With a knowledge base and model judges: {self._init_command()}\n"
            f"{files.dumps(self.configuration())}"
        )

    def startup_lines(self, address: str) -> Iterator[str]:
        """Yield the startup lines: the wrapped chatbot, the judges, an example request, and the next step.

        Args:
            address: Address of the proxy, with `/v1`.
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


_JUDGES = "emergency and role only: without a knowledge base, no statement of a reply is checked"


def find_upstream(url: str, model: str | None, environ: Mapping[str, str]) -> Upstream:
    """Request the models of a server, and return the chatbot to wrap.

    Args:
        model: Name of the model on the server; None: the only model that it lists.
        environ: Environment with the key in one of KEY_VARIABLES.

    Raises:
        UpstreamError: The URL is not valid, the server cannot be reached, or it does not have the model.
    """
    variable = next((name for name in KEY_VARIABLES if name in environ), "")
    key_env = variable if environ.get(variable, "").strip() else ""
    place = ModelPlace(PROVIDERS["url"], model or "", url.strip(), key_env)
    if fault := check_settings(place.settings() | {"base_url": place.url}):
        value = "" if "@" in url else f" {url!r}:"  # it may hold a password
        raise UpstreamError(f"--upstream:{value} {fault}")
    names = _list_models(place, environ)
    if model is None:
        if len(names) != 1:
            raise UpstreamError(f"--upstream: {url}: {_describe_models(names)}; name one with --model")
        return Upstream(ModelPlace(place.provider, names[0], place.url, place.key_env), is_listed=True)
    # Ollama lists NAME:latest and Gemini models/NAME; both accept NAME.
    if names and not {model, f"{model}:latest", f"models/{model}"}.intersection(names):
        raise UpstreamError(
            f"--model: {model!r}: {url}: {_describe_models(names)}; if it accepts this name all the same, write a "
            f"configuration with `caf init FOLDER --endpoint {shlex.quote(url)} --endpoint-model {shlex.quote(model)}`"
        )
    return Upstream(place, is_listed=bool(names))


def _list_models(place: ModelPlace, environ: Mapping[str, str]) -> list[str]:
    """Return the server's models; empty if it does not list them."""
    try:
        return asyncio.run(list_models(ModelSettings.model_validate(place.settings()), environ))
    except ModelSettingsError as error:
        raise UpstreamError(str(error)) from None
    except (UpstreamBusy, UpstreamGarbled, UpstreamRefused) as error:
        if isinstance(error, UpstreamRefused) and error.status in (401, 403):
            remedy = f"correct the key in {place.key_env}" if place.key_env else f"export the key in {KEY_VARIABLES[0]}"
        elif place.model:
            return []
        else:
            remedy = "name the model with --model"
            if not urlsplit(place.url).path.strip("/"):
                remedy += ", and check the URL: most servers need /v1 at its end"
        what = f"answered {error.status}" if isinstance(error, UpstreamRefused) else error.description()
        raise UpstreamError(f"--upstream: {place.url}: GET /models: the server {what}; {remedy}") from None
    except ModelError as error:
        raise UpstreamError(
            f"--upstream: {place.url}: the server {error.description()}; start it, or correct the URL"
        ) from None


def _describe_models(names: list[str]) -> str:
    if not names:
        return "the server lists no model"
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"the server lists {', '.join(names[:LISTED])}{more}"
