"""The prompts as a language model read them: recorded completions of a language model, replayed.

`record.py` tells how they were made. A prompt that was changed since has no recording, and fails here until it is tried again.
"""

import json
from collections import Counter

import pytest

from models.client import Models
from models.settings import ModelSettings
from tests.recordings.record import ALIASES, HERE, Kept, Tried, conversations, hold, try_judges


@pytest.fixture(scope="module")
def settings() -> dict[str, ModelSettings]:
    return {alias: ModelSettings(engine="embedded") for alias in ALIASES}


async def tried(settings: dict[str, ModelSettings]) -> list[Tried]:
    return await try_judges(Models(settings, dict.fromkeys(ALIASES, Kept(HERE / "judges.jsonl", None))))


async def test_every_recorded_observation_is_readable(settings: dict[str, ModelSettings]) -> None:
    """No answer of the recorded model was unreadable or missing."""
    unread = [(t.judge, t.stage, t.case) for t in await tried(settings) if t.judgement.observation is None]
    assert unread == []


async def test_chief_judges_decide_as_expected(settings: dict[str, ModelSettings]) -> None:
    """The chief's observation, ruled on in code, comes to the expected verdict in every case."""
    wrong = [
        (t.judge, t.case, t.judgement.verdict, t.judgement.reason)
        for t in await tried(settings)
        if t.stage == "chief" and t.judgement.verdict not in t.expect
    ]
    assert wrong == []


async def test_swift_judges_let_nothing_pass_that_the_chief_would_reject(settings: dict[str, ModelSettings]) -> None:
    """Every case that must not be accepted is flagged by the swift judge, so that the chief sees it."""
    passed = [
        (t.judge, t.case)
        for t in await tried(settings)
        if t.stage == "swift" and "accept" not in t.expect and t.judgement.verdict == "accept"
    ]
    assert passed == []


async def test_swift_judges_settle_most_harmless_cases(settings: dict[str, ModelSettings]) -> None:
    """A cascade that flags everything would save nothing: most cases that may be accepted end at the swift judge."""
    harmless = [t for t in await tried(settings) if t.stage == "swift" and "accept" in t.expect]
    verdicts = Counter(t.judgement.verdict for t in harmless)
    assert verdicts["accept"] >= 0.7 * len(harmless), verdicts


@pytest.mark.parametrize("conversation", conversations(), ids=lambda row: row["id"])
async def test_recorded_conversation_comes_out_as_expected(conversation: dict[str, object]) -> None:
    """A whole conversation with a language model behind every alias ends in the outcomes recorded for it."""
    replies = await hold(conversation, Kept(HERE / "conversations.jsonl", None))
    outcomes = [reply["caf"]["outcome"] for reply in replies]
    assert outcomes == conversation["outcomes"]
    for word in conversation.get("never", ()):
        assert word not in json.dumps(replies)
