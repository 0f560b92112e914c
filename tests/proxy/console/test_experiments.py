"""Experiments on the console: runs that are there, and what of them a key may see."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.console.conftest import ROOT, Console, check_looks
from tests.proxy.console.visitor import Visitor, serve_with_keys

HOSTILE = "<script>alert(1)</script> [x](javascript:alert(2)) \u202ecba\u200b"


def exchange(arm: str, turn: int, reply: str = "A calm reply.") -> dict[str, Any]:
    place = {"arm": arm, "facilitator": "dietician", "checkpoint": "dietician-1", "sample": 0, "turn": turn}
    verdicts = [{"judge": "role", "stage": "local", "verdict": "reject", "reason": HOSTILE}]
    attempts = [{"kind": "draft", "text": HOSTILE, "verdicts": verdicts}]
    return {"place": place, "user_message": f"Turn {turn}", "reply": reply, "outcome": "refined", "attempts": attempts}


@pytest.fixture
def runs(console: Console) -> Path:
    """The console's folder of runs: one published, one finished with transcripts, one under way, one damaged."""
    return fill(console.folder / "data/runs")


def fill(folder: Path) -> Path:
    if folder.exists():
        shutil.rmtree(folder)
    for name in ("hurried", "ordinary"):
        shutil.copytree(ROOT / "docs/experiments" / name, folder / name)
    manifest = json.loads((folder / "hurried/manifest.json").read_text())
    whole = folder / "whole"
    shutil.copytree(folder / "hurried", whole)
    lines = [exchange(arm, turn, HOSTILE + "word " * 4000 * (turn == 1)) for turn in (1, 2) for arm in ("on", "off")]
    (whole / "transcripts.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"place"')
    ratings = [
        {
            "place": line["place"],
            "rater": "r",
            "score": 4 if line["place"]["arm"] == "on" else line["place"]["turn"] * 2,
        }
        for line in lines
    ]
    (whole / "ratings.jsonl").write_text("\n".join(map(json.dumps, ratings)))
    (whole / "rating").mkdir()
    (whole / "rating/rating-anna.html").write_text("<p>rate</p>")
    under_way = folder / "under-way"
    under_way.mkdir()
    (under_way / "manifest.json").write_text(json.dumps({**manifest, "planned": 72}))
    (under_way / "transcripts.jsonl").write_text(
        "\n".join(json.dumps(exchange("on", turn)) for turn in range(1, 10)) + "\n"
    )
    damaged = folder / "damaged"
    damaged.mkdir()
    (damaged / "manifest.json").write_text(json.dumps(manifest))
    (damaged / "summary.json").write_text('{"arms": {"on": {"n": 3}}, "benign": {}, "treated": "on"}')
    (folder / "no-run").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken/manifest.json").write_text("{")
    return folder


def test_runs_are_listed_with_their_figures(console: Console, runs: Path) -> None:
    """What is no run is left out; what is damaged is said to be, with the reason."""
    page = Visitor(console.url).ask("GET", "/console/experiments")[1]
    assert "no-run" not in page
    assert "manifest.json: not valid JSON" in page
    assert "summary.json: arms.on.unscored: is missing" in page
    assert "/console/experiments/broken" not in page
    for name in ("hurried", "ordinary", "whole", "under-way", "damaged"):
        assert f"/console/experiments/{name}" in page
    arms = json.loads((runs / "hurried/summary.json").read_text())["arms"]
    for arm in ("off", "on"):
        assert f"<b>{arms[arm]['acceptable']:.0%}</b>".replace("%", " %") in page


def test_one_under_way_says_how_far_it_is(console: Console, runs: Path) -> None:
    """And how to go on with it."""
    page = Visitor(console.url).ask("GET", "/console/experiments/under-way/progress")[1]
    assert "9 of 72 replies" in page
    assert 'value="9"' in page
    assert "data-refresh" in page


def test_exchanges_stand_side_by_side(console: Console, runs: Path) -> None:
    """The baseline first; filtered; a line that was cut off is passed over."""
    visitor = Visitor(console.url)
    page = visitor.ask("GET", "/console/experiments/whole/exchanges")[1]
    assert "2 exchanges" in page
    assert page.index("<b>off</b>") < page.index("<b>on</b>")
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "⟦U+202E⟧" in page
    assert "1 exchange." in visitor.ask("GET", "/console/experiments/whole/exchanges?turn=2")[1]
    assert "Turn 1" in visitor.ask("GET", "/console/experiments/whole/exchanges?differ=1")[1]
    assert "Turn 2" not in visitor.ask("GET", "/console/experiments/whole/exchanges?differ=1")[1]
    assert visitor.ask("GET", "/console/experiments/whole/exchanges?page=-1&turn=x")[0] == 200


def test_the_report_runs_nothing_and_the_rating_page_is_a_file(console: Console, runs: Path) -> None:
    """Both hold texts of models."""
    visitor = Visitor(console.url)
    status, page, headers = visitor.ask("GET", "/console/experiments/whole/report")
    assert (status, "sandbox" in headers["Content-Security-Policy"]) == (200, True)
    assert "does the filter help?" in page
    status, page, headers = visitor.ask("GET", "/console/experiments/whole/rating/rating-anna.html")
    assert (status, page) == (200, "<p>rate</p>")
    assert headers["Content-Disposition"].startswith("attachment")


@pytest.mark.parametrize(
    "path", ["..", "%2e%2e%2fruns", "whole/rating/..%2fmanifest.json", "whole/rating/key-anna.json", "no-run", "broken"]
)
def test_no_other_file_can_be_read(console: Console, runs: Path, path: str) -> None:
    """Only runs, and of them only what is meant to be looked at."""
    (runs / "whole/rating/key-anna.json").write_text("{}")
    assert Visitor(console.url).ask("GET", f"/console/experiments/{path}")[0] == 404


def test_a_key_sees_figures_and_no_text(tmp_path: Path) -> None:
    """Replies, report and rating pages need `trace`."""
    fill(tmp_path / "data/runs")
    with serve_with_keys(tmp_path, {"staff": (("chat", "console"), None)}) as keyed:
        visitor = keyed.visitor("staff")
        page = visitor.ask("GET", "/console/experiments/whole")[1]
        assert "need the permission <code>trace</code>" in page
        for path in ("exchanges", "report", "rating/rating-anna.html"):
            status, page, _ = visitor.ask("GET", f"/console/experiments/whole/{path}")
            assert (status, "alert(" in page) == (403, False)


def test_how_it_looks(console: Console, runs: Path, open_page: Any) -> None:
    """The list, a run, what was said in it."""
    page = open_page(f"{console.url}/console/experiments")
    check_looks(page, "experiments")
    page.goto(f"{console.url}/console/experiments/whole")
    check_looks(page, "experiments-run")
    page.goto(f"{console.url}/console/experiments/whole/exchanges")
    assert page.locator("main script, main a[href^=javascript]").count() == 0
    check_looks(page, "experiments-exchanges")


def test_by_keyboard_alone(console: Console, runs: Path, open_page: Any) -> None:
    """Open the newest, its exchanges, and back."""
    page = open_page(f"{console.url}/console/experiments/whole")
    page.keyboard.press("e")
    page.wait_for_url("**/exchanges")
    page.keyboard.press("b")
    page.wait_for_url("**/whole")
    page.keyboard.press("b")
    page.wait_for_url("**/experiments")
    page.keyboard.press("o")
    page.wait_for_url("**/experiments/*")
