"""The screen of operation over HTTP: what happened over time, and how the proxy itself is."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.api.middleware import METRICS
from proxy.console.activity import draw_activity, list_steps
from proxy.console.period import PERIODS
from proxy.traces.counts import Bucket, Counts, StepTimes
from tests.proxy.console.conftest import Console, console_config, serve_console
from tests.proxy.console.visitor import Granted, Visitor, serve_with_keys

SAID = ("What is schizophrenia?", "What are antipsychotics?", "I want to kill myself tonight.")


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder = tmp_path_factory.mktemp("operation")
    config = console_config(folder)
    config["models"]["chatbot"] |= {"max_concurrent": 2, "queue": 5}
    with serve_console(folder, config) as running:
        running.say_stored(*SAID)
        yield running


def tiles(page: str) -> dict[str, str]:
    """Return the figures of a page by what they are called."""
    return {name: value for value, name in re.findall(r"<b>(.*?)</b><span>(.*?)</span>", page)}


def test_figures_of_a_period(console: Console) -> None:
    """Turns, outcomes, times and losses stand there for each period; an unknown one is the last day."""
    visitor = Visitor(console.url)
    for period in (*PERIODS, "%3Cscript%3E"):
        page = visitor.get(f"/console/operation?period={period}").text
        found = tiles(page)
        assert found["Turns"] == "3", period
        assert found["Emergencies and concerns"] == "1"
        assert found["Errors"] == "0"
        assert found["Traces lost"] == "0"
        assert page.count('<svg class="plot"') == 4  # nobody has given prices
        assert "<script>" not in page.replace('<script type="module"', "")


def test_figures_are_asked_for_again_as_a_fragment(console: Console) -> None:
    """The fragment has the figures, how soon to ask again, and no frame of a page."""
    page = Visitor(console.url).get("/console/operation/figures?period=hour").text
    assert 'data-refresh="15"' in page
    assert tiles(page)["Turns"] == "3"
    assert "<html" not in page


def test_queues_breakers_and_losses_come_from_the_metrics(console: Console) -> None:
    """What the process counts is shown as it is at that moment."""
    metrics = console.app[METRICS]
    metrics.calls.labels("chatbot", "upstream_timeout").inc(3)
    count = 7
    metrics.traces_dropped.follow(lambda: count)
    page = Visitor(console.url).get("/console/operation/figures").text
    assert tiles(page)["Traces lost"] == "7"
    row = re.search(r"<code>chatbot</code>.*?</tr>", page, re.DOTALL)[0]  # type: ignore[index]
    assert 'title="3 upstream timeout"' in row
    assert 'data-label="Running">0' in row
    assert "Not configured" in row  # no circuit breaker


def test_keys_see_the_turns_of_their_own_chatbots(tmp_path: Path) -> None:
    """A key for another chatbot sees no turn, and nothing of the proxy as a whole."""
    granted: Granted = {
        "chat": (("chat",), None),
        "all": (("chat", "console"), None),
        "other": (("chat", "console"), ("other",)),
    }
    with serve_with_keys(tmp_path, granted) as (console, keys):
        console.say_stored(SAID[0], key=keys["chat"])
        page = Visitor(console.url).signed_in(keys["all"]).get("/console/operation?chatbot=schizophrenia").text
        assert tiles(page)["Turns"] == "1"
        page = Visitor(console.url).signed_in(keys["other"]).get("/console/operation?chatbot=schizophrenia").text
        assert "No turns in the last 24 hours" in page
        assert "schizophrenia" not in page
        assert "Traces lost" not in page
        assert "Your key needs access to every chatbot" in page


def test_without_traces_the_proxy_itself_is_shown(tmp_path: Path) -> None:
    """Where no traces are kept, the screen says so and shows queues and losses."""
    config = console_config(tmp_path)
    config["privacy"]["store"] = "none"
    with serve_console(tmp_path, config) as console:
        page = Visitor(console.url).get("/console/operation").text
        assert "Turns are not stored" in page
        assert tiles(page)["State store errors"] == "0"


def test_plots_have_their_numbers_in_a_table() -> None:
    """Every bar has a row, money is drawn where there is some, and a line has a gap where nothing happened."""
    busy = Bucket(0.0, Counter(accepted=20_000, error=1), prompt_tokens=3_000_000, calls=5, cost=0.25)
    busy.steps = {"turn": StepTimes(20_001, 800.0, 2_500.0), "custom.local": StepTimes(1, 1.0, 1.0)}
    quiet, again = Bucket(3600.0), Bucket(7200.0, Counter(refined=1))
    again.steps = {"turn": StepTimes(1, 5.0, 5.0)}
    total = Bucket(0.0, busy.outcomes + again.outcomes, cost=0.25, steps=busy.steps)
    plots = {one.name: one for one in draw_activity(Counts([busy, quiet, again], total, 0), PERIODS["day"])}
    assert [row[0] for row in plots["outcomes"].rows] == [7200.0, 0.0]
    assert plots["outcomes"].heads == ["Accepted", "Refined", "Error"]
    assert plots["tokens"].rows == [(0.0, ["3\u202f000\u202f000", "0"])]
    assert ">3 M</text>" in plots["tokens"].drawing
    assert plots["money"].rows == [(0.0, ["0.25"])]
    assert plots["latency"].rows == [(7200.0, ["5.0 ms", "5.0 ms"]), (0.0, ["800 ms", "2.5 s"])]
    assert plots["latency"].drawing.count("<title>p50</title>") == 2
    assert [row.name for row in list_steps(busy.steps)] == ["Whole turn", "Judge custom (local)"]
