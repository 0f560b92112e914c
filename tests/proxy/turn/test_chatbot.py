"""A chatbot assembled from its settings."""

from pathlib import Path
from typing import Any

import pytest

from proxy.config.blueprint import assemble
from proxy.config.config import ConfigError, parse_config
from proxy.turn.chatbot import Chatbot, open_chatbot
from tests.proxy.conftest import Body, write_sections


def config(tmp_path: Path, aliases: tuple[str, ...] = ("chatbot",), **changes: Any) -> Any:
    bot: Body = {"model": "chatbot", "role": "r", "refiner": None, "emergency": {"contact": "Call 112 now."}, **changes}
    data = {"models": {a: {"engine": "embedded"} for a in aliases}, "chatbots": {"bot": bot}}
    return parse_config(data, tmp_path / "c.yaml")


def chatbot(tmp_path: Path, **changes: Any) -> Chatbot:
    models: Any = None
    return open_chatbot(assemble(config(tmp_path, **changes))["bot"], models)


@pytest.mark.parametrize("fallback", ["Sorry.", "Sorry. Call 112 now.", "  Sorry.\n", "Call 112 now."])
def test_fallback_always_holds_the_emergency_contact_once(tmp_path: Path, fallback: str) -> None:
    """Independent of the configured text."""
    assert chatbot(tmp_path, fallback=fallback).fallback("").count("Call 112 now.") == 1


BY_LANGUAGE = {"en": "Call 112.", "de": "Ruf 112.", "fr": "Appelez le 112."}


@pytest.mark.parametrize(
    ("fallback", "contact", "said", "text"),
    [
        ({"en": "Sorry.", "de": "Leider."}, BY_LANGUAGE, "Wie viel Schlaf brauche ich?", "Leider.\n\nRuf 112."),
        ({"en": "Sorry.", "de": "Leider."}, BY_LANGUAGE, "How much sleep do I need?", "Sorry.\n\nCall 112."),
        ({"de": "Leider.", "en": "Sorry."}, BY_LANGUAGE, "12345", "Leider.\n\nRuf 112."),
        ({"de": "Leider.", "en": "Sorry."}, BY_LANGUAGE, "De quoi ai-je besoin pour dormir ?", "Leider.\n\nRuf 112."),
        ({"en": "Sorry.", "de": "Leider, ruf 112."}, "112", "Was soll ich tun?", "Leider, ruf 112."),
        ({"en": "Sorry.", "de": "Leider."}, "112", "Was soll ich tun?", "Leider.\n\n112"),
        ("Sorry.", BY_LANGUAGE, "Was soll ich tun?", "Sorry.\n\nRuf 112."),
        ("Sorry.", BY_LANGUAGE, "12345", "Sorry.\n\nCall 112."),
    ],
)
def test_fallback_and_its_contact_are_in_one_language(
    tmp_path: Path, fallback: Any, contact: Any, said: str, text: str
) -> None:
    """The user's language if it is configured, else the first."""
    assert chatbot(tmp_path, fallback=fallback, emergency={"contact": contact}).fallback(said) == text


def test_contact_is_in_the_language_of_the_message(tmp_path: Path) -> None:
    """Also in an emergency whose texts lack the language. An unconfigured language gets the first contact."""
    one = chatbot(tmp_path, emergency={"contact": BY_LANGUAGE, "texts": {"medical": {"en": "M en"}}})
    assert (one.contact("Was soll ich tun?"), one.contact("12345")) == ("Ruf 112.", "Call 112.")
    said = {"en": "I want to die and go", "fr": "je ne veux plus et je vais", "?": "12345"}
    assert [one.emergency_text("psychosis", text) for text in said.values()] == ["M en", "Appelez le 112.", "Call 112."]


TEXTS = {"self_harm": {"en": "SH en", "de": "SH de"}, "medical": {"en": "M en", "fr": "M fr"}}


@pytest.mark.parametrize(
    ("kind", "said", "text"),
    [
        ("self_harm", "I want to die and go", "SH en"),
        ("self_harm", "ich will nicht mehr und das ist es", "SH de"),
        ("self_harm", "je ne veux plus et je vais", "M fr"),
        ("medical", "ich will nicht mehr und das ist es", "SH de"),
        ("medical", "12345", "M en"),
        ("psychosis", "12345", "Call 112 now."),
        ("psychosis", "I am not the man I was", "SH en"),
        ("", "", "Call 112 now."),
    ],
)
def test_emergency_text_is_of_the_kind_and_the_language(tmp_path: Path, kind: str, said: str, text: str) -> None:
    """The language takes precedence over the kind. Without either, the reply is the contact."""
    assert chatbot(tmp_path, emergency={"contact": "Call 112 now.", "texts": TEXTS}).emergency_text(kind, said) == text


def test_every_problem_of_every_chatbot_is_found(tmp_path: Path) -> None:
    """Missing folder, missing prompt, unknown judge, missing stage: one error lists all."""
    judges = ["rude", "gone.md", {"name": "role", "stages": ["swift"]}]
    with pytest.raises(ConfigError) as caught:
        assemble(config(tmp_path, judges=judges, knowledge_base="nowhere"))
    found = "\n".join(caught.value.problems)
    for word in ("judges[0]", "gone.md", "judges[2]", "nowhere"):
        assert word in found


def test_stages_default_to_those_with_a_prompt(tmp_path: Path) -> None:
    """Swift before chief. The local stage runs only if configured."""
    built = assemble(config(tmp_path, ("chatbot", "swift", "chief"), judges=["role"]))["bot"]
    assert [plan.stages for plan in built.plans] == [("swift", "chief")]
    built = assemble(config(tmp_path, judges=[{"name": "role", "stages": ["local"]}]))["bot"]
    assert [plan.stages for plan in built.plans] == [("local",)]


def test_built_in_prompt_may_be_replaced_one_stage_at_a_time(tmp_path: Path) -> None:
    """The configured file replaces its stage; the other stage keeps the built-in prompt."""
    front = "---\nname: role\nstage: swift\nmodel: chatbot\nmodes: [source]\nobservation: role\n---\nMINE\n"
    (tmp_path / "mine.md").write_text(front)
    judges = [{"name": "role", "prompts": ["mine.md"]}]
    (plan,) = assemble(config(tmp_path, ("chatbot", "swift", "chief"), judges=judges))["bot"].plans
    assert plan.prompts["swift"].text == "MINE"
    assert plan.prompts["chief"].text != "MINE"


def test_local_stage_of_a_judge_of_ones_own_is_refused(tmp_path: Path) -> None:
    """A custom judge has no local rules in code."""
    (tmp_path / "own.md").write_text("---\nname: own\nstage: swift\nmodel: chatbot\nobservation: verdict\n---\nX\n")
    with pytest.raises(ConfigError, match="no local stage"):
        assemble(config(tmp_path, judges=[{"prompts": ["own.md"], "stages": ["local", "swift"]}]))


def test_upstream_model_is_the_configured_name_or_the_alias(tmp_path: Path) -> None:
    """Passthrough sends this name instead of the chatbot's name."""

    class Models:
        settings = config(tmp_path).models

    built: Any = assemble(config(tmp_path))["bot"]
    assert open_chatbot(built, Models()).upstream_model == "chatbot"


def test_chatbots_of_one_knowledge_base_share_what_chooses_from_it(tmp_path: Path) -> None:
    """One index, even if the paths are written differently. It takes half a megabyte."""
    write_sections(tmp_path / "kb")
    one: Body = {
        "model": "chatbot",
        "role": "r",
        "refiner": None,
        "knowledge_base": "kb",
        "emergency": {"contact": "112"},
    }
    bots = {"one": one, "two": one | {"knowledge_base": str(tmp_path / "kb")}}
    made = assemble(
        parse_config({"models": {"chatbot": {"engine": "embedded"}}, "chatbots": bots}, tmp_path / "c.yaml")
    )
    models: Any = None
    one, two = (open_chatbot(made[name], models).library for name in ("one", "two"))
    assert one is not None
    assert two is not None
    assert one.index is two.index
