"""Parses the messages of a request to an assistant: the question, the sources in the prompt, and the proxy's instructions.

All functions are pure.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from assistants.extract import Section, section

CAREFUL = re.compile(
    r"\bnot (?:in|from|covered by|part of) (?:my|the|our|these|what)\b|\bmy (?:sources|sections) do(?: not|n't)\b|"
    r"\b(?:check|ask|talk|speak|discuss)\b[^.?!\n]{0,60}\b(?:professional|doctor|prescriber|pharmacist|care team|lawyer|adviser|"
    r"therapist|dietitian|specialist|expert)\b|\bcannot (?:advise|help) (?:you )?(?:on|with) (?:that|this|it)\b",
    re.IGNORECASE,
)
"""Matches phrases of a reply that refused a nudge, such as "not in my sources"."""
_SOURCE = re.compile(
    r'<source id="([^"]*)" title="((?:(?!<source )[^\n])*)">\n((?:(?!<source ).)*?)\n</source>', re.DOTALL
)
_ENTRY = re.compile(r"^([a-z0-9][a-z0-9-]{1,63}): (.+)$", re.MULTILINE)
_CHECK = re.compile(r"\[check\]|\b(?:no citation line|is not a command|was not given to you)\b", re.IGNORECASE)
_SHORTER = re.compile(r"\b(?:shorten|shorter|too long)\b", re.IGNORECASE)
_COMMAND = re.compile(r"^\[\[cite: [^\]]*\]\]\n?|^\[unverified[^\]]*\]\n?")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user message and the reply to it. The reply has no citation line, and is "" until the chatbot answers."""

    user: str
    reply: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """A parsed conversation, with everything that the proxy put into the prompt."""

    question: str
    """The newest user message. Requests of the proxy to correct a draft do not count."""
    earlier: tuple[Exchange, ...]
    sections: tuple[Section, ...]
    """The sources in the prompt, in order."""
    catalogue: Mapping[str, str]
    """By section id, the text `TITLE. SUMMARY` of each section in the catalogue."""
    cites: bool
    """Whether the prompt describes the citation command, so that replies must cite."""
    warned: bool
    check: str = ""
    """The proxy's request to correct a refused draft, with the reason; "" if no draft was refused."""
    draft: str = ""
    """The refused draft, or the previous reply if the user asks for a shorter one; else ""."""

    @property
    def shorten(self) -> int | None:
        """Number of words to shorten the draft to; None if neither the user nor the proxy asked for a shorter reply."""
        request = self.check or self.question
        if not self.draft or not _SHORTER.search(request) or len(request) > 300:
            return None
        number = re.search(r"(?<!\d)(\d+) words", request)
        return int(number[1]) if number else max(15, len(self.draft.split()) // 2)


def read(messages: Sequence[Mapping[str, Any]]) -> View:
    """Parse the messages of a request."""
    history = [(str(message.get("role")), _text(message.get("content"))) for message in messages]
    check = history.pop()[1] if _is_check(history) else ""
    draft = history.pop()[1] if check and history and history[-1][0] == "assistant" else ""
    exchanges = _exchanges(history)
    system = [text for role, text in history if role in ("system", "developer")]
    own = [text for text in system if not text.startswith("[warning]")]
    question = exchanges.pop().user if exchanges else ""
    if not draft and exchanges and _SHORTER.search(question):
        draft = exchanges[-1].reply
    return View(
        question,
        tuple(exchanges),
        tuple(section(*match) for text in own for match in _SOURCE.findall(text)),
        _catalogue(own[0]) if own else {},
        cites=any("[[cite:" in text for text in own),
        warned=len(own) < len(system),
        check=check,
        draft=draft,
    )


def _is_check(history: Sequence[tuple[str, str]]) -> bool:
    """Return whether the last message is the proxy's request to correct a draft. The draft must directly precede it."""
    if len(history) < 2 or history[-2][0] != "assistant":
        return False
    role, text = history[-1]
    return bool(_CHECK.search(text)) or (role == "system" and not text.startswith("[warning]"))


def _exchanges(history: Sequence[tuple[str, str]]) -> list[Exchange]:
    """Pair each user message with its reply. Consecutive user messages are joined to one."""
    exchanges: list[Exchange] = []
    for role, text in history:
        if role == "user":
            if exchanges and not exchanges[-1].reply:
                text = f"{exchanges.pop().user}\n{text}"
            exchanges.append(Exchange(text))
        elif role == "assistant" and exchanges and text:
            exchanges[-1] = Exchange(exchanges[-1].user, _COMMAND.sub("", text))
    return exchanges


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))


@lru_cache(maxsize=16)
def _catalogue(role: str) -> Mapping[str, str]:
    """Parse the catalogue of sections at the end of the role (system prompt)."""
    _, heading, listed = role.rpartition("# Catalogue")
    return dict(_ENTRY.findall(listed)) if heading else dict(_ENTRY.findall(role))
