"""Decides for each section whether an import writes, deletes or keeps its file, and why. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from knowledge_base.building.section_file import document_of, is_edited, is_reviewed, parse_section, text_fingerprint
from knowledge_base.building.sections import Section
from knowledge_base.building.summary import EXTRACTED
from knowledge_base.library import FrontMatter

Step = Literal["add", "replace", "delete", "outdated", "orphan", "keep", "keep_orphan", "clash", "none"]
"""What an import does with a section:

* `add`: the folder has no section with this id.
* `replace`, `delete`: the section was imported, no person has reviewed or edited it, and overwriting is allowed.
* `outdated`, `orphan`: like `replace` and `delete`, but overwriting is not allowed. The document no longer contains an orphan.
* `keep`, `keep_orphan`: the document has changed, but a person has reviewed or edited the section, so the file stays.
* `clash`: the id belongs to a section that was written by hand or imported from another document.
* `none`: the section in the document has not changed since the last import, and the summary needs no update.
"""


@dataclass(frozen=True, slots=True)
class Decision:
    """What an import does with one section, and the reason."""

    id: str
    step: Step
    section: Section | None = None
    """The section; None if the document no longer contains it."""
    reason: str = ""


@dataclass(slots=True)
class Plan:
    """The decisions of an import, one per section."""

    decisions: list[Decision] = field(default_factory=list)

    def having(self, *steps: Step) -> list[Decision]:
        """Return the decisions that have one of the given steps, in order."""
        return [one for one in self.decisions if one.step in steps]


def make_plan(
    sections: Sequence[Section],
    documents: Mapping[str, str],
    files: Mapping[str, str],
    *,
    overwrite: bool,
    summary_by: str,
) -> Plan:
    """Compare the sections of documents with the files of a knowledge base, and decide about each section.

    Args:
        sections: the current sections of the documents.
        documents: by document name, the common beginning of the ids of its sections. A file whose id begins differently belongs
            to a document of the same name that was imported with another prefix.
        files: texts of the folder's files, by name without `.md`.
        overwrite: whether to replace and delete sections that nobody has reviewed or edited.
        summary_by: author of new summaries, `extracted` or a model alias. Summaries of another author are replaced by a model's
            summary, never by an extract.
    """
    plan = Plan([_decide(section, files.get(section.id), overwrite, summary_by) for section in sections])
    ids = {section.id for section in sections}
    for section_id, text in files.items():
        parsed = parse_section(text) if section_id not in ids else None
        if parsed is None or parsed[0].imported is None:
            continue
        beginning = documents.get(document_of(parsed[0]))
        if beginning is None or not f"{section_id}-".startswith(f"{beginning}-"):
            continue
        if reason := _touched(*parsed):
            plan.decisions.append(Decision(section_id, "keep_orphan", reason=reason))
        else:
            plan.decisions.append(Decision(section_id, "delete" if overwrite else "orphan"))
    return plan


def _decide(section: Section, text: str | None, overwrite: bool, summary_by: str) -> Decision:
    if text is None:
        return Decision(section.id, "add", section)
    parsed = parse_section(text)
    if parsed is None or parsed[0].imported is None:
        return Decision(section.id, "clash", section, "it was written by hand")
    keys, body = parsed
    if (document := document_of(keys)) != section.document:
        return Decision(section.id, "clash", section, f"it is from {document or 'an unknown document'}")
    assert keys.imported is not None
    is_same = keys.imported.text == text_fingerprint(section.title, section.text)
    if reason := _touched(keys, body):
        return Decision(section.id, "none" if is_same else "keep", section, reason)
    if is_same and summary_by in (keys.imported.summary_by, EXTRACTED):  # an extract never replaces a model's summary
        return Decision(section.id, "none", section)
    return Decision(section.id, "replace" if overwrite else "outdated", section, "summary" if is_same else "text")


def _touched(keys: FrontMatter, text: str) -> str:
    """Return `reviewed` or `edited` if a person has reviewed or edited an imported section, else an empty text."""
    return "reviewed" if is_reviewed(keys) else "edited" if is_edited(keys, text) else ""
