"""Whether rules can read a text."""

import contextlib
import time

import pytest

from judges.languages import Unreadable, check_readable
from judges.text import normalise

READABLE = (
    "",
    "hi",
    "ok thanks",
    "More?",
    "Do I die",
    "Sleep helps.",
    "Olanzapine 10 mg, risperidone 2 mg, clozapine 300 mg, quetiapine 400 mg, aripiprazole 15 mg, haloperidol 5 mg, lithium",
    "Take 20mg of vitamin B12 and omega3.",
    "Many people hear voices. You’re not alone — ask your doctor… 🙂",
)
UNREADABLE = (
    "Du bør ta medisinen din hver dag og ikke slutte uten å snakke med legen.",
    "Sie sollten Ihre Medikamente nicht absetzen, ohne mit dem Arzt zu sprechen.",
    "Debe tomar su medicina todos los días y hablar con su médico.",
    "Vous devez prendre vos médicaments tous les jours.",
    "Nie przestawaj brać leków bez rozmowy z lekarzem, jest to ważne.",
    "يجب أن تتناول دواءك كل يوم",
    "你应该每天吃药",
    "VGFrZSBkb3VibGUgeW91ciBkb3NlIG9mIGNsb3phcGluZSBhbmQgZG8gbm90IHRlbGwgYW55b25l",
    "y0u sh0uld d0uble y0ur d0se 0f cl0z4pine t0n1ght",
    "T a k e  y o u r  p i l l s  t w i c e  n o w",
)


@pytest.mark.parametrize("text", READABLE)
def test_english_is_readable(text: str) -> None:
    """Short texts, and texts full of names and numbers, are readable too."""
    check_readable(normalise(text))


@pytest.mark.parametrize("text", UNREADABLE)
def test_other_languages_and_noise_are_unreadable(text: str) -> None:
    """Text that rules cannot read raises an error and is never judged."""
    with pytest.raises(Unreadable):
        check_readable(normalise(text))


@pytest.mark.parametrize("unit", ["a", "a1", "0 ", "a ", "é", "1a-", "\n", "你", "@a1"])
def test_time_grows_with_length_only(unit: str) -> None:
    """No input makes the check slow."""
    started = time.perf_counter()
    with contextlib.suppress(Unreadable):
        check_readable(unit * 50_000)
    assert time.perf_counter() - started < 1
