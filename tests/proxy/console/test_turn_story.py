"""What is made of a trace for the page of a turn, and of an address for a list; without a server."""

from dataclasses import asdict, replace
from typing import Any

import pytest
from multidict import MultiDict

from judges.verdict import Judgement
from models.usage import Call, Usage
from proxy.console.list_query import MOST_PAGES_BACK
from proxy.console.turn_list_query import read_turn_query
from proxy.console.turn_story import tell_story
from proxy.console.waterfall import draw_waterfall
from proxy.traces.redaction import hide_texts, redact
from proxy.traces.sqlite import decode, encode
from proxy.traces.trace import Trace
from tests.proxy.console.rich_trace import DRAFT, rich_trace


def stored(trace: Trace) -> dict[str, Any]:
    return decode(encode(trace))


def texts_in(value: Any) -> set[str]:
    """Return all strings of a stored trace."""
    if isinstance(value, str):
        return {value}
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*map(texts_in, parts))


def test_what_is_hidden_is_what_redaction_removes() -> None:
    """Whoever may not see texts gets no string that redacted storage would not have kept."""
    allowed = texts_in(stored(redact(rich_trace()))) | {""}
    assert texts_in(hide_texts(stored(rich_trace()))) <= allowed


def test_a_story_can_be_told_of_redacted_hidden_and_old_traces() -> None:
    """Older traces lack fields, others lack texts."""
    trace = stored(rich_trace())
    old = {
        name: value
        for name, value in trace.items()
        if name not in ("documents", "concern", "refusals", "notes", "would")
    }
    missing = ("at_ms", "thoughts", "cause")
    old["calls"] = [{name: value for name, value in call.items() if name not in missing} for call in trace["calls"]]
    for one in (stored(redact(rich_trace())), hide_texts(trace), hide_texts(old), old):
        story = tell_story(one)
        assert len(story.attempts) == 4
        assert {*story.verdicts} == {"emergency", "source_fidelity", "role", "kindness"}
    assert not tell_story(stored(redact(rich_trace()))).delivered[0].changes


def test_the_draft_that_was_judged_is_compared_with_what_was_delivered() -> None:
    """Not the first one, which broke a rule of form."""
    (delivered,) = tell_story(stored(rich_trace())).delivered
    before = "".join(piece.text for piece in delivered.changes if piece.kind != "added")
    assert before.split() == DRAFT.split()


def test_an_observation_that_two_judges_share_is_shown_once() -> None:
    """The second says whose it is."""
    swift = tell_story(stored(rich_trace())).attempts[1].opinions
    assert len(swift[0].faults) == 2
    assert (swift[1].faults, swift[1].same_as) == ([], "source fidelity (swift)")


def test_bars_stand_where_calls_ran() -> None:
    """By what the trace says of their beginnings; of older traces one after the other, which is said."""
    drawn = draw_waterfall(stored(rich_trace()))
    chief = next(bar for bar in drawn.bars if bar.call and bar.call["step"] == "reply.chief")
    assert drawn.place(chief) == pytest.approx((100 * 4410 / 8741, 100 * 2400 / 8741), abs=0.1)
    assert not drawn.guessed
    assert all(0 <= x <= x + width <= 100.1 for x, width in map(drawn.place, drawn.bars))
    old = stored(rich_trace())
    for call in old["calls"]:
        del call["at_ms"]
    drawn = draw_waterfall(old)
    assert drawn.guessed
    assert [bar.at_ms for bar in drawn.bars if bar.kind == "call"] == sorted(
        bar.at_ms for bar in drawn.bars if bar.kind == "call"
    )


@pytest.mark.parametrize("ms", [0.0, 0.04, 0.4, 3.0, 9.99, 47.0, 999.0, 12_345.0, 3_600_000.0])
def test_a_scale_has_a_few_lines(ms: float) -> None:
    """However long the turn took."""
    call = Call("draft", "chatbot", ms, Usage(), None, None, 1, 0.0)
    drawn = draw_waterfall(stored(rich_trace(ms=ms, calls=[call], attempts=[], emergency=[])))
    assert 2 <= len(drawn.ticks) <= 7
    assert drawn.ticks[0] == (0.0, 0.0)


def test_redaction_keeps_when_a_call_began() -> None:
    """It is no text."""
    assert [call.at_ms for call in redact(rich_trace()).calls] == [call.at_ms for call in rich_trace().calls]
    assert asdict(replace(rich_trace().calls[0]))["at_ms"] == 1.2


def test_an_address_comes_back_as_it_was() -> None:
    """Fields without a meaning are dropped; pages remember the way back, but not for ever."""
    query = read_turn_query(
        MultiDict(q=" a&b ", outcome="accepted", verdict="perhaps", nonsense="1", before="9", trail="12.11")
    )
    assert query.here == "?q=a%26b&outcome=accepted&before=9&trail=12.11"
    assert query.previous_page == "?q=a%26b&outcome=accepted&before=11&trail=12"
    for place in range(100, 0, -1):
        query = read_turn_query(MultiDict(pair.split("=") for pair in query.next_page(place)[1:].split("&")))
    assert len(query.trail) == MOST_PAGES_BACK
    assert query.before == 1


def test_a_turn_that_no_judge_could_judge_is_not_said_to_have_had_a_bad_draft() -> None:
    """It says which judge's failure it was, and offers no label for judges that have had nothing to judge."""
    unjudged = Judgement("emergency", "local", "unjudged", "unreadable_message")
    trace = stored(rich_trace(outcome="fallback", attempts=[], emergency=[unjudged], replies=["Sorry."]))
    assert tell_story(trace).sentence.startswith("A judge failed to judge the user's message")
    assert tell_story(trace).choices_with_draft == []
    assert tell_story(stored(rich_trace(outcome="fallback"))).sentence.startswith("No draft passed the judges")
