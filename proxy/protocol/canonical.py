"""Normalises texts, so that two texts match even if a client changed white space or citation lines."""

import hashlib

from knowledge_base.citations import strip_lines


def fold(text: str) -> str:
    """Replace each run of white space by a space, and drop citation lines, including those that the chatbot wrote."""
    text = without_citation_lines(text)
    if text.isprintable() and "  " not in text:  # a single paragraph: its only white space is single spaces
        return text.strip()
    return " ".join(text.split())


def without_citation_lines(text: str) -> str:
    """Remove the lines that show sources from a reply that a client sent back."""
    return strip_lines(text.replace("\r\n", "\n"))


DIGEST_BYTES = 12
"""Bytes of a digest. `digest` returns two hexadecimal digits for each."""


def digest(folded: str) -> str:
    """Return the hash by which the proxy recognises a reply that it delivered earlier.

    Args:
        folded: The reply's text after `fold`.

    Returns:
        24 hexadecimal digits (BLAKE2b).
    """
    return hashlib.blake2b(folded.encode(), digest_size=DIGEST_BYTES).hexdigest()
