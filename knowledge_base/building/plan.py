"""Pure: what an import writes, what it leaves alone, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from knowledge_base.building.section_file import document_of, is_edited, is_reviewed, parse_section, text_fingerprint
from knowledge_base.building.sections import Section
from knowledge_base.building.summary import EXTRACTED
from knowledge_base.library import FrontMatter

Step = Literal["add", "replace", "delete", "outdated", "orphan", "keep", "keep_orphan", "clash", "none"]
"""What becomes of a section:

* `add`: there is none of this id; `replace`, `delete`: it was imported, nobody has touched it, and overwriting is allowed.
* `outdated`, `orphan`: the same, but overwriting is not allowed. Of an orphan nothing is left in the document.
* `keep`, `keep_orphan`: the document has changed, but a person has reviewed or edited the section.
* `clash`: its id belongs to a section that was written by hand, or imported from another document.
* `none`: all is as it was imported, or a person has changed what is still so in the document.
"""


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one section, and why."""

    id: str
    step: Step
    section: Section | None = None
    reason: str = ""


@dataclass(slots=True)
class Plan:
    """What an import does to a folder."""

    decisions: list[Decision] = field(default_factory=list)

    def having(self, *steps: Step) -> list[Decision]:
        """Return the decisions of some kinds, in the order of the documents."""
        return [one for one in self.decisions if one.step in steps]


def make_plan(
    sections: Sequence[Section],
    documents: Mapping[str, str],
    files: Mapping[str, str],
    *,
    overwrite: bool,
    summary_by: str,
) -> Plan:
    """Compare sections with what is in a folder.

    Args:
        sections: as the documents now have them.
        documents: the documents that were read, by their names as they stand in `source`, and how their ids begin. Without its
            beginning an id is of another document of the same name, imported with another prefix.
        files: texts of the folder's files, by their names without `.md`.
        overwrite: whether sections that nobody has touched may be replaced and deleted.
        summary_by: who writes summaries now; a model replaces what was extracted, or another model wrote.
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
    if is_same and summary_by in (keys.imported.summary_by, EXTRACTED):  # no model's summary is given up for none
        return Decision(section.id, "none", section)
    return Decision(section.id, "replace" if overwrite else "outdated", section, "summary" if is_same else "text")


def _touched(keys: FrontMatter, text: str) -> str:
    """Return what a person has done with an imported section; empty: nothing."""
    return "reviewed" if is_reviewed(keys) else "edited" if is_edited(keys, text) else ""
