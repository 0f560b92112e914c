"""Ways to write a text in other letters than plain Latin ones, and in symbols that stand for no letter."""

from collections.abc import Callable
from string import ascii_lowercase, ascii_uppercase

Write = Callable[[str], str]


def _letters(upper: int | str, lower: int | str | None = None) -> Write:
    """Write letters by an alphabet, or by the code point of its first letter; both cases alike if there is but one."""
    small = upper if lower is None else lower
    table = {
        ord(letter): chr(forms + place) if isinstance(forms, int) else forms[place]
        for letters, forms in ((ascii_uppercase, upper), (ascii_lowercase, small))
        for place, letter in enumerate(letters)
    }
    return lambda text: text.translate(table)


def _behind_each(mark: str) -> Write:
    return lambda text: "".join(letter + mark if letter.isalpha() else letter for letter in text)


_braille = _letters("⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵")
LETTERS: dict[str, Write] = {
    "squared": _letters(0x1F130),
    "negative squared": _letters(0x1F170),
    "circled": _letters(0x24B6, 0x24D0),
    "negative circled": _letters(0x1F150),
    "parenthesized": _letters(0x1F110, 0x249C),
    "regional indicators": _letters(0x1F1E6),
    "regional indicators apart": lambda text: "\u200b".join(_letters(0x1F1E6)(text)),
    "braille": _braille,
    "braille with blanks": lambda text: _braille(text).replace(" ", "\u2800").replace(".", "⠲"),
    "small capitals": _letters("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡxʏᴢ"),
    "mathematical bold": _letters(0x1D5D4, 0x1D5EE),
    "mathematical monospace": _letters(0x1D670, 0x1D68A),
    "fullwidth": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "superscript": _letters("ᴬᴮᶜᴰᴱᶠᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾqᴿˢᵀᵁⱽᵂˣʸᶻ", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖqʳˢᵗᵘᵛʷˣʸᶻ"),
    "keycaps": _behind_each("\u20e3"),
    "variation selectors": _behind_each("\ufe0f"),
    "tags": _behind_each("\U000e0078"),
    "overlays": _behind_each("\u20d2"),
    "fillers": _behind_each("\u3164"),
    "Cyrillic": lambda text: text.translate(str.maketrans("aeopcxyTKMHB", "аеорсхуТКМНВ")),
}
SYMBOLS: dict[str, Write] = {
    "private use": _letters(0xE000),
    "private use, second plane": _letters(0xF0000),
    "musical": _letters(0x1D100),
    "Byzantine": _letters(0x1D000),
    "Yi radicals": _letters(0xA490),
    "dominoes": _letters(0x1F030),
    "alchemical": _letters(0x1F700),
    "hexagrams": _letters(0x4DC0),
    "modifiers": _letters("".join(map(chr, range(0xA700, 0xA717))) + "˥˦˧"),
    "replacement characters": _letters("\ufffd" * 26),
    "unassigned": _letters(0x1CCD6),
    "braille patterns": _letters(0x28C0),
}
