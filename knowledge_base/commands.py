"""Finds the chatbot's commands, such as `[[cite: ID]]`, in a text.

Chatbots write commands in many variants, so the parser is lenient. It accepts any case, position, spaces, bold or code marks,
and quotes. It also accepts full-width brackets, invisible characters, a backslash before a bracket, a missing end, and
a single bracket around `cite:`.

The following are commands, and are removed before users see the text:

* `[[cite` or `[[source` (also `cites`, `citation`, `citations`, `sources`), with any text after it;
* `[[name:` with any other name of two letters or more: an unknown command;
* `[[words, words]]` alone on a line: an unknown command, usually a citation that lacks `cite:`;
* `[cite:` in a single bracket.

Other text in double brackets (`[[1, 2], [3, 4]]`, `[[ -f file ]]`, `see [[note]]`) is ordinary text.

The text is *folded* first: all variants of brackets, colons and commas become ASCII, and invisible characters are
removed. This keeps the patterns simple. All positions that the functions return refer to the original text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Command:
    """A command in a text. All positions are character offsets in the original text."""

    name: str
    """`cite`, `source`, or empty for an unknown command."""
    arguments: tuple[str, ...]
    start: int
    end: int
    brackets: tuple[int, ...]
    """Positions of the opening brackets."""


def find_commands(text: str) -> list[Command]:
    """Return the commands in a text, in order."""
    if not has_bracket(text):  # the usual case; folding takes 10 times as long as this check
        return []
    folded, at = _fold(text)
    commands: list[Command] = []
    position = 0
    while opener := _OPENER.search(folded, position):
        spelling = opener[3] or "cite"
        name = spelling.lower().strip("_-")
        body = _BODY.match(folded, opener.end())
        assert body is not None  # the pattern also matches the empty string
        content, is_closed = body[1], body[2] is not None
        end = body.end()
        if not is_closed:  # take the ids and leave the prose after them
            ids = _IDS.match(folded, opener.end())
            assert ids is not None
            content, end = ids[0], ids.end()
        escaped = folded.endswith("\\", position, opener.start())
        start, stop, alone = _widen_to_line(folded, opener.start() - escaped, end)
        command_name = _COMMAND_BY_NAME.get(name, "")
        if command_name or (
            len(name) > 1 if opener[4] else is_closed and alone and _WORDS.fullmatch(spelling + content)
        ):
            brackets = tuple([at[opener.start(group)] for group in (1, 2) if opener[group]])
            commands.append(Command(command_name, _arguments(content), at[start], at[stop - 1] + 1, brackets))
            position = end
        else:
            position = opener.end()
    return commands


def may_begin_command(text: str) -> bool:
    """Return whether an unfinished text may contain the beginning of a command. If not, the text can be streamed."""
    return has_bracket(text) and _OPENING.search(_fold(text)[0]) is not None


def remove_commands(text: str, commands: Sequence[Command]) -> str:
    """Return a text without the given commands. Lines that hold only commands are removed; words stay separated by a space."""
    starts, ends = [c.start for c in commands], [c.end for c in commands]
    pieces = [text[a:b] for a, b in zip([0, *ends], [*starts, len(text)], strict=True)]
    out: list[str] = []
    newlines, before = 0, True
    """The number of line breaks since the last word, and whether the previous piece ended with a line break."""
    for piece in pieces:
        core = piece.strip()
        lead = piece[: len(piece) - len(piece.lstrip())]
        newlines += lead.count("\n") - (before and "\n" in lead)
        if core:
            indent = lead.rpartition("\n")[2] if "\n" in lead else ""
            gap = "\n" * min(newlines, 2) + indent if newlines > 0 or before else " " * (core[0] not in ".,;:!?)…")
            out += [gap if out else "", core]
            trail = piece[len(piece.rstrip()) :]
            newlines, before = trail.count("\n"), "\n" in trail
        else:
            before = "\n" in lead
    return "".join(out)


MARKS_BEFORE = " >#-•*_`~"
"""Characters before a command that are removed together with the command, if the command is alone on its line."""

# Every pattern below runs on folded text, does not backtrack, and stops at brackets or after a few hundred
# characters. So the time is linear in the length of the text.

_BRACKETS = "[［【〚⟦❲〔﹝"
_FOLDED_CHARACTERS = (
    dict.fromkeys(_BRACKETS[1:], "[") | dict.fromkeys("］】〛⟧❳〕﹞", "]") | dict.fromkeys("：﹕︰∶ː꞉", ":")
    | dict.fromkeys("，﹐､、；;", ",") | dict.fromkeys("\u00a0\u2007\u202f\u3000\t", " ") | {"＼": "\\", "\r": "\n"}
    | {chr(0xFF21 + n): chr(0x41 + n) for n in range(26)} | {chr(0xFF41 + n): chr(0x61 + n) for n in range(26)}
)  # fmt: skip
_UNSEEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(f"[{_UNSEEN}]")
_TO_FOLD = re.compile(f"[{_UNSEEN}{re.escape(''.join(_FOLDED_CHARACTERS))}]")
_ASCII = str.maketrans({c: None if _INVISIBLE.match(c) else _FOLDED_CHARACTERS.get(c, c) for c in map(chr, range(128))})
"""The folded form of each ASCII character. For ASCII texts, `str.translate` takes a quarter of the time of the pattern."""
_MARKS = " *_`~\\\"'“”„«»‘’"
_OPTIONAL_MARKS = "[" + re.escape(_MARKS) + "]{0,40}+"
# The pattern begins with the bracket, which makes the search fast. A backslash before it is checked afterwards.
_OPENER = re.compile(
    rf"(\[)(?:\\?(\[){_OPTIONAL_MARKS}([^\W\d_][\w-]{{0,60}}+){_OPTIONAL_MARKS}(:?)|cite:)", re.IGNORECASE
)
_OPENING = re.compile(r"\[\\?\[|\[cite", re.IGNORECASE)
_BODY = re.compile(r"((?>(?:,[ ]*+\n|\\(?![][])|[^][\n\\]){0,2000}))(\\?\]\\?\]?)?")
_IDS = re.compile(rf"[:= ]*+{_OPTIONAL_MARKS}(?>(?:[\w-]++(?>(?:[ ]*+,[ ]*+[\w-]++){{0,999}}))?)[ ]*+,?")
_WORDS = re.compile(r"[ ]*+(?>(?:[\w-]++[ ]*+,?+[ ]*+)+)")
_BETWEEN = re.compile(r"[,|/&\n]")
_CITE, _SOURCE = ("cite", "cites", "citation", "citations"), ("source", "sources")
_COMMAND_BY_NAME = dict.fromkeys(_CITE, "cite") | dict.fromkeys(_SOURCE, "source")


def has_bracket(text: str) -> bool:
    """Return whether a text contains a bracket that may begin a command."""
    return "[" in text or (not text.isascii() and any(bracket in text for bracket in _BRACKETS))


def _fold(text: str) -> tuple[str, Sequence[int]]:
    """Return the folded text and, for each character of the folded text, its position in the original text."""
    folded = (
        text.translate(_ASCII)
        if text.isascii()
        else _TO_FOLD.sub(lambda match: _FOLDED_CHARACTERS.get(match[0], ""), text)
    )
    if len(folded) == len(text):
        return folded, range(len(text))
    invisible = {match.start() for match in _INVISIBLE.finditer(text)}
    return folded, [n for n in range(len(text)) if n not in invisible]


def _widen_to_line(folded: str, start: int, end: int) -> tuple[int, int, bool]:
    """Extend the span of a command over the marks around it, such as `**`.

    Returns:
        The start and end of the span, and whether the command is alone on its line.
    """
    first, last = start, end
    while first and start - first < 20 and folded[first - 1] in MARKS_BEFORE:
        first -= 1
    while last < len(folded) and last - end < 20 and folded[last] in " .*_`~":
        last += 1
    if (first == 0 or folded[first - 1] == "\n") and (last == len(folded) or folded[last] == "\n"):
        return first, last, True
    while start and end < len(folded) and folded[start - 1] == folded[end] and folded[end] in "*_`~":
        start, end = start - 1, end + 1
    return start, end, False


def _arguments(content: str) -> tuple[str, ...]:
    names = [part.replace("\\", "").strip(_MARKS + ".:=#") for part in _BETWEEN.split(content)]
    return tuple([name for name in names if name])
