"""One turn through a proxy that runs for it alone."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cli.conversation import Reply

QUESTION = "What can I ask here, and what can this service not do?"
"""What the section that comes along answers."""


def take_turn(config: Path, chatbot: str) -> "Reply":
    """Ask a chatbot one question, through the whole proxy; the turn is traced like any other.

    Raises:
        ConfigError: The configuration is not right.
        ModelSettingsError: A model cannot be used.
        ChatError: There was no whole reply.
    """
    from cli.conversation import Conversation, open_session
    from proxy.app import create_app
    from proxy.config.config import load_config
    from proxy.serving.listening import isolated_config, listening_beside
    from proxy.telemetry.logs import configure_logs

    async def ask(address: str) -> "Reply":
        async with open_session(None, None) as session:
            return await Conversation(session, address, chatbot, None).ask(QUESTION, lambda piece: None)

    configure_logs("error")
    with listening_beside(create_app(isolated_config(load_config(config)))) as address:
        return asyncio.run(ask(address))
