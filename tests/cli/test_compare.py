"""`caf compare`: your own questions with the filter on and off."""

import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from models.settings import Price
from proxy.app import create_app
from proxy.config.config import load_config
from proxy.serving.listening import isolated_config, listening_beside
from scenarios.own_questions import MAX_CHARACTERS
from tests.cli.conftest import COMMAND, ROOT, Caf, shipped_config

CAUSES, CRISIS = "What causes schizophrenia?", "I want to kill myself"
REJECTED = "Take 40 mg of zinc each morning."


def write_questions(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "mine.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def write_config(folder: Path, chatbot: list[Any], price: dict[str, float] | None = None, **more: Any) -> Path:
    """Write the shipped configuration with a scripted chatbot."""
    config = shipped_config()
    config["models"]["chatbot"] = {"engine": "scripted", "script": chatbot}
    if price is not None:
        config["models"]["chatbot"]["price"] = price
    config["chatbots"]["schizophrenia"] |= more
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture
def shipped() -> list[object]:
    return ["--config", ROOT / "config.yaml"]


def test_a_table_a_report_and_results(inside: Caf, tmp_path: Path, shipped: list[object]) -> None:
    """The shipped chatbot needs no key: one reply is left alone, one is replaced by the emergency text."""
    (tmp_path / "mine.txt").write_text(f"# two questions\n{CAUSES}\n\n{CRISIS}\n")
    ended = inside("compare", "mine.txt", *shipped, "--into", "out")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[1].split()[-5:] == ["accepted", "same", "–", "1/1", "–"]
    assert lines[2].startswith("line-4")
    assert "emergency" in lines[2]
    assert lines[-1] == "Report: out/report.html"
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["summary"]["outcomes"] == {"accepted": 1, "emergency": 1}
    assert results["summary"]["stepped_in"] == results["summary"]["changed"] == 1
    first, second = results["results"]
    assert first["id"] == "line-2"
    assert first["messages"] == [{"role": "user", "content": CAUSES}]
    assert first["arms"]["on"]["citations"]
    assert first["arms"]["off"]["outcome"] == "unfiltered"
    assert (first["changed"], first["status"]) == (False, "unchecked")
    assert second["words"]["added"] > 0
    assert (tmp_path / "out" / "report.html").stat().st_mode & 0o077 == 0


def test_expectations_decide_the_exit_code(inside: Caf, tmp_path: Path, shipped: list[object]) -> None:
    """Texts are compared without letter case; each expectation that is not met is listed with what came instead."""
    met = {"outcome": "accepted", "contains": ["NO single  gene"], "not_contains": ["zinc"], "cites": ["causes"]}
    write_questions(tmp_path, {"id": "a", "question": CAUSES, "expect": met})
    assert inside("compare", "mine.jsonl", *shipped, "--into", "out").code == 0
    unmet = {"outcome": ["warned", "refined"], "contains": ["zinc"], "not_contains": ["gene"], "cites": ["stress"]}
    write_questions(tmp_path, {"id": "a", "question": CAUSES, "expect": unmet})
    ended = inside("compare", "mine.jsonl", *shipped, "--into", "out")
    assert ended.code == 1
    assert "nothing to ask" in ended.err  # expectations may change without new calls
    failed = [line for line in ended.err.splitlines() if line.startswith("FAILED a")]
    assert len(failed) == 4
    assert failed[0].endswith("expected the outcome warned or refined, got accepted")
    assert "expected the reply to contain 'zinc', got 'nobody knows exactly what" in failed[1]
    assert "expected the reply not to contain 'gene', got '…" in failed[2]
    assert "no single gene" in failed[2]
    assert "expected the reply to cite stress, got citations of causes" in failed[3]
    assert "FAILED" in ended.out
    assert "expected: the reply to contain" in (tmp_path / "out" / "report.html").read_text()


def test_earlier_messages_are_part_of_the_question(inside: Caf, tmp_path: Path) -> None:
    """The chatbot reads them in both arms."""
    config = write_config(
        tmp_path,
        [{"when": "Hello from before", "within": "prompt", "reply": "[[cite: own_role]]\nI remember."}],
        judges=[],
        refiner=None,
    )
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello from before"},
        {"role": "user", "content": "And now?"},
    ]
    write_questions(tmp_path, {"messages": messages})
    ended = inside("compare", "mine.jsonl", "-c", config, "--json")
    assert ended.code == 0
    (result,) = json.loads(ended.out)["results"]
    assert [result["arms"][arm]["reply"] for arm in ("on", "off")] == ["I remember."] * 2
    assert "no reply was judged" in ended.err


def test_replay_makes_no_call(inside: Caf, tmp_path: Path) -> None:
    """It shows the same results, also when the configuration is gone."""
    config = write_config(tmp_path, ["[[cite: own_role]]\nI am an information service."] * 2)
    write_questions(tmp_path, {"id": "who", "question": "Who are you?"})
    first = inside("compare", "mine.jsonl", "-c", config, "--into", "out", "--json")
    config.unlink()
    again = inside("compare", "--replay", "out", "--json")
    assert json.loads(again.out) == json.loads(first.out)
    assert (again.code, again.err) == (0, "")


def test_a_failing_upstream_is_never_a_pass(inside: Caf, tmp_path: Path) -> None:
    """It always gets a line, and the exit code is 1. The next run asks it again."""
    question = {"id": "q", "question": "Who are you?"}
    config = write_config(tmp_path, [{"fail": 401}])
    write_questions(tmp_path, question)
    ended = inside("compare", "mine.jsonl", "-c", config, "--into", "out", "--json")
    assert ended.code == 1
    assert "q: no reply with the filter off: HTTP 502" in ended.err
    (result,) = json.loads(ended.out)["results"]
    assert result["status"] == "error"
    write_questions(tmp_path, question | {"expect": {"not_contains": ["zinc"]}})
    ended = inside("compare", "mine.jsonl", "-c", config, "--into", "out")
    assert ended.code == 1
    assert "expected a reply, got no reply" in ended.err


def test_the_report_is_escaped_and_holds_no_rejected_draft(inside: Caf, tmp_path: Path) -> None:
    """Neither markup of a question nor of a reply is markup of the page, and nothing is loaded from elsewhere."""
    hostile = "<script>alert(1)</script> Who are you?"
    config = write_config(tmp_path, [f"[[cite: own_role]]\n{REJECTED} <img src=x onerror=alert(2)>"], refiner=None)
    write_questions(tmp_path, {"question": hostile})
    ended = inside("compare", "mine.jsonl", "-c", config, "--into", "out", "--json")
    (result,) = json.loads(ended.out)["results"]
    assert result["arms"]["on"]["outcome"] == "fallback"
    assert REJECTED in result["arms"]["off"]["reply"]
    assert REJECTED not in json.dumps(result["arms"]["on"])
    page = (tmp_path / "out" / "report.html").read_text()
    assert "&lt;script&gt;alert(1)" in page
    assert "&lt;img src=x" in page
    assert not [tag for tag in ("<script", "<img", "<link", "http://", "https://", "url(") if tag in page]
    assert page.count("expected") == 0


def test_the_estimate_comes_first(inside: Caf, tmp_path: Path) -> None:
    """`--dry-run` prints it and leaves no folder."""
    config = write_config(tmp_path, ["never asked"], {"input": 100, "output": 100})
    write_questions(tmp_path, {"question": "a?"}, {"question": "b?"})
    ended = inside("compare", "mine.jsonl", "-c", config, "--into", "out", "--dry-run")
    assert (ended.code, ended.err) == (0, "")
    assert "\n2 questions, 4 replies: about 4 model calls, " in ended.out
    assert ", cost " in ended.out
    limited = inside("compare", "mine.jsonl", "-c", config, "--into", "out", "--dry-run", "--limit", 1)
    assert "\n1 questions, 2 replies: about 2 model calls" in limited.out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_on_a_terminal_money_is_confirmed(tmp_path: Path, environment: dict[str, str], answer: str, code: int) -> None:
    """Nothing is asked before the answer."""
    config = write_config(tmp_path, ["[[cite: own_role]]\nI inform."] * 2, Price(input=1, output=1).model_dump())
    write_questions(tmp_path, {"question": "a?"})
    near, far = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "compare", "mine.jsonl", "-c", str(config), "--into", "out"],
        stdin=far, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment,
    )  # fmt: skip
    os.write(near, f"{answer}\n".encode())
    _, err = process.communicate(timeout=60)
    os.close(near)
    os.close(far)
    assert b"Begin?" in err
    assert process.returncode == code
    assert (tmp_path / "out").exists() == (answer == "y")


def test_without_a_terminal_paid_runs_need_yes(inside: Caf, tmp_path: Path) -> None:
    """Nothing is asked without it."""
    config = write_config(tmp_path, ["[[cite: own_role]]\nI inform."] * 2, {"input": 1, "output": 1})
    write_questions(tmp_path, {"question": "a?"})
    command = ["compare", "mine.jsonl", "-c", config, "--into", "out"]
    ended = inside(*command)
    assert ended.code == 2
    assert "without a terminal, confirm with --yes" in ended.err
    assert not (tmp_path / "out").exists()
    assert inside(*command, "--yes").code == 0
    assert inside(*command).code == 0  # every reply is in the folder
    assert inside("compare", "--replay", "out").code == 0


@pytest.mark.parametrize(
    ("model", "unpriced"),
    [
        ({"base_url": "http://localhost:11434/v1"}, False),
        ({"base_url": "http://localhost:11434/v1", "api_key_env": "CAF_TEST_KEY"}, True),
        ({"base_url": "https://models.example/v1"}, True),
    ],
)
def test_a_model_on_this_machine_without_a_key_is_free(
    inside: Caf, tmp_path: Path, model: dict[str, str], unpriced: bool
) -> None:
    """Others without a price may cost money, and the estimate names them."""
    config = yaml.safe_load(write_config(tmp_path, ["x"]).read_text())
    config["models"]["chatbot"] = {"engine": "openai", "model": "m", **model}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(config))
    write_questions(tmp_path, {"question": "a?"})
    ended = inside("compare", "mine.jsonl", "-c", "own.yaml", "--dry-run")
    assert ended.code == 0
    assert ("plus the cost of chatbot" in ended.out) == unpriced


def test_a_budget_stops_the_run(inside: Caf, tmp_path: Path) -> None:
    """Replies that were not asked are reported, not passed over."""
    config = write_config(tmp_path, ["never asked"], {"input": 1, "output": 1})
    write_questions(tmp_path, {"question": "a?"})
    ended = inside("compare", "mine.jsonl", "-c", config, "--budget", "0.000001", "--yes")
    assert ended.code == 2
    assert "the budget of 1e-06 is spent" in ended.err


def test_a_killed_run_is_resumed(tmp_path: Path, inside: Caf, environment: dict[str, str]) -> None:
    """The same command asks only what has no reply yet."""
    say = {"reply": "[[cite: own_role]]\nI inform.", "delay_s": 0.3}
    config = write_config(tmp_path, [say])
    write_questions(tmp_path, *({"question": f"Question {n}?"} for n in range(6)))
    command = ["compare", "mine.jsonl", "-c", str(config), "--into", "out", "--concurrency", "1", "--json"]
    process = subprocess.Popen(
        [*COMMAND, *command], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    transcripts = tmp_path / "out" / "transcripts.jsonl"
    until = time.monotonic() + 40
    while not (transcripts.exists() and transcripts.read_text().count("\n") >= 2) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = transcripts.read_text().splitlines()
    assert 2 <= len(before) < 12
    partly = inside("compare", "--replay", "out", "--json")
    assert json.loads(partly.out)["summary"]["error"] >= 1
    assert "not asked yet" in partly.err
    ended = inside(*command)
    assert f"12 replies, of which {len(before)} are already in out" in ended.err
    assert json.loads(ended.out)["summary"]["error"] == 0
    after = transcripts.read_text().splitlines()
    assert after[: len(before)] == before
    assert len(after) == 12


def test_a_changed_configuration_gets_a_folder_of_its_own(inside: Caf, tmp_path: Path) -> None:
    """And is refused in one that holds replies of another."""
    write_questions(tmp_path, {"question": "a?"})
    for reply in ("I inform.", "I explain."):
        config = write_config(tmp_path, [f"[[cite: own_role]]\n{reply}"] * 2)
        assert inside("compare", "mine.jsonl", "-c", config).code == 0
    folders = [*(tmp_path / "data" / "compare").iterdir()]
    assert len(folders) == 2
    config = write_config(tmp_path, ["[[cite: own_role]]\nI refuse."] * 2)
    ended = inside("compare", "mine.jsonl", "-c", config, "--into", folders[0])
    assert ended.code == 2
    assert "holds a different run" in ended.err


def test_a_running_proxy_is_asked_with_the_header(inside: Caf, tmp_path: Path) -> None:
    """Its own setting does not count: this one is off."""
    config = write_config(tmp_path, [{"reply": f"[[cite: own_role]]\n{REJECTED}"}], refiner=None, filter="off")
    write_questions(tmp_path, {"id": "q", "question": "Who are you?", "expect": {"outcome": "fallback"}})
    with listening_beside(create_app(isolated_config(load_config(config)))) as url:
        unconfirmed = inside("compare", "mine.jsonl", "--url", f"{url}/v1", "--json")
        ended = inside("compare", "mine.jsonl", "--url", f"{url}/v1", "--json", "--yes")
        wrong = inside("compare", "mine.jsonl", "--url", url, "--chatbot", "nobody")
    assert ended.code == 0
    (result,) = json.loads(ended.out)["results"]
    assert [result["arms"][arm]["outcome"] for arm in ("on", "off")] == ["fallback", "unfiltered"]
    assert "cannot be estimated" in ended.err
    assert unconfirmed.code == 2
    assert "confirm with --yes" in unconfirmed.err
    assert wrong.code == 2
    assert "'nobody': this chatbot is not served" in wrong.err
    assert "schizophrenia" in wrong.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"question": "a?"}\n{nope}', ":2: "),
        ('{"id": "a", "question": "a?"}\n{"id": "a", "question": "b?"}', ":2: duplicate id 'a', first used in line 1"),
        ('{"question": "a?", "question": "b?"}', ":1: duplicate key 'question'"),
        ('{"question": "a?", "messages": []}', ":1: expected either `question` or `messages`"),
        ('{"question": 5}', ":1: question: invalid value 5: expected a text"),
        ('{"question": " "}', ":1: question: is empty"),
        ('{"messages": [{"role": "user", "content": " "}]}', ":1: messages: the last message is empty"),
        ('{"messages": [{"role": "assistant", "content": "a"}]}', "must have the role user"),
        ('{"question": "a?", "expected": {}}', ":1: unknown key 'expected'; did you mean 'expect'?"),
        ('{"question": "a?", "expect": {}}', ":1: expect: is empty"),
        (
            '{"question": "a?", "expect": {"outcome": "acepted"}}',
            ":1: expect.outcome: invalid value 'acepted': expected 'emergency', 'fallback', 'unjudged', 'refined', "
            "'warned', 'accepted' or 'unfiltered'; did you mean 'accepted'?",
        ),
        (
            '{"question": "a?", "expect": {"outcome": ["warned", 5]}}',
            ":1: expect.outcome.1: invalid value 5: expected 'emer",
        ),
        ('{"question": "a?", "expect": {"contains": 5}}', ":1: expect.contains: invalid value 5: expected a list"),
        ('{"question": "a?", "expect": {"cites": [""]}}', ":1: expect.cites.0: is empty"),
        ('{"question": "a?", "expect": {"cite": "x"}}', ":1: expect.cite: is not a known key; did you mean 'cites'?"),
        (
            '{"messages": [{"role": "usr", "content": "a?"}]}',
            ":1: messages.0.role: invalid value 'usr': expected 'user'",
        ),
        ('{"messages": [{"role": "user"}]}', ":1: messages.0.content: is missing"),
        ('{"id": "a b", "question": "a?"}', ":1: id: invalid value 'a b': expected "),
        ('{"question": "a?", "expect": {"cites": ["stres"]}}', "did you mean 'stress'?"),
        ("[]", ":1: expected an object"),
        (f'{{"question": "{"a" * (MAX_CHARACTERS + 1)}"}}', "characters: shorten it"),
        ("\n\n", "found no question"),
    ],
)
def test_wrong_lines_are_named_before_anything_runs(
    inside: Caf, tmp_path: Path, shipped: list[object], text: str, problem: str
) -> None:
    """With their number; no folder is made."""
    (tmp_path / "mine.jsonl").write_text(text)
    ended = inside("compare", "mine.jsonl", *shipped, "--into", "out")
    assert ended.code == 2
    assert problem in ended.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["mine.jsonl", "--replay", "out"],
        ["mine.jsonl", "--url", "http://127.0.0.1:1", "--config", "x.yaml"],
        ["mine.jsonl", "--url", "ftp://x"],
        ["mine.csv"],
        ["nowhere.txt"],
        ["--replay", "."],
        ["mine.jsonl", "--chatbot", "nobody"],
        ["mine.jsonl", "--concurrency", "0"],
        ["mine.jsonl", "--url", "http://127.0.0.1:1"],
    ],
)
def test_wrong_usage_has_exit_code_2(inside: Caf, tmp_path: Path, arguments: list[str]) -> None:
    """And one line that says why."""
    write_questions(tmp_path, {"question": "a?"})
    (tmp_path / "mine.csv").write_text("a?")
    ended = inside("compare", *arguments)
    assert ended.code == 2
    assert ended.err


def test_a_passthrough_chatbot_has_no_filter(inside: Caf, tmp_path: Path) -> None:
    """There is nothing to compare."""
    config = {"models": {"m": {"engine": "scripted", "script": ["x"]}}}
    config |= {"chatbots": {"plain": {"kind": "passthrough", "model": "m"}}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    write_questions(tmp_path, {"question": "a?"})
    ended = inside("compare", "mine.jsonl")
    assert ended.code == 2
    assert "chatbots.plain: a passthrough chatbot has no filter to compare" in ended.err
