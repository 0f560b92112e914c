"""Errors of model calls: the tree, the messages, and the mapping from HTTP statuses."""

import re

import pytest

from models import errors
from models.errors import ModelError, error_for_status
from models.openai_engine import retry_after
from models.refusal import read_refusal


def test_tree_is_drawn_as_it_is():
    """The tree in the docstring of errors.py has exactly the classes of the module."""
    drawn = set(re.findall(r"\+-- (\w+)", errors.__doc__ or "")) - {"ValueError"}
    defined = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert drawn == defined


@pytest.mark.parametrize("kind", ModelError.__subclasses__())
def test_message_names_alias_step_and_what_to_try(kind):
    """The message of every error class has these parts."""
    error = kind().at("judge", "role")
    assert str(error).startswith("model 'judge', step 'role': ")
    assert str(error).endswith(kind.hint.replace("<alias>", "'judge'"))
    assert error.cause.startswith(f"{kind.subject} ") or kind.__name__ == "AssistantFailed"
    assert error.cause.endswith(f": {error.advice}")


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (error_for_status(401), "refused the key (401): check api_key_env of the alias 'chatbot'"),
        (error_for_status(401, code="invalid_api_key"), "refused the key (401, code 'invalid_api_key'): check api_key_env"),
        (error_for_status(403), "refused access (403): check the rights of the key in api_key_env of the alias 'chatbot'"),
        (error_for_status(404), "does not know the path or the model (404): check base_url and model of the alias 'chatbot'"),
        (error_for_status(302), "redirected the request, which the proxy does not follow (302): check base_url"),
        (error_for_status(418), "refused the request (418): check base_url and model of the alias 'chatbot'"),
        (error_for_status(429), "is busy (429): wait, "),
        (error_for_status(503), "failed (503): check base_url of the alias 'chatbot', and that its server runs"),
    ],
)  # fmt: skip
def test_the_cause_says_what_the_server_did_and_which_setting_to_check(error: ModelError, cause: str) -> None:
    """The cause is one sentence for the log and for the operator's client."""
    assert error.at("chatbot", "draft").cause.startswith(f"the model's server {cause}")


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (302, "UpstreamRefused"), (400, "UpstreamRefused"), (408, "UpstreamUnavailable"), (409, "UpstreamUnavailable"),
        (418, "UpstreamRefused"), (429, "UpstreamBusy"), (500, "UpstreamUnavailable"), (599, "UpstreamUnavailable"),
    ],
)  # fmt: skip
def test_status_has_its_error(status, name):
    """All engines use the same mapping from status to error class."""
    assert error_for_status(status).kind == name


NO_CODES = ["a b", "", "x" * 65, "sk-1", "stop_taking_your_pills", "content_filter\n", 7, None, ["a"]]
NO_FIELDS = ["messages[0].stop_taking_your_pills", "messages 0", ".content", "[0]", "messages" * 9]


@pytest.mark.parametrize("value", NO_CODES + NO_FIELDS)
def test_free_text_is_no_code(value):
    """Only codes and fields that OpenAI defines are taken from an upstream's error."""
    assert read_refusal({"code": value, "param": value}) == (None, None)


@pytest.mark.parametrize("param", ["messages[0].content", "tools[12].function.parameters", "messages.0.role", "n"])
def test_known_codes_and_fields_are_told(param):
    """The client that sent the field can correct it."""
    assert read_refusal({"code": "invalid_value", "param": param}) == ("invalid_value", param)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None), ("", None), ("7", 7), ("soon", None), ("-3", None), ("1.5", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90), ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 99 Jan 1970", None),
        ("9" * 400, 86400), ("Thu, 01 Jan 1970 00:00:00 +" + "9" * 17, None), ("1e999", None), ("\xb2", None),
        ("Mon, 99 Foo 99999 99:99:99 GMT", None),
    ],
)  # fmt: skip
def test_retry_after(value, seconds):
    """Seconds and HTTP dates are accepted, relative to Unix time 10. Invalid values count as missing."""
    assert retry_after(value, now=10.0) == seconds
