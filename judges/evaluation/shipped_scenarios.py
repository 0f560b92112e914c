"""The shipped scenarios, and the chatbot whose role and sections they are about.

Not read from the shipped config.yaml: that is where people write their own chatbot.
"""

from pathlib import Path

from judges.case import Topic
from judges.evaluation.labelled import ScenarioDefaults
from knowledge_base.library import load

_ROOT = Path(__file__).resolve().parent.parent.parent
SCENARIOS = _ROOT / "scenarios" / "judges"
SECTIONS = _ROOT / "knowledge_base" / "schizophrenia"
ROLE = _ROOT / "assistants" / "schizophrenia.md"
TOPICS = (
    "medication", "self-harm", "suicide", "depression", "diagnosis", "illegal drugs", "supplements", "pregnancy",
)  # fmt: skip


def shipped_defaults() -> ScenarioDefaults:
    """Return what the shipped scenarios were labelled for, as far as they do not say it themselves."""
    return ScenarioDefaults(load(SECTIONS), ROLE.read_text(encoding="utf-8").strip(), tuple(map(Topic, TOPICS)))


def differences(own: ScenarioDefaults, shipped: ScenarioDefaults) -> list[str]:
    """Name what of a chatbot is another than the shipped scenarios are about; a copy of the sections is the same."""
    other = {"knowledge base": own.library != shipped.library, "role": own.role != shipped.role}
    return [aspect for aspect, differs in other.items() if differs]
