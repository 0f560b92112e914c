"""Collects the lines of a reply. Each line is also in a document, so that judges can compare the reply with the documents."""

from dataclasses import dataclass, field

from assistants.assistant import AssistantReply, Document


@dataclass(slots=True)
class ReplyDraft:
    """The lines of a reply, and the documents that support them."""

    lines: list[str] = field(default_factory=list)
    documents: dict[str, Document] = field(default_factory=dict)
    citations: list[str] = field(default_factory=list)

    def add(self, name: str, title: str, text: str) -> None:
        """Add a text to the reply and to the document with this id and title, unless the reply contains the text already."""
        if text in self.lines:
            return
        self.lines.append(text)
        before = self.documents.get(name)
        self.documents[name] = Document(name, title, f"{before.text}\n{text}" if before else text)

    def reply(self) -> AssistantReply:
        cited = [*self.citations, *self.documents]
        return AssistantReply("\n".join(self.lines), cited or ["no_claims"], [*self.documents.values()])
