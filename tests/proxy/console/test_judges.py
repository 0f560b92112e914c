"""Judges on the console: evaluations that are there, one started, and what of them a key may see."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.console.conftest import Console, check_looks, console_config, serve_console
from tests.proxy.console.visitor import Granted, Visitor, serve_with_keys

CASE = {
    "id": "a", "judge": "role", "family": "stubborn", "expected": "reject", "verdict": "accept", "score": 0.2, "stage": "local",
    "repeat": 0, "skipped": False, "reason": "<script>alert(1)</script>", "ms": 1.0, "wrong": True, "tags": [],
    "user_message": "<img src=x onerror=alert(2)> \u202eabc\u200b", "reply": "[click](javascript:alert(3)) " + "word " * 40_000,
}  # fmt: skip


def figures(recall: float | None = 0.9) -> dict[str, Any]:
    return {
        "n": 20, "precision": 0.8, "precision_interval": [0.7, 0.9], "recall": recall, "recall_interval": [0.8, 0.95],
        "specificity": 1.0, "specificity_interval": None, "roc_auc": 0.95, "unjudged": 1, "skipped": 0, "ms_p50": 1.2,
        "ms_p95": 4000.0, "tokens_per_case": 12.0, "cost": None, "roc": [[0, 0], [0.1, 0.9], [1, 1]],
    }  # fmt: skip


def outcome(chatbot: str = "schizophrenia", started: float = 1_700_000_000.0, **changes: Any) -> str:
    about = {"subject": "local", "split": "dev", "data": [], "chatbot": chatbot, "started": started}
    judges = {"role": figures(), "source_fidelity": figures(None)}
    return json.dumps({"about": about, "judges": judges, "cases": [CASE, {**CASE, "wrong": False}], **changes})


@pytest.fixture
def folder(console: Console) -> Path:
    """The console's folder of evaluations, empty."""
    made = console.folder / "data/evaluations"
    made.mkdir(parents=True, exist_ok=True)
    for path in made.iterdir():
        path.unlink()
    return made


def test_an_evaluation_is_started_watched_and_read(console: Console, folder: Path) -> None:
    """From the form to the figures: the same as the command prints."""
    visitor = Visitor(console.url)
    form = {
        "csrf": visitor.csrf(),
        "chatbot": "schizophrenia",
        "stage": "local",
        "split": "dev",
        "limit": "3",
        "judge": "role",
    }
    status, _, headers = visitor.ask("POST", "/console/judges", form)
    assert status == 303
    place = headers["Location"]
    seen = set()
    for _ in range(600):
        page = visitor.ask("GET", f"{place}/progress")[1]
        seen.add("Reading" in page or "cases judged" in page)
        if "Finished." in page:
            break
        assert "stopped before it finished" not in page, page
        time.sleep(0.1)
    assert True in seen
    page = visitor.ask("GET", place)[1]
    assert "role" in page
    assert "Misjudged cases" in page
    assert place.rpartition("/")[2] in visitor.ask("GET", "/console/judges")[1]
    (kept,) = folder.glob("*.json")
    assert json.loads(kept.read_text())["about"]["subject"] == "local"
    assert kept.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "change",
    [
        {"stage": "rm -rf"},
        {"split": "x"},
        {"chatbot": "other"},
        {"limit": "many"},
        {"budget": "-1"},
        {"limit": "1e3"},
        {"judge": "nobody"},
        {"judge": "--config"},
        {"judge": "role\0"},
    ],
)
def test_a_form_that_says_something_else_starts_nothing(console: Console, folder: Path, change: dict[str, str]) -> None:
    """Its values become options of a command."""
    visitor = Visitor(console.url)
    form = {"csrf": visitor.csrf(), "chatbot": "schizophrenia", "stage": "local", "split": "dev", **change}
    assert visitor.ask("POST", "/console/judges", form)[0] == 400
    assert list(folder.iterdir()) == []


def test_a_judge_of_ones_own_can_be_chosen(tmp_path: Path) -> None:
    """The form names the judges that run, also those that the configuration gives by a class and no name."""
    (tmp_path / "no_prices.py").write_text(
        "class NoPrices:\n    name = 'no_prices'\n    async def judge(self, case): raise NotImplementedError\n"
    )
    config = console_config(tmp_path)
    config["chatbots"]["schizophrenia"]["judges"].append({"python": "no_prices:NoPrices"})
    with serve_console(tmp_path, config) as console:
        visitor = Visitor(console.url)
        status, page, _ = visitor.ask("GET", "/console/judges")
        form = {
            "csrf": visitor.csrf(), "chatbot": "schizophrenia", "stage": "local", "split": "dev",
            "limit": "1", "judge": "no_prices",
        }  # fmt: skip
        started = visitor.ask("POST", "/console/judges", form)[0]
    assert (status, started) == (200, 303)
    assert '<input type="checkbox" name="judge" value="no_prices">' in page


def test_one_that_fails_says_why(console: Console, folder: Path) -> None:
    """What the process printed is shown to who may start one."""
    (folder / "2026-01-01-000000.log").write_text("caf: judges.evaluation needs scipy: make lab")
    past = time.time() - 3600
    os.utime(folder / "2026-01-01-000000.log", (past, past))
    page = Visitor(console.url).ask("GET", "/console/judges/2026-01-01-000000")[1]
    assert "stopped before it finished" in page
    assert "make lab" in page


def test_a_number_that_is_another_programs_by_now_is_left_alone(console: Console, folder: Path) -> None:
    """An evaluation that was killed says a process's number for ever, and the system gives that to others."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "eval"]) as other:
        state = {"about": {"chatbot": "schizophrenia", "started": 1.0}, "done": 1, "total": 9, "process": other.pid}
        (folder / "killed.part").write_text(json.dumps(state))
        visitor = Visitor(console.url)
        assert "stopped before it finished" in visitor.ask("GET", "/console/judges/killed")[1]
        visitor.ask("POST", "/console/judges/killed/stop", {"csrf": visitor.csrf()})
        assert other.poll() is None
        other.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_one_that_has_ended_is_not_running_for_ever(console: Console, folder: Path) -> None:
    """The number of a process that nobody has waited for stays; so it is where the proxy is a container's first process."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    try:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        state = {"about": {"chatbot": "schizophrenia", "started": 1.0}, "done": 1, "total": 9, "process": ended.pid}
        (folder / "ended.part").write_text(json.dumps(state))
        assert "stopped before it finished" in Visitor(console.url).ask("GET", "/console/judges/ended")[1]
    finally:
        ended.wait()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"about": 1}', "\x00", outcome()[:-30]])
def test_a_damaged_file_is_said_to_be_one(console: Console, folder: Path, text: str) -> None:
    """The others are shown all the same."""
    (folder / "bad.json").write_text(text)
    (folder / "good.json").write_text(outcome())
    page = Visitor(console.url).ask("GET", "/console/judges")[1]
    assert ">Damaged<" in page
    assert "/console/judges/good" in page
    assert Visitor(console.url).ask("GET", "/console/judges/bad")[0] == 200


@pytest.mark.parametrize("name", ["..%2f..%2ftraces", "%2e%2e", "no-such", "a" * 200])
def test_no_other_file_can_be_read(console: Console, folder: Path, name: str) -> None:
    """A name is a name."""
    assert Visitor(console.url).ask("GET", f"/console/judges/{name}")[0] == 404


def test_a_key_sees_figures_of_its_chatbots_and_no_text(tmp_path: Path) -> None:
    """Texts of cases, which may be people's, need `trace`; starting one needs `admin`; another's chatbot is not there."""
    with serve_with_keys(tmp_path, {"staff": (("chat", "console"), None)}) as keyed:
        folder = keyed.console.folder / "data/evaluations"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "mine.json").write_text(outcome())
        (folder / "theirs.json").write_text(outcome("another"))
        visitor = keyed.visitor("staff")
        page = visitor.ask("GET", "/console/judges")[1]
        assert "mine" in page
        assert "theirs" not in page
        page = visitor.ask("GET", "/console/judges/mine")[1]
        assert "permission <code>trace</code>" in page
        assert not re.search("onerror|alert|word word", page)
        assert visitor.ask("GET", "/console/judges/theirs")[0] == 404
        assert visitor.ask("POST", "/console/judges", {"csrf": visitor.csrf(), "chatbot": "schizophrenia"})[0] == 403


def test_whose_judges_are_measured_is_known_from_the_beginning(tmp_path: Path) -> None:
    """What does not say of which chatbot it is, such as one that failed at once, is for keys that may ask every chatbot."""
    granted: Granted = {
        name: (("console", "trace", "admin"), chatbots)
        for name, chatbots in (("mine", ("schizophrenia",)), ("theirs", ("other",)), ("all", None))
    }
    with serve_with_keys(tmp_path, granted) as keyed:
        folder = keyed.console.folder / "data/evaluations"
        folder.mkdir(parents=True)
        (folder / "old.json").write_text(outcome().replace('"chatbot": "schizophrenia", ', ""))
        (folder / "cut.log").write_text("caf: a text")
        (folder / "bad.json").write_text("{")
        visitors = {name: keyed.visitor(name) for name in granted}
        form = {"chatbot": "schizophrenia", "stage": "local", "split": "dev", "limit": "1", "judge": "role"}
        mine = visitors["mine"]
        begun = mine.ask("POST", "/console/judges", {**form, "csrf": mine.csrf()})
        name = begun.headers["Location"].rpartition("/")[2]
        seen = {
            (who, one): visitor.get(f"/console/judges/{one}").status == 200
            for who, visitor in visitors.items()
            for one in (name, "old", "cut", "bad")
        }
        listed = {who: visitor.get("/console/judges").text for who, visitor in visitors.items()}
        assert [one for one, is_seen in seen.items() if is_seen] == [
            ("mine", name), ("all", name), ("all", "old"), ("all", "cut"), ("all", "bad"),
        ]  # fmt: skip
        assert {who: name in text for who, text in listed.items()} == {"mine": True, "theirs": False, "all": True}
        assert not any(f"/console/judges/{one}" in listed["mine"] for one in ("old", "cut", "bad"))
        until = time.monotonic() + 60
        while "Finished." not in mine.get(f"/console/judges/{name}/progress").text:
            assert time.monotonic() < until
            time.sleep(0.1)


def test_how_it_looks(console: Console, folder: Path, open_page: Any) -> None:
    """Side by side, and one with a hostile case, whose text is text."""
    for n in range(3):
        (folder / f"2026-11-2{n}-101500.json").write_text(outcome(started=1_700_000_000 + n * 86_400))
    page = open_page(f"{console.url}/console/judges")
    check_looks(page, "judges")
    page.get_by_role("link", name="2026-11-22-101500").first.click()
    page.get_by_role("heading", name="Misjudged cases").wait_for()
    assert page.locator("main script, main img, main a[href^=javascript]").count() == 0
    check_looks(page, "judges-one")


def test_by_keyboard_alone(console: Console, folder: Path, open_page: Any) -> None:
    """Compare two, open one, filter its cases, go back."""
    for n in range(2):
        (folder / f"2026-11-2{n}-101500.json").write_text(outcome(started=1_700_000_000 + n * 86_400))
    page = open_page(f"{console.url}/console/judges")
    page.keyboard.press("c")
    page.wait_for_url("**/judges?with=*")
    page.locator("table a").first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Misjudged cases").wait_for()
    page.wait_for_load_state()
    page.get_by_label("Error").focus()
    page.keyboard.type("missed")
    page.wait_for_url("**kind=missed*")
    page.locator("h1").click()
    page.keyboard.press("b")
    page.wait_for_url("**/console/judges")
