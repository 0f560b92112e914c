"""How often alarms were right, labels that are taken back, and the turns that cite a section: in a file and in a database."""

from proxy.traces.backend import TraceBackend
from proxy.traces.emergencies import AlarmCount, count_alarms, count_open
from proxy.traces.fact_query import TurnFilter
from proxy.traces.labels import Label, add, labels, withdraw
from proxy.traces.search import search_turns
from proxy.traces.trace import Attempt
from tests.proxy.traces.test_search import START, alarmed, crisis
from tests.proxy.traces.test_store import stored, trace


def test_alarms_are_counted_by_what_people_say_of_them(place: TraceBackend) -> None:
    """By alarm, kind and layer; only the last label of the emergency judge counts, and only the chatbots asked for."""
    stored(
        place,
        *(alarmed(f"sure{n}", START + n, crisis("local", "reject", 1.0), outcome="emergency") for n in range(4)),
        alarmed("other", START, crisis("local", "reject", 1.0), outcome="emergency", chatbot="other"),
        alarmed("concern", START, crisis("local", "warn", 0.4), concern="medical"),
        trace("calm", started=START),
    )
    for turn, judge, verdict in (
        ("sure0", "emergency", "reject"), ("sure1", "emergency", "reject"), ("sure1", "emergency", "accept"),
        ("sure2", "role", "accept"), ("concern", "emergency", "warn"),
    ):  # fmt: skip
        add(place, turn, Label(judge, verdict))  # type: ignore[arg-type]
    info = frozenset({"info"})
    assert count_alarms(place, TurnFilter(info)) == [
        AlarmCount("emergency", "medical", "explicit", 4, 1, 1),
        AlarmCount("concern", "medical", "learned", 1, 1, 0),
    ]
    assert [one.open for one in count_alarms(place, TurnFilter(info))] == [2, 0]
    assert [one.turns for one in count_alarms(place, TurnFilter(info, alarm="concern"))] == [1]
    assert (count_open(place, info), count_open(place, info | {"other"}), count_open(place, frozenset())) == (2, 3, 0)


def test_a_label_that_is_taken_back_lets_the_earlier_one_count(place: TraceBackend) -> None:
    """The last label of that judge goes, and no other; where there is none, nothing happens."""
    stored(place, trace("a"), trace("b"))
    withdraw(place, "a", "emergency")
    add(place, "a", Label("emergency", "reject"))
    add(place, "a", Label("role", "warn"))
    add(place, "b", Label("emergency", "warn"))
    add(place, "a", Label("emergency", "accept", choice=1))
    withdraw(place, "a", "emergency")
    assert {turn: [(one.judge, one.verdict) for one in given] for turn, given in labels(place).items()} == {
        "a": [("emergency", "reject"), ("role", "warn")],
        "b": [("emergency", "warn")],
    }
    withdraw(place, "a", "emergency")
    assert [one.judge for one in labels(place)["a"]] == ["role"]


def test_turns_that_cite_a_section(place: TraceBackend) -> None:
    """Only turns whose delivered reply cites it match, not those in which it was merely in use."""
    drafts = {"one": ["sleep"], "both": ["sleep", "causes"], "none": ["own_role"]}
    stored(
        place,
        *(
            trace(id, sources_in_use=["sleep", "causes"], attempts=[Attempt("draft", 0, "text", cited, 1.0)])
            for id, cited in drafts.items()
        ),
    )

    def citing(section: str) -> set[str]:
        return {one.line.turn_id for one in search_turns(place, TurnFilter(cited=section)).turns}

    assert citing("sleep") == {"one", "both"}
    assert citing("causes") == {"both"}
    assert citing("own_role") == citing("slee") == set()
