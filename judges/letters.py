"""Pure: letters in other forms, and what they stand for: squared, circled, braille, small capitals, look-alikes.

One character becomes one character, so that places in a text stay the same. What each stands for, Unicode's own compatibility
forms and names tell, besides two short lists. ASCII text is returned as it is.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

HIDDEN = "\u00ad"
"""What stands for a character that cannot be seen, or that only decorates the one before it."""
MIN_SYMBOLS, SYMBOL_SHARE = 4, 0.2
"""Symbols that stand for no letter, and their share of a text, from which on nobody can tell what the text says."""

_NAMED_LETTER = re.compile(
    r"\b(?:LATIN (?:CAPITAL |SMALL )?LETTER|INDICATOR SYMBOL LETTER|MODIFIER LETTER (?:CAPITAL|SMALL))"
    r"(?: (SMALL CAPITAL|SCRIPT|DOTLESS|INSULAR|BLACKLETTER|OPEN))? ([A-Z])$"
)
_BRAILLE = dict(zip("⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵⠀⠂⠲⠖⠦⠄", "abcdefghijklmnopqrstuvwxyz ,.!?'", strict=True))
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
_LOOK_ALIKES = str.maketrans(
    # Without the Greek mu, which counts micrograms.
    "аАвВеЕкКмМнНоОрРсСтТуУхХіІјЈѕЅһԁԛԝӏɡαΑεΕιΙκΚνΝοΟρΡτΤυΥχΧΗΜΒΖɑ₳฿₵Ɇ₣₲Ⱨ₭Ⱡ₥₦₱Ɽ₴₮Ʉ₩ӾɎⱫ",
    "aAbBeEkKmMhHoOpPcCtTyYxXiIjJsShdqwlgaAeEiIkKvNoOpPtTuYxXHMBZaABCEFGHKLMNPRSTUWXYZ",
)
_FLAGS = re.compile("[\U0001f1e6-\U0001f1ff]+")
_EMOJI = re.compile(
    "[\u2190-\u21ff\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u2500-\u27bf\u2900-\u297f\u2b00-\u2bff\u3297\u3299"
    "\U0001f004\U0001f0cf\U0001f1e6-\U0001f2ff\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7ff"
    "\U0001f900-\U0001f9ff\U0001fa70-\U0001faff]"
)
"""Emoji, and what else decorates ordinary messages: arrows, box drawing, stars, ticks. Unicode's database in Python does not
name them, and new ones are unassigned there."""


def fold_letters(text: str) -> str:
    """Return a text with plain Latin letters in place of those in other forms; look-alikes of other alphabets stay.

    What cannot be seen becomes a soft hyphen. Regional indicators are letters unless all of them are flags.
    """
    if text.isascii():
        return text
    forms = {ord(character): form for character in set(text) if (form := _plain_form(character)) != character}
    runs = _FLAGS.findall(text)
    if runs and all(len(run) == 2 for run in runs):
        forms = {code: form for code, form in forms.items() if not _FLAGS.match(chr(code))}
    return text.translate(forms)


def fold_look_alikes(text: str) -> str:
    """Return a text with plain Latin letters in place of those in other forms, and of Cyrillic and Greek ones that look alike."""
    return text if text.isascii() else fold_letters(text).translate(_LOOK_ALIKES)


@lru_cache(maxsize=8192)
def _plain_form(character: str) -> str:
    """Return the character that one stands for, itself where that is none."""
    if character < "\u0250":
        return character
    category, name = unicodedata.category(character), unicodedata.name(character, "")
    if category == "Cf" or character in _FILLERS or _decorates(character, category, name):
        return HIDDEN
    if len(form := unicodedata.normalize("NFKD", character)) == 1 and form != character:
        return form
    if letter := _NAMED_LETTER.search(name.partition(" WITH ")[0]):
        return letter[2] if "CAPITAL" in name and letter[1] != "SMALL CAPITAL" else letter[2].lower()
    digit = unicodedata.digit(character, None) if category == "No" else None
    return _BRAILLE.get(character, character) if digit is None else str(digit)


def _decorates(character: str, category: str, name: str) -> bool:
    """Tell whether a mark is put on any letter. Accents proper are left, and the vowels of other scripts."""
    if category not in ("Mn", "Me") or "\u0300" <= character <= "\u036f":
        return False
    return name.startswith(("COMBINING", "VARIATION SELECTOR"))


def count_symbols(text: str) -> tuple[int, int]:
    """Count the symbols of a text that stand for no letter, and all its characters but space and emoji."""
    if text.isascii():
        return 0, len(text)
    counts = Counter(fold_letters(text))
    visible = {one: count for one, count in counts.items() if not (one.isspace() or one == HIDDEN or _EMOJI.match(one))}
    return sum(count for one, count in visible.items() if _is_symbol(one)), sum(visible.values())


def is_mostly_words(text: str) -> bool:
    """Tell whether a text can be read: less than a fifth of it are symbols that stand for no letter."""
    symbols, total = count_symbols(text)
    return symbols < MIN_SYMBOLS or symbols < SYMBOL_SHARE * total


def _is_symbol(character: str) -> bool:
    return character >= "\u0250" and unicodedata.category(character) in ("So", "Sk", "Co", "Cn")
