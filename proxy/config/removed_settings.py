"""Settings of earlier versions: they are ignored, and named."""

from typing import Any


def drop_removed_settings(data: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return configuration data without settings that are gone, and a sentence for each.

    The data is not changed. What has another form than a configuration stays as it is: validation names it.
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
        notices.append(f"{key}.streaming: `verified` is gone and runs as `hold`; write `hold` or `observe`")
    judges = bot.get("judges")
    if not isinstance(judges, list):
        return bot
    for place, judge in enumerate(judges):
        if isinstance(judge, dict) and "accept_below" in judge:
            notices.append(f"{key}.judges[{place}].accept_below: is gone and ignored; remove it")
    kept = [
        {name: value for name, value in judge.items() if name != "accept_below"} if isinstance(judge, dict) else judge
        for judge in judges
    ]
    return {**bot, "judges": kept}
