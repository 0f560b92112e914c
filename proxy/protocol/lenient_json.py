"""Reads the words in a request body that is not valid JSON or has duplicate keys, for the emergency judge only. Pure.

The parser reads token by token. It ignores commas and numbers, ends unclosed values with the body, and accepts any depth.
"""

import json
import re
from typing import Any

import orjson

Fields = dict[str, Any]


class Repeated(list[Any]):
    """All values of a key that occurs several times in an object."""


_TOKEN = re.compile(
    r"(?P<opening>[{\[])|(?P<closing>[}\]])"
    r'|(?:"(?P<double>(?>(?:[^"\\]++|\\.)*))"?'
    r"|'(?P<single>(?>(?:[^'\\]++|\\.|'(?!\s*+[,:}\]])){0,999}))'?"
    r"|(?P<bare>[^\s{}\[\]:,\"'][^{}\[\]:,\"]*+))\s*+(?P<colon>:?)",
    re.DOTALL,
)
"""A bracket, or a string with the colon after it if it is a key. An unterminated string extends to the end of the body; otherwise
every quote in the rest would allow another reading. An apostrophe within single quotes does not end the string."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_CONSTANTS: dict[str, bool | None] = {
    "true": True,
    **dict.fromkeys(("false", "null", "none", "nan", "infinity", "undefined")),
}
MAX_DEPTH = 1_000
"""Maximum nesting levels. Values below the deepest level are added to it."""


def repeats_a_key(raw: bytes, data: Fields) -> bool:
    """Return whether a body may contain a duplicate key. The decoder drops one value, so the body contains more quotes."""
    return b"\\u0022" in raw or raw.count(b'"') > orjson.dumps(data).count(b'"')


def read_leniently(raw: bytes) -> Fields:
    """Return the recognisable fields of a request body, in time linear in its length."""
    fields: Fields = {}
    rest: list[Any] = [_parse(_decode(raw))]
    for one in rest:  # the loop extends the list
        if isinstance(one, list):
            rest += [entry for entry in one if isinstance(entry, dict | Repeated)]
        elif "model" in one or one is not rest[0]:
            for name, value in one.items():
                _add(fields, name, value)
        else:  # values around the request object
            rest += [value for value in one.values() if isinstance(value, dict | list)]
    for name in ("model", "stream"):
        if isinstance(value := fields.get(name), Repeated):
            fields[name] = value[0]
    return fields


def _parse(text: str) -> Fields:
    """Parse a document, and return its values by key, as the fields of one object."""
    root: Fields = {}
    open_values: list[tuple[Fields | list[Any], str]] = [(root, "")]
    too_deep, key_end = 0, -1
    """Where the last token ended, if it was a key."""
    for token in _TOKEN.finditer(text):
        value, key = open_values[-1]
        if token.lastgroup == "opening":
            if len(open_values) < MAX_DEPTH:
                open_values.append(({} if token[0] == "{" else [], ""))
            else:
                too_deep += 1
        elif token.lastgroup == "closing":
            if too_deep:
                too_deep -= 1
            elif len(open_values) > 1:
                _close(open_values)
        elif token["colon"] and isinstance(value, dict):
            if key_end >= 0 and "," not in text[key_end : token.start()]:  # a stray colon turned the value into a key
                _put(value, key, _string(token))
            open_values[-1] = value, _string(token)
            key_end = token.end()
            continue
        elif (said := _value(token)) is not None:
            _put(value, key, said)
        key_end = -1
    while len(open_values) > 1:
        _close(open_values)
    return root


def _close(open_values: list[tuple[Fields | list[Any], str]]) -> None:
    """Add the innermost open value to its parent, unless it is empty."""
    value, _ = open_values.pop()
    if value:
        _put(*open_values[-1], value)


def _put(place: Fields | list[Any], key: str, value: Any) -> None:
    if isinstance(place, list):
        place.append(value)
    else:
        _add(place, key, value)


def _add(fields: Fields, key: str, value: Any) -> None:
    earlier = fields.get(key)
    if isinstance(earlier, Repeated):
        earlier.append(value)
    else:
        fields[key] = value if earlier is None else Repeated((earlier, value))


def _value(token: re.Match[str]) -> str | bool | None:
    """Return the value of a token; None if the token contains no words, for example a number."""
    bare: str | None = token["bare"]
    if bare is not None and (constant := bare.strip().lower()) in _CONSTANTS:
        return _CONSTANTS[constant]
    return _string(token) if bare is None or any(map(str.isalpha, bare)) else None


def _string(token: re.Match[str]) -> str:
    text = token["double"] or token["single"] or token["bare"] or ""
    if "\\" not in text:
        return text.strip() if token["bare"] else text
    text = _ESCAPE.sub(_unescape, text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # joins pairs of surrogates


def _unescape(escape: re.Match[str]) -> str:
    code, other = escape.groups()
    return chr(int(code, 16)) if code else _ESCAPED.get(other, other)


def _decode(raw: bytes) -> str:
    """Return the text of a body: decoded as Unicode, or as Windows-1252 if most non-ASCII characters are invalid Unicode."""
    text = raw.decode(json.detect_encoding(raw), "replace")
    others = sum(1 for character in text if character > "\x7f") if not text.isascii() else 0
    return raw.decode("cp1252", "replace") if 2 * text.count("\ufffd") > others else text
