"""Recognises task prompts: a chat application asks for a title, tags or follow-ups of a conversation that it quotes. Pure.

The application shows the answer unchecked, so a fallback message would become the title of the chat. Therefore the proxy answers
in the form that the prompt asks for. A task prompt is recognised by its structure, not by the wording of an application: it
contains a transcript and a form of answer, and does not ask for a reply to the conversation.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from judges.languages import is_program

TITLE = "Conversation"
MAX_CHARS = 40_000
"""Maximum length of a task prompt, which quotes only a few messages."""
MAX_INSTRUCTION_CHARS = 4_000
"""Maximum length of a task prompt without its transcript."""
_TITLES = frozenset("title chattitle conversationtitle name chatname topic subject headline".split())
_STRINGS = _TITLES | frozenset("emoji language".split())
_LISTS = frozenset(
    "titles tags tag labels topics categories keywords followups followup followupquestions questions suggestions "
    "suggestedquestions queries searchqueries".split()
)
_AMBIGUOUS = frozenset("topic subject name language emoji categories labels suggestions questions keywords".split())
"""Keys that are also common in other JSON replies. A prompt with only these keys is not a task prompt."""
_QUOTED = frozenset("role content type text user assistant speaker author message messages".split())
"""Keys of a transcript in JSON."""

_SPEAKER = (
    r"(?:user|human|person|me|client|customer|patient|player|assistant|ai|bot|chatbot|model|system|"
    r"benutzer|nutzer|assistent|utilisateur|usuario|asistente|utente|assistente|bruker)"
)
_TRANSCRIPT = re.compile(
    rf"^[^\w\n]{{0,8}}{_SPEAKER}[^\w\n]{{0,4}}[:>\n]|[\"']role[\"'][ \t]{{0,4}}:"
    r"|<[\w-]{0,20}(?:history|conversation|transcript|messages|dialogue?|chat|thread)[\w-]{0,20}>",
    re.IGNORECASE | re.MULTILINE,
)
_TRANSCRIPT_END = re.compile(r"</[\w-]{1,40}>")
_KEY = re.compile(r"[\"'`](\w{1,30})[\"'`](?:[ \t]{0,4}:\s{0,4}(\[?)|[ \t]{1,2}(?:key|field|property)\b)")
_ARRAY = re.compile(r"\bjson array\b|\[[ \t]{0,4}[\"']", re.IGNORECASE)
_TITLE_WORD = re.compile(
    r"(?<!html )\b(?:titles?|titel|titre|t[ií]tulo|titolo|tittel|headline|subject line|tags?)\b", re.IGNORECASE
)
_UNWANTED = re.compile(
    r"\b(?:no|not|never|without|don't|avoid)\b[^.\n]{0,30}\b(?:titles?|tags?|headings?|headlines?)\b", re.IGNORECASE
)
"""Matches a prompt for a reply that forbids titles or headings."""
_ANSWERS = re.compile(
    r"\b(?:answer|respond to|reply to)\b[^.\n]{0,40}\b(?:user|human|customer|patient|question|query|message)\b"
    r"|\b(?:continue|respond in|as the assistant|next (?:turn|message|reply)|assistant's (?:turn|message|reply))\b",
    re.IGNORECASE,
)
"""Matches a prompt that asks for an answer to a person, such as retrieval prompts."""
_LABEL_AT_END = re.compile(
    rf"(?:^|\n)[^\w\n]{{0,8}}(?:{_SPEAKER}|answer|response|reply|output)[^\w\n]{{0,4}}$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class TaskPrompt:
    """A chat application's prompt for a title, tags or follow-ups."""

    answer: str
    """An empty answer in the requested form."""
    unmarked: str
    """The prompt's text without the quoted messages in which this proxy already detected danger."""
    quotes_danger: bool
    """Whether the prompt quotes messages in which this proxy already detected danger."""

    @property
    def is_json(self) -> bool:
        return self.answer.startswith(("{", "["))


def asked_form(text: str, response_format: Any) -> str | None:
    """Return an empty answer in the form that a task prompt asks for, or None if the text is not a task prompt."""
    if len(text) > MAX_CHARS or (transcript := _TRANSCRIPT.search(text)) is None:
        return None
    instructions = _instructions(text, transcript.start())
    if (
        len(instructions) > MAX_INSTRUCTION_CHARS
        or _ANSWERS.search(instructions)
        or _LABEL_AT_END.search(text[-60:].rstrip())
    ):
        return None
    if not is_program(text):
        return None
    keys = _keys_in_schema(response_format) or _keys_in(instructions)
    if keys:
        is_form = keys.keys() <= _names(keys) and not _AMBIGUOUS.issuperset(map(_plain, keys))
        return json.dumps(_fill(keys)) if is_form else None
    if _ARRAY.search(instructions):
        return "[]"
    return TITLE if _TITLE_WORD.search(instructions) and not _UNWANTED.search(instructions) else None


def _instructions(text: str, start: int) -> str:
    """Return a prompt without its transcript: the text before it, and the text after its closing tag or the last paragraph."""
    ends = [end.end() for end in _TRANSCRIPT_END.finditer(text, start)]
    behind = text[ends[-1] :] if ends else text[max(start, text.rstrip().rfind("\n\n")) :]
    return f"{text[:start]}\n{behind}"


def _keys_in(instructions: str) -> dict[str, bool]:
    """Return the keys of the JSON that a prompt asks for, and whether the value of each key is a list."""
    keys: dict[str, bool] = {}
    for name, bracket in _KEY.findall(instructions):
        if _plain(name) not in _QUOTED:
            keys[name] = keys.get(name, False) or bool(bracket) or _plain(name) in _LISTS
    return keys


def _keys_in_schema(response_format: Any) -> dict[str, bool]:
    """Return the keys of the JSON schema in a `response_format`, and whether each is a list. Empty without a schema."""
    schema = response_format
    for name in ("json_schema", "schema", "properties"):
        schema = schema.get(name) if isinstance(schema, dict) else None
    if not isinstance(schema, dict):
        return {}
    return {name: isinstance(kind, dict) and kind.get("type") == "array" for name, kind in schema.items()}


def _names(keys: dict[str, bool]) -> set[str]:
    return {name for name in keys if _plain(name) in _STRINGS | _LISTS}


def _fill(keys: dict[str, bool]) -> dict[str, Any]:
    return {name: [] if is_list else TITLE if _plain(name) in _TITLES else "" for name, is_list in keys.items()}


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()
