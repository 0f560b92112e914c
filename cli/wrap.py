"""Wraps a text at words while it is written."""

from rich.cells import cell_len

TAB = 8
"""Columns between two tab stops."""
CLOSING = frozenset("、。，．！？；：）」』】》〉”’…")
"""What must not begin a line."""
JOINED = ("\N{ZERO WIDTH JOINER}", "\N{NO-BREAK SPACE}", "\N{WORD JOINER}")
"""After these no line ends, however wide the next character is."""


class Wrapper:
    """Breaks a text that comes in pieces into lines of a terminal, at white space and between wide characters."""

    def __init__(self, width: int, column: int = 0) -> None:
        """Args: column: where on its line the text begins."""
        self._width = max(width, 1)
        self._column = column
        self._space = ""
        """White space before the word, which a line break takes the place of."""
        self._word = ""
        """The word that is not complete yet."""

    def feed(self, piece: str) -> str:
        """Return what can be written; the last word waits until it is known where it ends."""
        return "".join(map(self._add, piece))

    def end(self) -> str:
        """Return the rest."""
        return self._take_word() + self._space

    def _add(self, character: str) -> str:
        if character == "\n":
            written = self._take_word()
            self._column, self._space = 0, ""
            return written + character
        if character in " \t":
            written = self._take_word()
            self._space += character
            return written
        # Between wide characters, of which whole sentences consist in Chinese and Japanese, a line may end anywhere.
        breaks = cell_len(character) > 1 and character not in CLOSING and not self._word.endswith(JOINED)
        written = self._take_word() if breaks else ""
        self._word += character
        return written

    def _take_word(self) -> str:
        if not self._word:
            return ""
        space, word = self._space, self._word
        self._space = self._word = ""
        start = self._column
        for one in space:
            start += TAB - start % TAB if one == "\t" else 1
        if self._column and start + cell_len(word) > self._width:
            space, start = "\n", 0
        self._column = start
        return space + "".join(map(self._cut, word)) if cell_len(word) > self._width else space + self._place(word)

    def _place(self, word: str) -> str:
        self._column += cell_len(word)
        return word

    def _cut(self, character: str) -> str:
        """Write a character of a word that is longer than a line."""
        wide = cell_len(character)
        broken = wide > 0 and self._column > 0 and self._column + wide > self._width
        self._column = wide if broken else self._column + wide
        return f"\n{character}" if broken else character


def wrap(text: str, width: int, indent: int = 0) -> str:
    """Wrap a whole text, each of its lines indented."""
    wrapper = Wrapper(width - indent)
    lines = (wrapper.feed(text) + wrapper.end()).split("\n")
    return "\n".join(" " * indent + line for line in lines)
