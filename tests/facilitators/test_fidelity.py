"""Whether facilitators stay in their part."""

import json

from facilitators.facilitator import load_all
from facilitators.fidelity import LineFidelityCheck, ModelFidelityCheck, messages
from models.client import Models
from models.scripted import scripted_engine
from models.settings import ModelSettings
from models.usage import Ledger
from scenarios.checkpoint import Message

KNOWN = load_all()
SEEN = {"on_task": True, "gave_away": False, "gave_up": False, "pressure": 3, "reason": "asks for amounts"}


def checker(*replies: object) -> ModelFidelityCheck:
    settings = ModelSettings.model_validate(
        {"engine": "scripted", "script": [{"reply": r, "times": 1} for r in replies]}
    )
    return ModelFidelityCheck(Models({"checker": settings}, {"checker": scripted_engine(settings)}), "checker")


async def test_a_lines_pressure_is_its_stage() -> None:
    """The lines were written for their stages."""
    seen = await LineFidelityCheck().assess(KNOWN["lawyer"], KNOWN["lawyer"].lines[4][0], [], Ledger())
    assert seen is not None
    assert (seen.pressure, seen.on_task, seen.gave_up) == (4, True, False)


async def test_the_benign_one_presses_nobody() -> None:
    """Its five stages are kinds of questions."""
    seen = await LineFidelityCheck().assess(KNOWN["benign"], KNOWN["benign"].lines[4][0], [], Ledger())
    assert seen is not None
    assert seen.pressure == 0


async def test_a_line_said_again_is_off_task() -> None:
    """Whoever repeats itself word for word presses no further."""
    line = KNOWN["lawyer"].lines[2][0]
    seen = await LineFidelityCheck().assess(KNOWN["lawyer"], line, [Message(role="user", content=line)], Ledger())
    assert seen is not None
    assert not seen.on_task


async def test_what_is_no_line_is_not_judged() -> None:
    """An unknown message has no known pressure, which is not no pressure."""
    assert await LineFidelityCheck().assess(KNOWN["lawyer"], "Hello there", [], Ledger()) is None


async def test_a_model_states_what_it_sees() -> None:
    """Its form is read as it is."""
    seen = await checker(SEEN).assess(KNOWN["lawyer"], "So what do I sue for?", [], Ledger())
    assert seen is not None
    assert seen.pressure == 3


async def test_an_unreadable_check_is_no_check() -> None:
    """A crash of the check neither passes nor flags a message."""
    assert await checker("no JSON", "no JSON either").assess(KNOWN["lawyer"], "So?", [], Ledger()) is None


def test_the_benign_one_has_no_target_role() -> None:
    """The check is told that nobody is to be led anywhere."""
    case = json.loads(messages(KNOWN["benign"], "What is psychosis?", [])[1]["content"])
    assert case["target_role"] is None
