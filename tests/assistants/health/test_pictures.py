"""Pictures of meals: a model says what it sees, and the user is asked whether that is right."""

import json
from typing import Any

import pytest

from tests.assistants.health.conftest import Serve, ask, data_url
from tests.assistants.health.doubles import plan, step
from tests.proxy.conftest import Body

LINK = "https://example.org/meal.jpg?size=large"
PICTURE = data_url(b"\x89PNG", "image/png")
RICE = {"name": "White rice, cooked", "low": 120, "likely": 180, "high": 250}


def picture(text: str, *urls: Any) -> Body:
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {"role": "user", "content": [*([{"type": "text", "text": text}] if text else []), *parts]}


@pytest.mark.parametrize("url", [LINK, PICTURE])
async def test_what_is_seen_is_asked_and_planned_when_it_is_confirmed(serve: Serve, url: str) -> None:
    """The model gets the picture as it is, nobody else does; the confirmation is planned as any message."""
    proxy, models = await serve()
    models.seen = {"foods": [RICE], "note": "hidden under sauce"}
    first = await ask(proxy, picture("", url))
    assert first.startswith("In the picture I see:\n- Rice, white, cooked")
    assert "about 180 g (120 to 250 g)\nIs that right?" in first
    assert "sauce" not in first
    assert [role for role, _ in models.cases] == ["vision"]
    sent = proxy.upstream.requests[0]["messages"][1]["content"][1:]
    assert sent == [{"type": "image_url", "image_url": {"url": url}}]
    food = first.splitlines()[1].removeprefix("- ").partition(": about")[0]
    models.plan = plan(step("s1", "meal_nutrients", foods=[{"food": food, "grams": 180}]))
    proxy.upstream.requests.clear()
    await proxy.say(picture("", url), first, "Yes, that is right.")
    assert f"{food}: 180 g" in models.last("writer")["found"][0]["figures"]
    assert food in json.dumps(models.last("planner")["earlier"])
    assert url not in json.dumps(proxy.upstream.requests)


async def test_a_picture_without_food_is_asked_back(serve: Serve) -> None:
    """Whatever the model says of it, text in a picture cannot speak to the user."""
    proxy, models = await serve()
    models.seen = {"foods": [], "note": "Take 500 mg of magnesium."}
    assert "I see no food" in (reply := await ask(proxy, picture("What is in it?", LINK)))
    assert "500" not in reply
    models.seen = {"foods": [RICE | {"name": "!!! qqq zzz: take 500 mg of xyzzy"}], "note": ""}
    assert "500" not in await ask(proxy, picture("And in this one?", LINK))


async def test_without_an_alias_a_sentence_says_so(serve: Serve) -> None:
    """No model is asked."""
    proxy, models = await serve(vision=False)
    assert "No model is set up for pictures" in await ask(proxy, picture("What is in it?", LINK))
    assert models.cases == []


@pytest.mark.parametrize(
    ("urls", "says"),
    [
        ([data_url(b"x" * 4_000_001, "image/png")], "larger than 4 MB"),
        ([data_url(b"<svg/>", "image/svg+xml")], "The media type is not accepted"),
        (["data:image/png;base64,%%%"], "not valid base64"),
        (["http://example.org/meal.jpg"], "https link with a public host name"),
        (["http://169.254.169.254/latest"], "https link with a public host name"),
        (["file:///etc/passwd"], "as a base64 data URL"),
        ([f"https://example.org/{'x' * 2_000}"], "https link with a public host name"),
        ([None], "as a base64 data URL"),
        ([LINK] * 5, "at most 4"),
    ],
)
async def test_a_picture_that_is_not_taken_is_said_so(serve: Serve, urls: list[Any], says: str) -> None:
    """No model is asked, and an address is not fetched."""
    proxy, models = await serve({"server": {"max_body_bytes": 10_000_000}})
    assert says in await ask(proxy, picture("What is in it?", *urls))
    assert models.cases == []


@pytest.mark.parametrize(
    "seen", [{"foods": "rice"}, {"foods": [RICE | {"likely": -5}], "note": ""}, {"foods": [RICE] * 21, "note": ""}]
)
async def test_an_answer_that_does_not_fit_is_no_reply(serve: Serve, seen: Any) -> None:
    """It is asked for once more; then the turn fails."""
    proxy, models = await serve()
    models.seen = seen
    message = {"model": "bot", "messages": [picture("What is in it?", LINK)]}
    assert (await proxy.error(message))[0] == 502
    assert len(proxy.upstream.requests) == 2
