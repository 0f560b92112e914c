"""The evaluator of docs/guidelines.md: another chatbot, on another server, judged by a prompt for each guideline."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from typer.testing import CliRunner

from cli.main import app
from proxy.serving.listening import listening_beside

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "scenarios" / "guidelines"
SCENARIOS = yaml.safe_load((FOLDER / "replies.yaml").read_text("utf-8"))["scenarios"]
REJECTED = {
    "crisis": ("leads to help from people", ("between us", "very organised")),
    "diagnosis": ("it does not diagnose", ("depressive episode", "panic disorder")),
    "dosing": ("no instructions on medicines", ("mg", "half of it")),
    "empathy": ("with respect and warmth", ("Pull yourself together",)),
    "sources": ("have a source", ("Studies prove", "guideline")),
}
"""By guideline: words of its prompt, and what the scripted judge rejects. It is wrong on purpose on empathy and sources."""
SAYS = {"letters": "It stays between us.", "Sunday": "It stays between us.", "dog": "Call 112.", "take": "Try 20 mg."}


def verdict(guideline: str, reply: str) -> str:
    return "reject" if any(word in reply for word in REJECTED[guideline][1]) else "accept"


def documented() -> list[list[str]]:
    """Return the commands of the page, with continued lines joined."""
    page = (ROOT / "docs" / "guidelines.md").read_text("utf-8").replace("\\\n", " ")
    return [one.split()[1:] for one in page.splitlines() if one.startswith("    caf ")]


def test_documented_commands_report_each_guideline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chatbot and judges are a server on loopback; verdicts and shares of each guideline equal a count by hand."""
    said, asked = list[str](), list[list[str]]()

    async def complete(request: web.Request) -> web.Response:
        body = await request.json()
        first, *_, last = (message["content"] for message in body["messages"])
        if body["model"] == "support-bot":
            content = next((reply for word, reply in SAYS.items() if word in last), "That sounds hard. What helps?")
            asked.append([message["role"] for message in body["messages"]])
            said.append(content)
        else:
            (name,) = (name for name, (words, _) in REJECTED.items() if words in first)
            content = json.dumps({"verdict": verdict(name, json.loads(last)["reply"]), "reason": "scripted"})
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        return web.json_response({"id": "c", "object": "chat.completion", "choices": [choice]})

    server = web.Application()
    server.router.add_post("/v1/chat/completions", complete)
    path = Path(shutil.copytree(FOLDER, tmp_path / "scenarios" / "guidelines")) / "config.yaml"
    monkeypatch.chdir(tmp_path)
    assert [one[0] for one in documented()] == ["check", "judges", "drift", "drift", "scenario", "judges"]
    out = {}
    with listening_beside(server) as address:
        config = yaml.safe_load(path.read_text("utf-8"))
        for alias in ("other", "chief"):
            config["models"][alias] |= {"base_url": f"{address}/v1", "api_key_env": None}
        path.write_text(yaml.safe_dump(config), "utf-8")
        for arguments in documented():
            done = CliRunner().invoke(app, [*arguments, *(["--json"] if arguments[0] == "judges" else [])])
            assert done.exit_code == 0, done.output
            out[Path(arguments[-1]).name] = done.stdout
    measured = json.loads(out["replies.yaml"])["judges"]
    summary = json.loads(Path("runs/guidelines/summary.json").read_text("utf-8"))
    counts = {one["judge"]: one for one in summary["arms"]["judged"]["judges"]}
    assert len(said) == 2 * 2 * 3 * 5
    for name in REJECTED:
        labelled = [one for one in SCENARIOS if name in one["expect"]]
        rows = [("accept" in one["expect"][name], verdict(name, one["response"])) for one in labelled]
        flagged = [one != "accept" for fine, one in rows if not fine]
        passed = [one == "accept" for fine, one in rows if fine]
        assert measured[name]["recall"] == pytest.approx(sum(flagged) / len(flagged))
        assert measured[name]["specificity"] == pytest.approx(sum(passed) / len(passed))
        expected = Counter(verdict(name, reply) for reply in said[: 2 * 3 * 5])
        assert (counts[name]["accept"], counts[name]["reject"]) == (expected["accept"], expected["reject"])
        assert name in Path("runs/guidelines/report.html").read_text("utf-8")
    assert measured["empathy"]["recall"] == 0.5
    assert min(counts["dosing"]["reject"], counts["crisis"]["reject"]) > 0
    assert [one for one in asked if len(one) == 3] == [["user", "assistant", "user"]] * 12, "no instructions of ours"
    listed = sorted((case["judge"], case["id"], case["verdict"]) for case in json.loads(out["replies.jsonl"])["cases"])
    replies = [json.loads(line) for line in Path("runs/replies.jsonl").read_text("utf-8").splitlines()]
    assert listed == sorted((name, row["id"], verdict(name, row["response"])) for name in REJECTED for row in replies)


def test_each_guideline_has_a_prompt_and_labels_of_both_kinds() -> None:
    """A prompt that is not configured, or without labels of both kinds, measures nothing."""
    config = yaml.safe_load((FOLDER / "config.yaml").read_text("utf-8"))
    prompts = {name for judge in config["chatbots"]["other"]["judges"] for name in judge["prompts"]}
    assert prompts == {path.name for path in FOLDER.glob("*.md")} == {f"{name}.md" for name in REJECTED}
    for name in REJECTED:
        assert {"accept" in one["expect"][name] for one in SCENARIOS if name in one["expect"]} == {True, False}, name
