"""Renders and parses the file of an imported section, and detects reviews and edits. Pure."""

import hashlib
from typing import Any

import yaml
from pydantic import ValidationError

from knowledge_base.building.sections import Section
from knowledge_base.front_matter import FrontMatterError, split_front_matter
from knowledge_base.library import FrontMatter


def render_section(section: Section, summary: str, summary_by: str) -> str:
    """Return the markdown file of an imported section, with `reviewed: false`.

    Args:
        summary_by: author of the summary, `extracted` or a model alias.
    """
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
    """Return the front matter and text of a section's file; None if the file is not a valid section."""
    try:
        matter, body = split_front_matter(text)
        return FrontMatter.model_validate(matter), body
    except (FrontMatterError, ValidationError):
        return None


def document_of(keys: FrontMatter) -> str:
    """Return the name of the document that a section was imported from; empty if the section was not imported."""
    return (keys.source or "").partition("#")[0]


def text_fingerprint(title: str, text: str) -> str:
    """Return the fingerprint of a section's title and text, ignoring white space."""
    return _fingerprint(f"{title}\n{text.strip()}")


def is_reviewed(keys: FrontMatter) -> bool:
    """Return whether a person has reviewed the section, according to its front matter."""
    return keys.reviewed is True or keys.reviewed_by is not None


def is_edited(keys: FrontMatter, text: str) -> bool:
    """Return whether a person has edited a section since its import. White space and the order of keys are ignored."""
    imported = keys.imported
    if imported is None:
        return True
    own = (text_fingerprint(keys.title.strip(), text), _fingerprint(" ".join(keys.summary.split())))
    return own != (imported.text, imported.summary) or bool(keys.references)


def _fingerprint(text: str) -> str:
    # Without the x, YAML would read some digests as numbers.
    return "x" + hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:15]
