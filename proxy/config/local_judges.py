"""Finds the chatbots whose replies are decided by local judges, to warn operators about the accuracy of these judges."""

from proxy.config.chatbot_settings import ChatbotSettings
from proxy.config.config import Config

WORTH = (
    "local judges read only English, stop 54 % of wrong replies and pass 69 % of right ones; for real use, "
    "configure judges with models"
)
"""Measured on judges/evaluation/training/claims_holdout.jsonl."""


def judged_locally(config: Config) -> list[str]:
    """Return the names of the chatbots for which `decides_locally` is true."""
    return [name for name, bot in config.chatbots.items() if decides_locally(bot)]


def decides_locally(bot: ChatbotSettings) -> bool:
    """Return whether the last stage of one of the chatbot's judges is local. The emergency judge does not count."""
    return any(
        judge.stages is not None and judge.stages[-1] == "local" for judge in bot.judges if judge.name != "emergency"
    )
