"""Extracts a draft summary of a section without a model. Pure."""

import re

from knowledge_base.building.sections import Section

EXTRACTED = "extracted"
"""The author of an extracted summary in front matter, instead of a model alias."""
LONGEST = 600
"""Maximum characters of a draft summary. The chatbot's prompt contains the summaries of all sections."""
_LONGEST_EXTRACT = 320
_SENTENCE = re.compile(r"(?<=[.!?…。！？])(?<!\b[A-Z]\.)(?<!\b[eg]\.[gn]\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bDr\.)\s+")
_MARKUP = re.compile(
    r"\*\*|__|`+|^[^\S\n]*(?:[-*+>#]+|\d{1,3}[.)])\s+|\[(?=[^\]]{0,200}\]\()|(?<=[^\]])\]\([^)]{0,300}\)", re.M
)
_ABOUT_ITSELF = re.compile(
    r"(?:last )?(?:updated|reviewed|published|version|copyright|©)\b|see also\b|page \d", re.IGNORECASE
)
_FEWEST_WORDS = 4


def extract_summary(section: Section) -> str:
    """Return the first informative sentences of a section, followed by the section's subheadings in parentheses."""
    sentences = [one for line in _prose(section.text) for one in _SENTENCE.split(line)]
    informative = [one for one in sentences if _is_informative(one)] or sentences
    summary = ""
    for sentence in informative[:3]:
        if summary and len(summary) + len(sentence) > _LONGEST_EXTRACT:
            break
        summary = f"{summary} {sentence}".strip()
    summary = shorten(summary or " ".join(section.text.split()), _LONGEST_EXTRACT)
    if section.subheadings:
        summary += f" ({'; '.join(section.subheadings)})"
    return shorten(summary, LONGEST)


def shorten(text: str, longest: int) -> str:
    """Truncate a text at a word boundary to at most `longest` characters, with an ellipsis."""
    if len(text) <= longest:
        return text
    return (text[: longest - 1].rpartition(" ")[0] or text[: longest - 1]) + "…"


def _prose(text: str) -> list[str]:
    """Return the paragraphs and list items of a markdown text, without markup, headings, tables and code."""
    lines = [line for line in text.split("\n\n") if not line.startswith(("#", "|", "```"))]
    parts = [part for line in lines for part in re.split(r"\n(?=[^\S\n]*(?:[-*+]|\d{1,3}[.)])\s)", line)]
    return [plain for part in parts if (plain := " ".join(_MARKUP.sub("", part).split())) and "|" not in plain]


def _is_informative(sentence: str) -> bool:
    return (
        len(sentence.split()) >= _FEWEST_WORDS
        and sentence.endswith((".", "!", "…", "。", "！"))
        and not _ABOUT_ITSELF.match(sentence)
    )
