"""Links of pictures: the model's server gets only https link with a public host namees."""

import pytest

from assistants import view
from assistants.assistant import AssistantRequest
from assistants.attachments import AttachmentError, read_pictures


def request(url: object) -> AssistantRequest:
    messages = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]
    return AssistantRequest(messages, view.read(messages))


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/a.png",
        "https://127.0.0.1/a.png",
        "https://169.254.169.254/latest",
        "https://2130706433/a.png",
        "https://0x7f.0x0.0x0.0x1/a.png",
        "https://[::1]/a.png",
        "https://localhost/a.png",
        "https://user:pw@example.org/a.png",
        "https://",
        "https://example.org/" + 5_000 * "a",
    ],
)
def test_a_link_that_is_not_public_is_refused(url: str) -> None:
    """The message names what is accepted."""
    with pytest.raises(AttachmentError, match="https link with a public host name"):
        read_pictures(request(url))


def test_a_public_link_is_passed_on() -> None:
    """It is not fetched or changed."""
    assert read_pictures(request("HTTPS://example.org/a.png"))[0]["image_url"]["url"] == "HTTPS://example.org/a.png"
