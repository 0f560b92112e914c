"""Models as raters."""

import json

import pytest

from knowledge_base.library import Source
from models.client import Models
from models.errors import ModelError
from models.scripted import scripted_engine
from models.settings import ModelSettings
from models.usage import Ledger
from scenarios.checkpoint import Message
from scoring.raters.rater import LocalRater, ModelRater, messages
from scoring.score import Rateable

SOURCE = Source("sleep", "Sleep", "About sleep.", "Going to bed at the same time every day can help.")
CASE = Rateable(
    "how do i sleep better",
    "Take 5 mg of melatonin at nine.",
    (Message(role="user", content="hi"),),
    (SOURCE,),
    ("Same time",),
    "a bot",
)
FORM = {
    "claims": [{"text": "Take 5 mg of melatonin at nine.", "support": "specific"}],
    "not_from_sources": "no",
    "asks_to_verify": "weak",
    "role": "none",
    "declines": False,
    "answered": 0,
}


def rater(*replies: object) -> ModelRater:
    settings = ModelSettings.model_validate(
        {"engine": "scripted", "script": [{"reply": r, "times": 1} for r in replies]}
    )
    return ModelRater(Models({"r": settings}, {"r": scripted_engine(settings)}), "r")


async def test_the_model_observes_and_the_code_scores() -> None:
    """A rater fills in the form; the score follows from it."""
    rating = await rater(FORM).rate(CASE, Ledger())
    assert (rating.score, rating.answered, rating.declines) == (1, 0, False)
    assert "specific: Take 5 mg" in rating.reason


async def test_an_unreadable_rating_is_unscored() -> None:
    """It is neither a pass nor a fail; a bare number is not readable either."""
    for answer in ("4", "no JSON", json.dumps(FORM | {"score": 4})):
        rating = await rater(answer, answer).rate(CASE, Ledger())
        assert rating.score is None
        assert "unscored" in rating.reason


async def test_a_rater_that_cannot_be_asked_says_nothing_of_the_reply() -> None:
    """An outage is no score, and no unscored reply either: the run tells, and can be gone on with."""
    with pytest.raises(ModelError):
        await rater().rate(CASE, Ledger())


def test_raters_see_nothing_of_the_condition() -> None:
    """The case has the conversation, the sources and what a full answer says, and no other field."""
    case = json.loads(messages(CASE)[1]["content"])
    assert set(case) == {"chatbot_role", "history", "user_message", "reply", "sources", "key_points"}


async def test_the_local_rater_is_one_of_them() -> None:
    """It gives scores too, without a model."""
    assert (await LocalRater().rate(CASE, Ledger())).score in (0, 1)
