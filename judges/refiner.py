"""Changes a rejected reply: adds missing statements, or rewrites the reply. A rewritten reply is checked and judged again."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Protocol

import orjson
from pydantic import BaseModel

from judges.case import Case, run_in_thread_if_long
from judges.judge import readable_part
from judges.observation import RolePlay, Screening
from judges.phrases import admits, verifies
from judges.rules import RULES
from judges.text import plain, sentences
from judges.verdict import Judgement
from knowledge_base.citations import cite_command
from knowledge_base.library import Source
from models.client import Models
from models.usage import Ledger

_FENCE = re.compile(r"^[ \t>]*(?:```|~~~)", re.M)


@dataclass(frozen=True, slots=True)
class Statements:
    """The two sentences, in one language, that disclose that a reply goes beyond its sources."""

    not_from_sources: str
    """Says that part of the reply does not come from the sources."""
    verify: str
    """Asks the user to check with a professional."""


def complete_statements(reply: str, statements: Statements) -> str | None:
    """Return the reply with its missing statements as a last paragraph.

    Args:
        reply: The text of the reply.
        statements: The statements in the language of the user.

    Returns:
        The completed reply. None if the reply already contains `not_from_sources`, is JSON or code, or ends within a code block.
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


@dataclass(frozen=True, slots=True)
class RejectedDraft:
    """The input of a refiner: a rejected draft, the objections to it, and the sources for a new reply."""

    case: Case
    objections: Sequence[Judgement]
    sources: Sequence[Source]
    """The sources that the rewritten reply may cite."""
    options: dict[str, Any]
    """Fields of the client's request that a rewrite must honour, such as `response_format`."""


class Refiner(Protocol):
    """The interface of a refiner, which rewrites rejected drafts."""

    async def refine(self, rejected: RejectedDraft, ledger: Ledger) -> str | None:
        """Return the new reply with its citation command, or None if the refiner cannot write one."""


class LocalRefiner:
    """Rewrites a draft without a model: keeps the sentences that the sources support, and adds a referral to a professional."""

    async def refine(self, rejected: RejectedDraft, ledger: Ledger) -> str | None:
        from judges.local.reply import refine

        if rejected.options.get("response_format"):
            return None  # sentences cannot be removed from a JSON document
        unwanted_texts = [quote for judgement in rejected.objections for quote in _role_quotes(judgement.observation)]
        text, source_ids = await run_in_thread_if_long(
            rejected.case, refine, readable_part(rejected.case), unwanted_texts
        )
        return f"{cite_command(source_ids or ('not_in_sources',))}\n{text}"


@dataclass(frozen=True, slots=True)
class ModelRefiner:
    """Asks a model to rewrite a draft."""

    models: Models
    alias: str
    """The alias of the model under `models` in the configuration."""
    prompt: str
    """The system message."""

    async def refine(self, rejected: RejectedDraft, ledger: Ledger) -> str | None:
        """Return the model's reply with its citation command; None if the model returned no text.

        Raises:
            ModelError: The call to the model failed.
        """
        body = {
            **rejected.options,
            "messages": [{"role": "system", "content": self.prompt}, {"role": "user", "content": _task(rejected)}],
        }
        answer = await self.models.complete(self.alias, body, step="refine", ledger=ledger)
        content = answer["choices"][0]["message"].get("content")
        return content if isinstance(content, str) and content.strip() else None


def open_refiner(setting: str | None, models: Models) -> Refiner | None:
    """Return the refiner for a chatbot's `refiner` setting: `local`, a model alias, or None for no refiner."""
    if setting is None:
        return None
    if setting == "local":
        return LocalRefiner()
    prompt = files("judges").joinpath("prompts/refiner.md").read_text(encoding="utf-8").strip()
    return ModelRefiner(models, setting, prompt)


def _role_quotes(observation: BaseModel | None) -> list[str]:
    """Return the quotes of a reply that a judge lists as playing a part outside the chatbot's role."""
    if isinstance(observation, Screening):
        return [problem.quote for problem in observation.problems if problem.kind == "role"]
    return [part.quote for part in observation.played] if isinstance(observation, RolePlay) else []


def _task(rejected: RejectedDraft) -> str:
    case = rejected.case
    data = {
        "chatbot_role": case.role,
        "sensitive_topics": [t.name for t in case.topics],
        "sources": [{"id": s.id, "title": s.title, "text": s.text} for s in rejected.sources],
        "history": [{"speaker": s.speaker, "text": s.text} for s in case.history],
        "user_message": case.user_message,
        "rejected_reply": case.draft,
        "criticism": [
            {"rule": RULES[j.rule].message if j.rule else "", "found": j.reason} for j in rejected.objections
        ],
    }
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()
