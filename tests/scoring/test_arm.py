"""Arms: what answers."""

from typing import Any

import pytest

from models.client import Models
from models.scripted import scripted_engine
from models.settings import ModelSettings
from scenarios.checkpoint import Message
from scoring.arm import NoReply, ServerArm, read_completion
from scoring.transcript import Place

PLACE = Place(arm="other", facilitator="f", checkpoint="c", sample=0, turn=1)
ASKED = [Message(role="user", content="hi")]


def answer(content: str | None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": content, "refusal": None}}], **more}


def test_another_proxy_of_ours_tells_how_it_went() -> None:
    """Outcome, citations and warnings come from its `caf` object."""
    caf = {
        "outcome": "refined",
        "citations": [{"id": "sleep", "title": "Sleep"}],
        "warnings": [{"rule": "role", "message": "x"}],
        "calls": 5,
    }
    got = read_completion(answer("Go to bed.", caf=caf), "hi", PLACE, 0.003)
    assert (got.outcome, got.citations, got.warnings, got.calls) == ("refined", ("sleep",), ("role",), 5)


def test_any_server_will_do() -> None:
    """Without a `caf` object a reply is a reply."""
    assert read_completion(answer("Hello."), "hi", PLACE, 0.001).outcome == "unfiltered"


@pytest.mark.parametrize("content", [None, "", "  \n"])
def test_a_reply_without_text_is_none(content: str | None) -> None:
    """An empty reply must not be scored as one that claims nothing."""
    with pytest.raises(NoReply):
        read_completion(answer(content), "hi", PLACE, 0.001)


async def test_a_server_that_fails_gives_no_reply() -> None:
    """After its retries the sample is told so."""
    settings = ModelSettings.model_validate({"engine": "scripted", "script": [{"fail": 503}], "max_attempts": 1})
    arm = ServerArm(Models({"a": settings}, {"a": scripted_engine(settings)}), "a")
    with pytest.raises(NoReply):
        await arm.ask(ASKED, place=PLACE, seed=1)
