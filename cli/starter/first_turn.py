"""Sends a first question through a temporary proxy, to show that the new chatbot works."""

import asyncio
import logging
from pathlib import Path

from structlog.testing import capture_logs

from cli.conversation import ChatError, Conversation, Reply, open_session
from proxy.app import create_app
from proxy.config.config import load_config
from proxy.serving.listening import isolated_config, listening_beside
from proxy.telemetry.logs import configure_logs

QUESTION = "What can I ask here, and what can this service not do?"
"""A question that the first section of the knowledge base answers."""


def take_turn(config: Path, chatbot: str) -> Reply | list[str]:
    """Ask a chatbot one question through a temporary proxy. The turn is traced like any other.

    Returns:
        The reply. If model calls failed, a list of sentences instead, each with a cause and what to try.

    Raises:
        ConfigError: The configuration is invalid.
        ModelSettingsError: A model cannot be used, for example because the variable of its key is not set.
    """

    async def ask(address: str) -> Reply:
        async with await open_session() as session:
            return await Conversation(session, address, chatbot, None).ask(QUESTION, lambda piece: None)

    configure_logs()
    logging.disable(logging.CRITICAL)  # litellm's log
    failure: list[str] = []
    try:
        with capture_logs() as events, listening_beside(create_app(isolated_config(load_config(config)))) as address:
            reply = asyncio.run(ask(address))
    except ChatError as error:
        failure = [str(error)]
    finally:
        logging.disable(logging.NOTSET)
    # The log has the cause of every failed call, including those of judges, which do not end the turn.
    causes = list(dict.fromkeys(event["cause"] for event in events if "cause" in event))
    return causes or failure or reply
