"""A small German and a small English knowledge base, and example pairs for the German one."""

from datetime import date
from pathlib import Path
from typing import Any

import yaml

from knowledge_base.pairs.pair import Pair, Review, Taxonomy

HERE = Path(__file__).parent
GERMAN, ENGLISH = (yaml.safe_load((HERE / f"{name}.yaml").read_text()) for name in ("german", "english"))
TAXONOMY = Taxonomy.model_validate(GERMAN)
ENGLISH_DOCUMENT = (HERE / "english.md").read_text()
FRONT = "---\nid: bluthochdruck\ntitle: Bluthochdruck\nsummary: Über Bluthochdruck.\nreferences: [Leitlinie Hypertonie 2023]\n---\n"
FIRST = "Bluthochdruck heißt, dass der Druck in den Adern zu hoch ist. Er liegt ab 140 zu 90. Ein einzelner Wert reicht nicht."
SECOND = "Bluthochdruck ist häufig."
THIRD = "Tabletten senken den Bluthochdruck. Nehmen Sie Tabletten gegen Bluthochdruck nur nach Absprache mit dem Arzt."
BODY = f"## Definition\n\n{FIRST}\n\n{SECOND}\n\n## Therapie\n\n{THIRD}\n\n## Anhang\n\nStand ist heute Mittag.\n"
DOCUMENT = f"{FRONT}# Bluthochdruck\n\n{BODY}"


def write_kb(folder: Path, taxonomy: dict[str, Any] = GERMAN, **documents: str) -> Path:
    """Write a knowledge base: a taxonomy, and documents by id."""
    folder.mkdir(exist_ok=True)
    (folder / "taxonomy.yaml").write_text(yaml.safe_dump(taxonomy, allow_unicode=True), encoding="utf-8")
    for name, text in documents.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def pair(question: str = "Was ist Bluthochdruck?", **changes: Any) -> Pair:
    """Return a pair that passes all gates, with the given changes."""
    fields: dict[str, Any] = {
        "id": "bluthochdruck-definition-1", "question": question, "variants": ("Was bedeutet Bluthochdruck?",),
        "answer": "Der Druck in den Adern ist zu hoch.", "quotes": (FIRST.split(". ")[0],),
        "complexity": "beginner", "recommendation": "Möchten Sie wissen, was Bluthochdruck ist?", "context": FIRST,
        "document": "bluthochdruck", "source": "Leitlinie", "source_reference": "bluthochdruck.md#Definition", "topic": "Herz",
        "subtopic": "Blutdruck", "subsubtopic": "Bluthochdruck", "focus": "bluthochdruck", "aspect": "Definition", "cluster": "c",
    }  # fmt: skip
    return Pair.model_validate(fields | changes)


def review(**changes: Any) -> Review:
    fields = {
        "reviewer": "Dr. Weiß",
        "date": date(2026, 1, 31),
        "answer_ok": True,
        "topic_ok": True,
        "wording_ok": True,
    }
    return Review.model_validate(fields | changes)
