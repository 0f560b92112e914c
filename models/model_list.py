"""Asks an OpenAI-compatible server which models it serves: GET {base_url}/models."""

import os
from collections.abc import Mapping

import aiohttp

from models.errors import ModelError, UpstreamGarbled, error_for_status
from models.openai_engine import make_session, secret_headers, to_model_error
from models.settings import ModelSettings

TIMEOUT_S = 10.0


async def list_models(settings: ModelSettings, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the names of the models that a server offers, in the order of the response.

    Raises:
        ModelError: The server does not answer within 10 s, refuses the request, or does not send a list of models.
        ModelSettingsError: The environment variable of the API key is not set, or its value is not a valid key.
    """
    headers, timeout = secret_headers(settings, environ), aiohttp.ClientTimeout(total=TIMEOUT_S)
    try:
        async with (
            make_session() as session,
            session.get(
                f"{settings.base_url}/models", headers=headers, timeout=timeout, allow_redirects=False
            ) as response,
        ):
            if response.status != 200:
                raise error_for_status(response.status)
            if response.content_type == "text/html":
                raise UpstreamGarbled("sent an HTML page instead of a list of models")
            answer = await response.json(content_type=None)
    except (aiohttp.ClientError, OSError) as error:  # TimeoutError is an OSError
        raise to_model_error(error) from None
    except ValueError:  # neither JSON nor text
        raise _no_list() from None
    try:
        names = [model["id"] for model in answer["data"]]
    except (KeyError, TypeError):
        raise _no_list() from None
    if not all(isinstance(name, str) for name in names):
        raise _no_list()
    return names


def _no_list() -> ModelError:
    return UpstreamGarbled("sent an answer that is not a list of models")
