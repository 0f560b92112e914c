"""Which `accept_below` holds: only one that was calibrated for the weights that its local judge has today."""

from collections.abc import Iterator

from judges.judge import OBSERVERS
from judges.weights import weights_id
from proxy.config.config import Config
from proxy.config.judge_settings import JudgeSettings


def valid_threshold(judge: JudgeSettings) -> float | None:
    """Return the score below which a judge's local stage may accept alone; None: there is none, or one for other weights."""
    given = judge.accept_below
    if given is None or judge.name not in OBSERVERS or given.weights != weights_id(judge.name):
        return None
    return given.score


def ignored_thresholds(config: Config) -> Iterator[str]:
    """Name each `accept_below` that does not hold, why, and what to do, one sentence each."""
    for name, bot in config.chatbots.items():
        for place, judge in enumerate(bot.judges):
            given = judge.accept_below
            if given is None or judge.name not in OBSERVERS or valid_threshold(judge) is not None:
                continue
            why = (
                "does not say which weights it was calibrated for"
                if given.weights is None
                else f"was calibrated for the weights {given.weights}, and the local judge now has {weights_id(judge.name)}"
            )
            instead = "its rules decide" if judge.stages == ["local"] else "the local stage accepts nothing alone"
            yield (
                f"chatbots.{name}.judges[{place}].accept_below: {why}, so it is ignored and {instead}; run "
                f"`caf judges calibrate --chatbot {name} --judge {judge.name} --write`"
            )
