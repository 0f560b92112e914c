"""Invalid settings of a model are reported at start-up with the expected value."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from models.client import open_models
from models.errors import ModelSettingsError
from models.scripted import Scripted
from models.settings import ModelSettings

OPENAI = {"engine": "openai", "base_url": "https://api.openai.com/v1"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"engine": "openai"}, "needs base_url"),
        (OPENAI | {"base_url": "api.openai.com/v1"}, "http://"),
        (OPENAI | {"base_url": "ftp://host"}, "http://"),
        (OPENAI | {"base_url": "https://me:pw@host/v1"}, "api_key_env"),
        (OPENAI | {"base_url": "https://host/v1?api-version=1"}, "query"),
        (OPENAI | {"base_url": "https://host/v1/chat/completions/"}, "must not include"),
        (OPENAI | {"api_key_env": "sk-123"}, "not the key itself"),
        (OPENAI | {"script": ["x"]}, "script needs engine scripted"),
        (OPENAI | {"timeout_s": 0}, "greater than 0"),
        (OPENAI | {"max_attempts": 0}, "greater than or equal to 1"),
        (OPENAI | {"queue": 3}, "queue needs max_concurrent"),
        (OPENAI | {"breaker": {"failures": 0}}, "greater than or equal to 1"),
        (OPENAI | {"hedge_after_s": 0}, "greater than 0"),
        (OPENAI | {"typo": 1}, "typo"),
        ({"engine": "litellm"}, "provider"),
        ({"engine": "litellm", "model": "a/b", "query": {"a": "b"}}, "query needs engine openai"),
        ({"engine": "scripted"}, "needs script"),
        ({"engine": "embedded", "base_url": "http://host"}, "base_url needs engine openai or litellm"),
        ({"engine": "embedded", "headers": {"a": "b"}}, "headers needs engine openai or litellm"),
        ({"engine": "scripted", "script": [{"when": "x"}]}, "exactly one of `reply`"),
        ({"engine": "scripted", "script": [{"when": "/(/", "reply": "x"}]}, "invalid regular expression"),
        ({"engine": "scripted", "script": [{"fail": 200}]}, "300 to 599"),
    ],
)
def test_message_says_what_would_be_right(fields, message):
    """Each mistake has a specific message."""
    with pytest.raises(ValidationError, match=message):
        ModelSettings.model_validate(fields)


@pytest.mark.parametrize("field", ["base_url", "api_key_env", "headers", "temperature"])
def test_misplaced_secret_is_not_printed(field):
    """If a key is in the wrong field, neither the error nor the repr contains the key."""
    with pytest.raises(ValidationError) as raised:
        ModelSettings.model_validate(OPENAI | {field: "sk-secret", "typo": 1})
    assert "sk-secret" not in str(raised.value)
    assert "sk-secret" not in repr(ModelSettings.model_validate(OPENAI | {"headers": {"key": "sk-secret"}}))


def test_trailing_slash_does_not_matter():
    """A trailing slash of `base_url` is removed."""
    assert ModelSettings.model_validate(OPENAI | {"base_url": "http://h/v1/"}).base_url == "http://h/v1"


def test_paths_are_relative_to_the_folder_of_the_file(tmp_path):
    """The loader passes the folder of config.yaml in the validation context."""
    for script in ("a.yaml", {"replay": "b.jsonl"}):
        settings = ModelSettings.model_validate({"engine": "scripted", "script": script}, context={"folder": tmp_path})
        path = settings.script if isinstance(settings.script, Path) else settings.script.replay
        assert path.parent == tmp_path


@pytest.mark.parametrize("value", [None, "", "  ", "sk-\n-x", "sk-é"])
async def test_missing_secret_is_found_at_start(session, value):
    """The message names the alias and the variable. An invalid key is refused without being printed."""
    settings = {"judge": ModelSettings.model_validate(OPENAI | {"api_key_env": "MY_KEY"})}
    with pytest.raises(ModelSettingsError, match=r"models\.judge.*MY_KEY") as raised:
        open_models(settings, session, {}, {} if value is None else {"MY_KEY": value})
    assert "sk-" not in str(raised.value)


async def test_secret_header_is_found_missing_at_start(session):
    """A header with `env:` needs its environment variable."""
    settings = {"judge": ModelSettings.model_validate(OPENAI | {"headers": {"api-key": "env:AZURE"}})}
    with pytest.raises(ModelSettingsError, match="AZURE"):
        open_models(settings, session, {}, {})


async def test_engine_that_nobody_registered(session):
    """The engine `embedded` needs a factory from the caller."""
    settings = {"bot": ModelSettings(engine="embedded")}
    with pytest.raises(ModelSettingsError, match=r"models\.bot.*'embedded'"):
        open_models(settings, session, {})
    seen = []

    def factory(one):
        seen.append(one)
        return Scripted([])

    open_models(settings, session, {"embedded": factory})
    assert seen == [settings["bot"]]
