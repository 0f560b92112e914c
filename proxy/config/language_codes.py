"""Validates the language codes that are keys of texts in the configuration. Language detection must know each code."""

from typing import Any

CODES = frozenset(
    """
    af als am an ar arz as ast av az azb ba bar bcl be bg bh bn bo bpy br bs bxr ca cbk ce ceb ckb co cs cv cy da de diq dsb dty
    dv el eml en eo es et eu fa fi fr frr fy ga gd gl gn gom gu gv he hi hif hr hsb ht hu hy ia id ie ilo io is it ja jbo jv ka
    kk km kn ko krc ku kv kw ky la lb lez li lmo lo lrc lt lv mai mg mhr min mk ml mn mr mrj ms mt mwl my myv mzn nah nap nds ne
    new nl nn no oc or os pa pam pfl pl pms pnb ps pt qu rm ro ru rue sa sah sc scn sco sd sh si sk sl so sq sr su sv sw ta te
    tg th tk tl tr tt tyv ug uk ur uz vec vep vi vls vo wa war wuu xal xmf yi yo yue zh""".split()
)
"""Labels of the language detection model (`judges/languages.py`): ISO 639-1, else ISO 639-3 or Wikipedia's own code."""
SAME = {"nn": "no", "nb": "no", "iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro", "fil": "tl", "cmn": "zh"}
"""Alternative codes with the code in CODES: both written forms of Norwegian, and codes that BCP 47 has replaced."""


def language_code(tag: str) -> str | None:
    """Return the code in CODES for a BCP 47 tag, such as `de` for `de-AT`; None if the language cannot be detected."""
    language = tag.replace("_", "-").partition("-")[0].lower()
    code = SAME.get(language, language)
    return code if code in CODES else None


def by_language_code(value: Any) -> Any:
    """Replace the keys of a mapping, which are language tags, by codes in CODES. Return other values unchanged.

    Raises:
        ValueError: A key is not the code of a detected language, or two keys name the same language.
    """
    if not isinstance(value, dict):
        return value
    tags: dict[str, str] = {}
    for tag in value:
        if not isinstance(tag, str):
            raise ValueError(
                f'invalid language code {tag!r} (expected a string such as en); YAML reads a bare no as false, so write "no"'
            )
        code = language_code(tag)
        if code is None:
            raise ValueError(f"unknown language {tag!r} (expected an ISO 639-1 code such as en, de or no)")
        if code in tags:
            raise ValueError(f"{tags[code]!r} and {tag!r} both name the language {code!r}; keep one")
        tags[code] = tag
    return {code: value[tag] for code, tag in tags.items()}
