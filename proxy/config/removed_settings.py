"""Settings of earlier versions. They are ignored and reported."""

from typing import Any


def drop_removed_settings(data: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return configuration data without removed settings, and one message for each.

    The argument is not modified. Data of another shape is returned unchanged: validation reports it.
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
            notices.append(f"{key}.judges[{place}].accept_below: was removed and has no effect; delete it")
    kept = [
        {name: value for name, value in judge.items() if name != "accept_below"} if isinstance(judge, dict) else judge
        for judge in judges
    ]
    return {**bot, "judges": kept}
