"""Configurations of chatbots whose models are all the upstream that misbehaves."""

from pathlib import Path

import yaml

from tests.cli.upstream import write_prompt
from tests.faults.driver_upstream import Body

CONTACT = "Call 112."
SECTION = (
    "---\nid: sleep\ntitle: Sleep\nsummary: How much sleep helps.\nreferences: []\nreviewed_by: null\nreviewed_on: null\n---\n"
    "Most adults need seven to nine hours of sleep.\n"
)


def lay_out(folder: Path, config: Body) -> None:
    """Write a configuration, with the prompts of a judge of tone and a knowledge base for it to name."""
    (folder / "kb").mkdir(exist_ok=True)
    (folder / "kb" / "sleep.md").write_text(SECTION)
    for stage in ("swift", "chief"):
        write_prompt(folder / f"tone.{stage}.md", stage=stage)
    whole = {"privacy": {"path": "traces.db", "store": "full"}, "audit": {"folder": "audit"}, **config}
    (folder / "config.yaml").write_text(yaml.safe_dump(whole))


def models(port: int, **aliases: Body) -> Body:
    """Configure the models of the upstream on that port: those that every test needs, and more."""
    one = {"engine": "openai", "base_url": f"http://127.0.0.1:{port}/v1", "max_attempts": 1}
    usual: dict[str, Body] = {alias: {} for alias in ("chatbot", "retriever", "swift", "chief", "refiner")}
    return {alias: {**one, "model": f"up-{alias}", **more} for alias, more in {**usual, **aliases}.items()}


def guarded(**changes: object) -> Body:
    """Configure a chatbot whose every step asks a model."""
    return {
        "model": "chatbot",
        "role": "Answers questions about sleep.",
        "knowledge_base": "kb",
        "retrieval": {"selector": "retriever"},
        "judges": [{"name": "emergency", "stages": ["local"]}, {"prompts": ["tone.swift.md", "tone.chief.md"]}],
        "refiner": "refiner",
        "emergency": {"contact": CONTACT},
        **changes,
    }
