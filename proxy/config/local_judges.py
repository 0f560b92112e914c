"""Finds the chatbots whose replies are decided by local judges, to warn operators about the accuracy of these judges."""

from judges.claims import CLAIMS_JUDGES
from proxy.config.chatbot_settings import ChatbotSettings
from proxy.config.config import Config

WORTH = "local judges compare words, mainly in English; for real use, configure judges with models"
CLAIMS_WORTH = f"{' and '.join(CLAIMS_JUDGES)} stop 54 % of wrong replies and pass 69 % of right ones"
"""Measured on judges/evaluation/training/claims_holdout.jsonl."""


def describe_local_judges(config: Config) -> str | None:
    """Return a sentence about the chatbots for which `decides_locally` is true; None if there are none."""
    bots = {name: bot for name, bot in config.chatbots.items() if decides_locally(bot)}
    if not bots:
        return None
    are_claims_local = any(_is_local(judge, bot) for bot in bots.values() for judge in CLAIMS_JUDGES)
    return f"{', '.join(bots)}: {WORTH}" + (f" ({CLAIMS_WORTH})" if are_claims_local else "")


def decides_locally(bot: ChatbotSettings) -> bool:
    """Return whether the last stage of one of the chatbot's judges is local. The emergency judge does not count."""
    return any(_is_local(judge.name, bot) for judge in bot.judges if judge.name != "emergency")


def _is_local(name: str | None, bot: ChatbotSettings) -> bool:
    return any(judge.name == name and judge.stages is not None and judge.stages[-1] == "local" for judge in bot.judges)
