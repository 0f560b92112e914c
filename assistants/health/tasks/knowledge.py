"""A task that searches the knowledge base for sections on a topic."""

from collections.abc import Sequence

from pydantic import Field

from assistants.health.task import Figure, Inputs, InputsError, Passage, Result, Task, TaskContext, TaskError
from knowledge_base.library import Library

MOST_SECTIONS = 3
LEAST_SHARE = 0.5
"""Minimum score of a section, relative to the best one. Sections below it share only common words with the topic."""


class Topic(Inputs):
    """Inputs of the task: the topic to search for."""

    topic: str = Field(min_length=1, max_length=300, description="a few English words, such as: sleep hygiene caffeine")


class KnowledgeResult(Result):
    """The sections on a topic, best match first."""

    passages: tuple[Passage, ...]

    def figures(self) -> Sequence[Figure]:
        """Return the first paragraph of each section, verbatim."""
        return [Figure(one.title, one.text.partition("\n\n")[0].removesuffix(".")) for one in self.passages]


class Knowledge(Task[Topic, KnowledgeResult]):
    name, title = "knowledge", "Knowledge base"
    description = (
        "Finds the sections of the knowledge base on a topic, with references: norms, what a measure means, what helps. "
        "Use it for general questions, for a reference, and to explain a figure; it knows nothing of a person."
    )
    inputs, result = Topic, KnowledgeResult
    examples = ({"topic": "REM sleep how much"},)

    def run(self, inputs: Topic, context: TaskContext) -> KnowledgeResult:
        library = context.services.get("sections")
        if not isinstance(library, Library):
            raise TaskError("No knowledge base is set up.")
        found = library.index.search(inputs.topic, MOST_SECTIONS)
        if not found:
            titles = "; ".join(one.title for one in library.sources[:20])
            raise InputsError(f"No section of the knowledge base is on that topic. Its sections: {titles}.")
        sections = [library[one.id] for one in found if one.score >= LEAST_SHARE * found[0].score]
        passages = (Passage(id=one.id, title=one.title, text=one.text, references=one.references) for one in sections)
        return KnowledgeResult(passages=tuple(passages))


TASKS = (Knowledge(),)
