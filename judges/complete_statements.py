"""Add to a reply the statements that it lacks: that something is not from its sources, and advice to verify it. Pure."""

import re
from dataclasses import dataclass

from judges.phrases import admits, verifies
from judges.plain_text import plain
from judges.sentences import sentences

_FENCE = re.compile(r"^[ \t>]*(?:```|~~~)", re.M)


@dataclass(frozen=True, slots=True)
class Statements:
    """What a reply says about its additions, in one language."""

    not_from_sources: str
    verify: str


def complete_statements(reply: str, statements: Statements) -> str | None:
    """Return the reply with the statements that it lacks as its last paragraph.

    Args:
        reply: The text of the reply.
        statements: The statements in the language of the user.

    Returns:
        The completed reply. None if the reply holds the statement already, is JSON or code, or ends within a code block.
    """
    if reply.lstrip()[:1] in ("{", "[", "`") or len(_FENCE.findall(reply)) % 2:
        return None
    if statements.not_from_sources in reply:
        return None
    plain_sentences = [plain(one.text) for one in sentences(reply)]
    has_verify = statements.verify in reply or any(verifies(one) == "clear" for one in plain_sentences)
    has_admission = not has_verify and any(admits(one) == "clear" for one in plain_sentences)
    added = ([] if has_admission else [statements.not_from_sources]) + ([] if has_verify else [statements.verify])
    line = "\r\n" if "\r\n" in reply else "\n"
    return reply.rstrip() + 2 * line + " ".join(added)
