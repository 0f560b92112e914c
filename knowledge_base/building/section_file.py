"""Pure: reads and writes the file of an imported section, and detects reviews and edits."""

import hashlib
from typing import Any

import yaml
from pydantic import ValidationError

from knowledge_base.building.sections import Section
from knowledge_base.front_matter import FrontMatterError, split_front_matter
from knowledge_base.library import FrontMatter


def render_section(section: Section, summary: str, summary_by: str) -> str:
    """Write a section as a file of a knowledge base, unreviewed."""
    matter: dict[str, Any] = {
        "id": section.id,
        "title": section.title,
        "summary": summary,
        "reviewed": False,
        "source": section.origin,
        "imported": {
            "text": text_fingerprint(section.title, section.text),
            "summary": _fingerprint(summary),
            "summary_by": summary_by,
            **({"notes": [*section.notes]} if section.notes else {}),
        },
    }
    front = yaml.safe_dump(matter, allow_unicode=True, sort_keys=False, width=2**20)
    return f"---\n{front}---\n{section.text}\n"


def parse_section(text: str) -> tuple[FrontMatter, str] | None:
    """Return the front matter and text of a section's file, or None if it is not a section."""
    try:
        matter, body = split_front_matter(text)
        return FrontMatter.model_validate(matter), body
    except (FrontMatterError, ValidationError):
        return None


def document_of(keys: FrontMatter) -> str:
    """Return the name of the document that a section was imported from, or an empty text for a handwritten section."""
    return (keys.source or "").partition("#")[0]


def text_fingerprint(title: str, text: str) -> str:
    return _fingerprint(f"{title}\n{text.strip()}")


def is_reviewed(keys: FrontMatter) -> bool:
    """Return whether the front matter says that a person has reviewed the section."""
    return keys.reviewed is True or keys.reviewed_by is not None


def is_edited(keys: FrontMatter, text: str) -> bool:
    """Return whether a section was changed since its import. White space and the order of keys do not count."""
    imported = keys.imported
    if imported is None:
        return True
    own = (text_fingerprint(keys.title.strip(), text), _fingerprint(" ".join(keys.summary.split())))
    return own != (imported.text, imported.summary) or bool(keys.references)


def _fingerprint(text: str) -> str:
    # The x keeps YAML from reading some digests as numbers.
    return "x" + hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:15]
