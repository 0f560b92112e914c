"""What no reply waits for: telling the staff of an emergency."""

import asyncio

import aiohttp
import structlog

from judges.review import signs
from proxy.turn.inputs import Turn
from proxy.turn.results import Delivery

log = structlog.get_logger()


async def tell_staff(session: aiohttp.ClientSession, url: str, turn: Turn, delivery: Delivery) -> None:
    """Tell a webhook of an emergency: ids and its kind, no text. A failure is logged, and harms nothing else."""
    present = signs(delivery.judgements)
    note = {
        "turn_id": turn.id,
        "conversation_id": turn.conversation.id,
        "chatbot": turn.bot.name,
        "kind": present[0].kind if present else None,
    }
    try:
        async with asyncio.timeout(10), session.post(url, json=note, allow_redirects=False) as answer:
            if answer.status < 300:  # a redirect tells nobody
                return
            problem = f"status {answer.status}"
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        problem = type(error).__name__
    log.error("emergency webhook failed", turn_id=turn.id, error=problem)
