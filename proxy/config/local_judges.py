"""Finds the chatbots whose replies are decided by local judges, to warn operators about the accuracy of these judges."""

from collections.abc import Mapping

from judges.claims import CLAIMS_JUDGES
from proxy.config.chatbot_settings import ChatbotSettings

WORTH = "local judges compare words, mainly in English; for real use, configure judges with models"
CLAIMS_WORTH = f"{' and '.join(CLAIMS_JUDGES)} stop 54 % of wrong replies and pass 69 % of right ones"
"""Measured on judges/evaluation/training/claims_holdout.jsonl."""


def describe_local_judges(chatbots: Mapping[str, ChatbotSettings]) -> str | None:
    """Return a sentence about the chatbots with a local judge of replies; None without such chatbots.

    A judge is local if its last stage is.
    """
    local = {
        name: {judge.name for judge in bot.judges if judge.stages is not None and judge.stages[-1] == "local"}
        - {"emergency"}
        for name, bot in chatbots.items()
    }
    names = [name for name, judges in local.items() if judges]
    if not names:
        return None
    compare_claims = any(judge in judges for judges in local.values() for judge in CLAIMS_JUDGES)
    return f"{', '.join(names)}: {WORTH}" + (f" ({CLAIMS_WORTH})" if compare_claims else "")
