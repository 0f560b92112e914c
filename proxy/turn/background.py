"""What no reply waits for: telling the staff of an emergency."""

import asyncio

import aiohttp
import structlog

from judges.review import signs
from proxy.turn.delivery import Delivery, Turn

log = structlog.get_logger()


async def tell_staff(session: aiohttp.ClientSession, url: str, turn: Turn, delivery: Delivery) -> None:
    """Tell a webhook of an emergency: ids and its kind, no text. A failure is logged, and harms nothing else."""
    found = signs(delivery.judgements)
    note = {
        "turn_id": turn.trace.turn_id,
        "conversation_id": turn.trace.conversation_id,
        "chatbot": turn.bot.name,
        "kind": found[0].kind if found else None,
    }
    try:
        async with asyncio.timeout(10), session.post(url, json=note, allow_redirects=False) as answer:
            if answer.status < 300:  # a redirect tells nobody
                return
            problem = f"status {answer.status}"
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        problem = type(error).__name__
    log.error("emergency webhook failed", turn_id=turn.trace.turn_id, error=problem)
