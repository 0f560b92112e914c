"""Removes a model's thoughts from its answer: `<think>...</think>` and similar tags, which some servers leave in the content.

The rules:

* Thoughts precede the reply. So an answer that begins with a JSON object or a code block has no thoughts, even if it quotes tags.
* A tag in backticks is ordinary text.
* All text before a closing tag without an opening tag is thoughts, because many prompt templates contain the opening tag.
* Thoughts without a closing tag extend to the end of the answer.
"""

import re

_TAG = re.compile(
    r"(?P<before>`)?(?P<tag><(?P<close1>/)?(?:think|thinking|thoughts?|reasoning|seed:think)(?:\s+\w+=[^<>]{0,100})?\s*>"
    r"|\[(?P<close2>/)?THINK\]|◁(?P<close3>/)?think▷|<\|(?:begin|(?P<close4>end))_of_thought\|>)(?P<after>`)?",
    re.IGNORECASE,
)
"""Opening and closing tags of DeepSeek, Qwen, Gemini, Seed, Magistral, Kimi and OpenThinker."""
_CLOSING = ("close1", "close2", "close3", "close4")
_UNFINISHED = re.compile(r"`?(?:[<\[◁][/|\w:]{0,20}(?:(?<=\w)\s[^<>]{0,100})?)?\Z")
"""Matches, at the end of a text, a possible beginning of a tag."""
_WINDOW = 128
"""Maximum characters of a tag."""


def cut_thoughts(text: str) -> tuple[str, str, bool]:
    """Split an answer into the reply and the thoughts.

    Returns:
        The reply, the thoughts, and whether all thoughts had an opening tag.
    """
    if _TAG.search(text) is None:
        return text, "", True
    cutter = ThoughtCutter()
    cutter.feed(text, last=True)
    return "".join(cutter.text), "".join(cutter.thoughts), not cutter.took_back


class ThoughtCutter:
    """Splits an answer into reply and thoughts while it is streamed. The pieces may end anywhere, even inside a tag."""

    def __init__(self) -> None:
        self.text: list[str] = []
        """Pieces of the reply."""
        self.thoughts: list[str] = []
        self.is_closed = False
        """Whether a closing tag has been read."""
        self.took_back = False
        """Whether a closing tag without an opening tag turned earlier pieces of `text` into thoughts."""
        self._unread = ""
        self._is_cut = self._is_inside = self._is_document = False

    def feed(self, piece: str, last: bool = False) -> None:
        """Process the next piece of the answer.

        Args:
            last: Whether the answer ends with this piece.
        """
        text, at = self._unread + piece, 0
        while (end := self._read_tag(text, at, last)) > at:
            at = end
        rest = len(text) if last or self._is_document else self._unfinished(text, at)
        self._put(text[at:rest])
        self._unread = text[rest:]

    def _read_tag(self, text: str, at: int, last: bool) -> int:
        """Process the text from `at` to the end of the next complete tag. Return the end, or `at` if there is no complete tag."""
        if self._is_document or self._may_be_document(text[at : at + _WINDOW], last):
            return at
        tag = _TAG.search(text, at)
        if tag is None or (tag["before"] and tag.end() == len(text) and not last):
            return at
        if tag["before"] and tag["after"]:
            self._put(text[at : tag.end()])
            return tag.end()
        if self.text or self._is_inside or not text[at : tag.start("tag")].isspace():
            self._put(text[at : tag.start("tag")])
        self._is_cut = True
        if not any(tag[name] for name in _CLOSING):
            self._is_inside = True
            return tag.end("tag")
        if not self._is_inside:
            self.took_back |= bool(self.text)
            self.thoughts += self.text
            self.text.clear()
        self._is_inside, self.is_closed = False, True
        return tag.end("tag")

    def _may_be_document(self, start: str, last: bool) -> bool:
        """Return whether the reply begins with a JSON object or code block, or may do so after more text arrives."""
        if self._is_inside or self.text:
            return False
        head = start.lstrip()[:3]
        self._is_document = head.startswith("{") or head == "```"
        return self._is_document or (not last and head in ("", "`", "``") and len(start) < _WINDOW)

    def _unfinished(self, text: str, at: int) -> int:
        """Return the position from which the text is undecided: more text may turn it into a tag or a document."""
        if self._may_be_document(text[at : at + _WINDOW], False) and not self._is_document:
            return at
        match = _UNFINISHED.search(text, max(at, len(text) - _WINDOW))
        tag = _TAG.search(text, at)
        end = min(match.start() if match else len(text), tag.start() if tag else len(text))
        is_blank = not (self.text or self._is_inside) and text[at:end].isspace()
        return at if is_blank and end - at < _WINDOW else end

    def _put(self, piece: str) -> None:
        if self._is_inside:
            self.thoughts.append(piece)
            return
        if not self.text:  # drop white space between thoughts and reply
            piece = piece.lstrip() if self._is_cut else piece
        if piece:
            self.text.append(piece)
