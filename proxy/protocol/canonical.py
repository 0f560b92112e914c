"""Canonical form of texts: recognised whatever a client does to spaces and citation lines."""

import hashlib

from knowledge_base.citations import strip_lines


def fold(text: str) -> str:
    """Fold white space and drop citation lines, also those that the chatbot wrote."""
    text = without_citation_lines(text)
    if text.isprintable() and "  " not in text:  # a paragraph: it has no white space but single spaces
        return text.strip()
    return " ".join(text.split())


def without_citation_lines(text: str) -> str:
    """Return a reply that a client sent back without the lines that show its sources."""
    return strip_lines(text.replace("\r\n", "\n"))


DIGEST_BYTES = 12
"""Length of what `digest` gives in hexadecimal digits."""


def digest(folded: str) -> str:
    """Return the hash by which a delivered reply is recognised.

    Args:
        folded: Its text, folded.
    """
    return hashlib.blake2b(folded.encode(), digest_size=DIGEST_BYTES).hexdigest()
