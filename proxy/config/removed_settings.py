"""Drops settings of earlier versions from the configuration, and reports each of them."""

from typing import Any


def drop_removed_settings(data: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Drop the settings that no longer exist from configuration data. The argument is not modified.

    Data without a valid mapping `chatbots` is returned unchanged, because validation reports it later.

    Returns:
        The data without the removed settings, and a message for each of them.
    """
    chatbots = data.get("chatbots")
    if not isinstance(chatbots, dict):
        return data, []
    notices: list[str] = []
    kept = {
        name: _without_removed(bot, f"chatbots.{name}", notices) if isinstance(bot, dict) else bot
        for name, bot in chatbots.items()
    }
    return {**data, "chatbots": kept}, notices


def _without_removed(bot: dict[str, Any], key: str, notices: list[str]) -> dict[str, Any]:
    if bot.get("streaming") == "verified":
        bot = {**bot, "streaming": "hold"}
        notices.append(f"{key}.streaming: `verified` was removed and runs as `hold`; write `hold` or `observe`")
    judges = bot.get("judges")
    if not isinstance(judges, list):
        return bot
    for place, judge in enumerate(judges):
        if isinstance(judge, dict) and "accept_below" in judge:
            notices.append(f"{key}.judges[{place}].accept_below: this setting was removed and has no effect; delete it")
    kept = [
        {name: value for name, value in judge.items() if name != "accept_below"} if isinstance(judge, dict) else judge
        for judge in judges
    ]
    return {**bot, "judges": kept}
