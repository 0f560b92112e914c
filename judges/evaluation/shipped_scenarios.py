"""The shipped scenarios, with the sections, the role and the topics for which they were labelled.

These values do not come from the shipped config.yaml, because people edit that file for their chatbot.
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
    """Return the sections, role and topics for shipped scenarios that do not set their own."""
    return ScenarioDefaults(load(SECTIONS), ROLE.read_text(encoding="utf-8").strip(), tuple(map(Topic, TOPICS)))


def differences(own: ScenarioDefaults, shipped: ScenarioDefaults) -> list[str]:
    """Return which defaults of a chatbot differ from the shipped defaults: `knowledge base`, `role`, both or none.

    A copy of the shipped sections does not differ.
    """
    other = {"knowledge base": own.library != shipped.library, "role": own.role != shipped.role}
    return [aspect for aspect, differs in other.items() if differs]
