"""Custom judges in a running proxy: Python classes and guard models."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from proxy.app import create_app
from proxy.config.blueprint import assemble
from proxy.config.config import ConfigError, parse_config
from tests.proxy.conftest import HELLO, Body, Start, bot_settings, text_of

pytestmark = pytest.mark.usefixtures("imports_of_its_own")

DOCS = Path(__file__).parents[3] / "docs" / "custom_judges.md"
PRICED = "[[cite: no_claims]]\nHello, it costs €20."


def section(heading: str) -> dict[str, str]:
    """Return the blocks of a section of docs/custom_judges.md by their language."""
    text = DOCS.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL))


def write(folder: Path, body: str, name: str = "own_rules") -> None:
    """Write a module with a judge whose `judge` has this body."""
    (folder / f"{name}.py").write_text(
        "from judges.verdict import Finding\n\n\nclass Own:\n    name = 'own'\n    def __init__(self, word='€'): self.word = word\n"
        f"    async def judge(self, case):\n        {body}\n"
    )


REJECTS = "return Finding('reject', reason=f'says {self.word}') if self.word in case.draft else Finding('accept')"


async def test_the_example_of_the_docs_runs(start: Start, tmp_path: Path) -> None:
    """The documented example rejects prices and accepts everything else."""
    blocks = section("In Python")
    (tmp_path / "my_rules.py").write_text(blocks["python"])
    proxy = await start(refiner=None, **yaml.safe_load(blocks["yaml"]))
    proxy.upstream.answer = lambda body: HELLO
    judges = (await proxy.say("Hi"))["caf"]["judges"]
    assert [(j["name"], j["stage"], j["verdict"]) for j in judges][1:] == [("no_prices", "swift", "accept")]
    proxy.upstream.answer = lambda body: PRICED
    reply = await proxy.say("Hi")
    assert reply["caf"]["outcome"] == "fallback"
    assert reply["caf"]["judges"][1]["reason"] == "The reply did not meet a rule of this chatbot."
    assert "€" not in str(reply)


@pytest.mark.parametrize(("on_error", "outcome"), [("closed", "fallback"), ("open", "unjudged")])
@pytest.mark.parametrize(
    "body", ["raise ValueError(case.draft)", "return True", "import asyncio; await asyncio.sleep(30)"]
)
async def test_a_class_that_fails_follows_its_failure_policy(
    start: Start, tmp_path: Path, body: str, on_error: str, outcome: str
) -> None:
    """A custom judge has `on_error` like any other judge."""
    write(tmp_path, body)
    proxy = await start(judges=[{"python": "own_rules:Own", "on_error": on_error, "timeout_s": 0.1}])
    proxy.upstream.answer = lambda body: HELLO
    reply = await proxy.say("Hi")
    assert reply["caf"]["outcome"] == outcome
    assert [(j["name"], j["verdict"], j["reason"]) for j in reply["caf"]["judges"]] == [
        ("own", "unjudged", "The reply could not be judged.")
    ]


async def test_what_it_rejects_is_refined_and_judged_again(start: Start, tmp_path: Path) -> None:
    """The refiner gets the judge's reason, the chatbot the rule's fixed text."""
    write(tmp_path, REJECTS)
    proxy = await start(judges=[{"python": "own_rules:Own"}], refiner="refiner")
    proxy.upstream.answer = lambda body: HELLO if body["model"] == "up-refiner" else PRICED
    reply = await proxy.say("Hi")
    assert (text_of(reply), reply["caf"]["outcome"]) == ("Hello.", "refined")
    assert [w["rule"] for w in reply["caf"]["warnings"]] == ["custom"]
    assert "says €" in proxy.upstream.requests[-1]["messages"][1]["content"]


def problems(tmp_path: Path, *judges: Body) -> list[str]:
    data = {
        "models": {"chatbot": {"engine": "embedded"}},
        "chatbots": {"bot": bot_settings(knowledge_base=None, judges=[*judges])},
    }
    with pytest.raises(ConfigError) as caught:
        assemble(parse_config(data, tmp_path / "config.yaml"))
    return caught.value.problems


@pytest.mark.parametrize(
    ("judge", "told"),
    [
        ({"python": "own_rules"}, "judges.0.python: expected MODULE:CLASS, as in my_rules:NoPrices (got 'own_rules')"),
        ({"python": "../own_rules:Own"}, "expected MODULE:CLASS, as in"),
        ({"python": "own_rules:Own", "stages": ["swift"], "name": "role"}, "a judge with `python` takes no name, stages"),
        ({"name": "role", "settings": {"a": 1}}, "`settings` needs `python`"),
        ({"python": "own_rules:Gone"}, 'judges[0].python: "own_rules:Gone": module own_rules has no class Gone; it has Own'),
        ({"python": "gone_rules:Own"}, 'chatbots.bot.judges[0].python: "gone_rules:Own": module gone_rules not found'),
        ({"python": "own_rules:Own", "settings": {"word": 1, "n": 2}}, "an instance of Own with the settings word, n: TypeError"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told_with_its_key(tmp_path: Path, judge: Body, told: str) -> None:
    """The message names the setting and the expected value."""
    write(tmp_path, REJECTS)
    assert told in "\n".join(problems(tmp_path, judge))


def test_a_class_has_no_name_of_ours_and_none_twice(tmp_path: Path) -> None:
    """Scenarios, metrics and traces identify a judge by its name."""
    write(tmp_path, REJECTS)
    (tmp_path / "our_rules.py").write_text((tmp_path / "own_rules.py").read_text().replace("'own'", "'emergency'"))
    found = problems(tmp_path, {"python": "own_rules:Own"}, {"python": "own_rules:Own"}, {"python": "our_rules:Own"})
    assert "chatbots.bot.judges: the judge 'own' is listed twice; keep one entry" in found
    assert any("'emergency' is a built-in judge; give yours another `name`" in one for one in found)


async def test_another_class_is_another_configuration(tmp_path: Path) -> None:
    """The audit log's configuration hash includes the classes' source."""
    from proxy.audit.records import fingerprint

    def found() -> str:
        config = parse_config(
            {
                "models": {"chatbot": {"engine": "embedded"}},
                "chatbots": {"bot": bot_settings(knowledge_base=None, judges=[{"python": "own_rules:Own"}])},
            },
            tmp_path / "config.yaml",
        )
        create_app(config)
        return fingerprint(config, assemble(config))

    write(tmp_path, REJECTS)
    before = found()
    assert found() == before
    del sys.modules["own_rules"]
    write(tmp_path, "return Finding('accept')")
    assert found() != before


def test_the_guard_model_of_the_docs_is_one(tmp_path: Path) -> None:
    """The documented file and configuration are valid."""
    blocks = section("A guard model")
    (tmp_path / "judges").mkdir()
    (tmp_path / "judges" / "hazards.md").write_text(blocks["markdown"])
    shown = yaml.safe_load(blocks["yaml"])
    bot = bot_settings(knowledge_base=None, **shown["chatbots"]["bot"])
    data = {"models": {"chatbot": {"engine": "embedded"}, **shown["models"]}, "chatbots": {"bot": bot}}
    built = assemble(parse_config(data, tmp_path / "config.yaml"))["bot"]
    assert "llama_guard" in built.aliases
    [guard] = [plan.prompts["swift"].guard for plan in built.plans if plan.name == "hazards"]
    assert guard is not None
    assert (guard.format, guard.threshold) == ("llama_guard", 0.3)


GUARD = "---\nname: hazards\nstage: swift\nmodel: swift\nobservation: guard\nformat: llama_guard\n---\n"


@pytest.mark.parametrize(
    ("said", "outcome"), [("safe", "accepted"), ("unsafe\nS6", "fallback"), ("Sorry, no.", "fallback")]
)
async def test_a_guard_model_judges_replies(start: Start, tmp_path: Path, said: str, outcome: str) -> None:
    """Unsafe and unreadable verdicts are not delivered, and users do not see the guard model's answer."""
    (tmp_path / "hazards.md").write_text(GUARD)
    proxy = await start(judges=["hazards.md"], refiner=None)
    proxy.upstream.answer = lambda body: said if body["model"] == "up-swift" else HELLO
    reply = await proxy.say("Hi")
    assert reply["caf"]["outcome"] == outcome
    assert [m["content"] for m in proxy.upstream.requests[-1]["messages"]] == ["Hi", "Hello."]
    assert "S6" not in str(reply)


async def test_a_judgement_says_whether_message_or_reply_could_not_be_judged(start: Start) -> None:
    """With Greek text, the emergency judge cannot read the message, other judges cannot read the reply."""
    judges: list[Any] = [{"name": name, "stages": ["local"], "on_error": "open"} for name in ("emergency", "role")]
    proxy = await start(judges=judges)
    proxy.upstream.answer = lambda body: "[[cite: no_claims]]\nΚαλημέρα σας, τι κάνετε σήμερα το πρωί;"
    reply = await proxy.say("Καλημέρα, θα ήθελα να μάθω κάτι για τον ύπνο μου.")
    assert [(j["name"], j["reason"]) for j in reply["caf"]["judges"]] == [
        ("emergency", "The user's message could not be judged."),
        ("role", "The reply could not be judged."),
    ]
