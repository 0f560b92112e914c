"""Takes one turn through a temporary proxy."""

import asyncio
import logging
from pathlib import Path

from cli.conversation import ChatError, Conversation, Reply, open_session
from models import errors
from proxy.app import create_app
from proxy.config.config import Config, load_config
from proxy.serving.listening import isolated_config, listening_beside
from proxy.telemetry.logs import configure_logs
from proxy.traces.backend import trace_backend
from proxy.traces.query import list_turns, show

QUESTION = "What can I ask here, and what can this service not do?"
"""A question that the first section answers."""


def take_turn(config: Path, chatbot: str) -> Reply | list[str]:
    """Ask a chatbot one question through the whole proxy. The turn is traced like any other.

    Returns:
        The reply, or the failures of the models, one per line. With failures, the reply may still be a fallback message.

    Raises:
        ConfigError: The configuration is invalid.
        ModelSettingsError: A model cannot be used.
    """

    async def ask(address: str) -> Reply:
        async with await open_session() as session:
            return await Conversation(session, address, chatbot, None).ask(QUESTION, lambda piece: None)

    configure_logs("critical")  # the caller reports failures
    logging.disable(logging.CRITICAL)  # litellm's log
    try:
        settings = load_config(config)
        with listening_beside(create_app(isolated_config(settings))) as address:
            reply = asyncio.run(ask(address))
    except ChatError as error:
        return _failures(settings) or [str(error)]
    finally:
        logging.disable(logging.NOTSET)
    return _failures(settings) or reply


def _failures(config: Config) -> list[str]:
    """Return the models that failed in the last turn and the reasons, from its trace."""
    backend = trace_backend(config.privacy)
    turns = list_turns(backend, limit=1)
    calls = show(backend, turns[0].turn_id)["calls"] if turns else []
    aliases: dict[str, list[str]] = {}
    for call in calls:
        if isinstance(
            getattr(errors, call["error"] or "", None), type
        ):  # other calls were cancelled, because their answers were not needed
            aliases.setdefault(call["error"], []).append(call["alias"])
    return [
        f"{', '.join(dict.fromkeys(names))}: {kind}; {getattr(errors, kind).hint.replace(' <alias>', '')}"
        for kind, names in aliases.items()
    ]
