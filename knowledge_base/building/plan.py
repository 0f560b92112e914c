"""Pure: decides which sections an import writes, deletes or keeps, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from knowledge_base.building.section_file import document_of, is_edited, is_reviewed, parse_section, text_fingerprint
from knowledge_base.building.sections import Section
from knowledge_base.building.summary import EXTRACTED
from knowledge_base.library import FrontMatter

Step = Literal["add", "replace", "delete", "outdated", "orphan", "keep", "keep_orphan", "clash", "none"]
"""The decision for a section:

* `add`: the folder has no section with this id.
* `replace`, `delete`: the section was imported, no person has reviewed or edited it, and overwriting is allowed.
* `outdated`, `orphan`: as `replace` and `delete`, but overwriting is not allowed. An orphan is no longer in the document.
* `keep`, `keep_orphan`: the document has changed, but a person has reviewed or edited the section.
* `clash`: the id belongs to a section that was written by hand, or imported from another document.
* `none`: the document has not changed since the import, and the summary needs no update.
"""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision for one section, and its reason."""

    id: str
    step: Step
    section: Section | None = None
    reason: str = ""


@dataclass(slots=True)
class Plan:
    """All decisions of an import."""

    decisions: list[Decision] = field(default_factory=list)

    def having(self, *steps: Step) -> list[Decision]:
        """Return the decisions with one of these steps, in the order of the documents."""
        return [one for one in self.decisions if one.step in steps]


def make_plan(
    sections: Sequence[Section],
    documents: Mapping[str, str],
    files: Mapping[str, str],
    *,
    overwrite: bool,
    summary_by: str,
) -> Plan:
    """Compare sections with the files of a folder.

    Args:
        sections: the current sections of the documents.
        documents: by document name as in `source`, the beginning of its sections' ids. An id with another beginning belongs to
            another document of the same name, imported with another prefix.
        files: texts of the folder's files, by their names without `.md`.
        overwrite: whether sections without reviews or edits may be replaced and deleted.
        summary_by: the author of new summaries. A model replaces summaries that were extracted or written by another model.
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
    """Return whether a person has reviewed or edited an imported section: `reviewed`, `edited` or an empty text."""
    return "reviewed" if is_reviewed(keys) else "edited" if is_edited(keys, text) else ""
