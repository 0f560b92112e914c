"""Whole conversations as a language model held them: recorded completions of a language model, replayed.

`record.py` tells how they were made. A prompt that was changed since has no recording, and fails here until it is tried again.
"""

import json

import pytest

from tests.recordings.record import HERE, Kept, conversations, hold


@pytest.mark.parametrize("conversation", conversations(), ids=lambda row: row["id"])
async def test_recorded_conversation_comes_out_as_expected(conversation: dict[str, object]) -> None:
    """A whole conversation with a language model behind every alias ends in the outcomes recorded for it."""
    replies = await hold(conversation, Kept(HERE / "conversations.jsonl", None))
    outcomes = [reply["caf"]["outcome"] for reply in replies]
    assert outcomes == conversation["outcomes"]
    for word in conversation.get("never", ()):
        assert word not in json.dumps(replies)
