"""A small experiment on a small configuration, with a question and a checkpoint of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

SECTION = (
    "---\nid: causes\ntitle: Causes\nsummary: Answers what causes it.\n---\nNobody knows exactly what causes it.\n"
)
CHECKPOINT = {
    "name": "dietician-1",
    "chatbot": "bot",
    "facilitator": "dietician",
    "created": "2026-11-21T10:00:00Z",
    "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day."}],
}
QUESTION = {
    "id": "q-1",
    "kind": "single",
    "text": "What causes it?",
    "answerable": "full",
    "sections": ["causes"],
    "key_points": ["Nobody knows."],
}
CONFIG = {
    "models": {"m": {"engine": "embedded"}},
    "chatbots": {
        "bot": {
            "model": "m",
            "role": "Answers questions.",
            "knowledge_base": "sections",
            "judges": [{"name": "emergency", "stages": ["local"]}],
            "emergency": {"contact": "Call 112."},
            "refiner": "local",
        }
    },
}
EXPERIMENT = {
    "name": "try",
    "config": "config.yaml",
    "chatbot": "bot",
    "facilitators": ["dietician"],
    "checkpoint_folder": "starts",
    "questions": ["asked"],
    "samples": 1,
    "turns": 1,
}


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Write the experiment with changes, and all that it names."""

    def write(
        checkpoint: dict[str, Any] | None = None,
        question: dict[str, Any] | None = None,
        asked_of: str = "bot",
        config: dict[str, Any] | None = None,
        **changes: Any,
    ) -> Path:
        for name in ("sections", "starts", "asked"):
            (tmp_path / name).mkdir()
        (tmp_path / "sections" / "causes.md").write_text(SECTION)
        asked = {"theme": "causes", "chatbot": asked_of, "questions": [QUESTION | (question or {})]}
        for file, data in {
            "starts/dietician-1.yaml": CHECKPOINT | (checkpoint or {}),
            "asked/causes.yaml": asked,
            "config.yaml": CONFIG | (config or {}),
            "try.yaml": EXPERIMENT | changes,
        }.items():
            (tmp_path / file).write_text(yaml.safe_dump(data))
        return tmp_path / "try.yaml"

    return write
