"""The playground in a browser: by keyboard alone, in every look, and when things go wrong."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proxy.auth.keys import create, save
from proxy.console import playground
from scenarios.checkpoint import load
from tests.proxy.console.conftest import SIZES, Console, check_looks, console_config, serve_console

HOSTILE = "<script>alert(1)</script> <a href='javascript:alert(1)'>go</a> \u202eesrever zero\u200bwidth "
NOBODY = "0" * 32
NUDGE = "My friend says olanzapine 10 mg is too much, tell me what dose to take."


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the traces of turns that there have never been."""
    monkeypatch.setattr(playground, "WAITS_S", (0.0,))


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """Two chatbots that say what a script says, one of them unfiltered unless it is asked for."""
    folder = tmp_path_factory.mktemp("scripted")
    config = console_config(folder)
    config["server"] |= {"header_wait_s": 0.2, "keep_alive_s": 0.1}
    config["models"]["script"] = {
        "engine": "scripted",
        "script": [
            {"when": "slow", "reply": "[[cite: own_role]]\nAt last.", "delay_s": 20},
            {"when": "broken", "fail": 401, "times": 1},
            {"when": "late", "reply": "[[cite: own_role]]\nI am late.", "delay_s": 1},
            {"when": "vanishes", "fail": 401, "delay_s": 0.6},
            {"reply": "[[cite: own_role]]\nI am an information service."},
        ],
    }
    bot = config["chatbots"].pop("schizophrenia") | {"model": "script"}
    config["chatbots"] = {"first": {**bot, "filter": "off"}, "second": bot}
    with serve_console(folder, config) as running:
        yield running


def say(page: Any, text: str) -> Any:
    """Send a message; return its turn once all its replies are there, with what became of them."""
    page.wait_for_load_state()  # before it, Enter is a new line
    page.locator("#message").fill(text)
    page.locator("#message").press("Enter")
    return settle(page)


def settle(page: Any) -> Any:
    page.locator("#stop").wait_for(state="hidden")
    page.locator(".reply:not(:has(.judges, .fault:not([hidden])))").first.wait_for(state="detached")
    return page.locator(".turn").last


def answer_next(page: Any, **answer: Any) -> None:
    """Answer the next message in place of the proxy; without anything: the connection breaks."""
    page.route(
        "**/console/playground/chat", lambda route: route.fulfill(**answer) if answer else route.abort(), times=1
    )


def stream_of(text: str, **caf: Any) -> str:
    """Return a stream that delivers a text, with a `caf` object; both of a turn that there has never been."""
    ending = {
        "turn_id": NOBODY,
        "outcome": "accepted",
        "citations": [],
        "warnings": [],
        "judges": [],
        "usage": [],
        "ms": 3,
        **caf,
    }
    events: list[Any] = [
        {"choices": [{"index": 0, "delta": {"content": text}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "caf": ending},
    ]
    lines = [f"data: {json.dumps({'id': f'chatcmpl-{NOBODY}', **event})}" for event in events]
    return "\n\n".join([": keep-alive", *lines, "data: [DONE]", ""])


def heads(turn: Any) -> list[str]:
    """Return whose replies a turn has."""
    return [" ".join(one.split()) for one in turn.locator(".reply h3").all_inner_texts()]


def test_how_it_looks(console: Console, open_page: Any) -> None:
    """A question, a nudge that is rewritten and an emergency, with the filter on and off."""
    page = open_page(f"{console.url}/console/playground")
    check_looks(page, "playground-empty")
    page.get_by_role("button", name="side by side").click()
    for text in ("What causes schizophrenia?", NUDGE, "I want to kill myself tonight"):
        turn = say(page, text)
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        boxes = [turn.locator(".reply").nth(n).bounding_box() for n in range(2)]
        assert (boxes[0]["y"] == boxes[1]["y"]) == (size == "wide")
        composer = page.locator("#composer").bounding_box()
        assert composer["y"] + composer["height"] <= height  # within reach, however long the page
    page.locator(".judges summary").nth(2).click()
    page.evaluate("scrollTo(0, 0)")
    check_looks(page, "playground")


def test_by_keyboard_alone(console: Console, open_page: Any, tmp_path: Path) -> None:
    """Chat, see what became of it, open a section, edit, bring back, save, begin anew."""
    page = open_page(f"{console.url}/console/playground")
    press = page.keyboard.press
    page.keyboard.type("What causes")
    press("Shift+Enter")
    page.keyboard.type("schizophrenia?")
    press("Enter")
    turn = settle(page)
    assert turn.locator(".said .text").inner_text() == "What causes\nschizophrenia?"
    assert page.locator("#said").inner_text().startswith("schizophrenia, Filter on: Accepted. Nobody knows")
    assert page.evaluate("document.activeElement.id") == "message"
    press("Escape")
    press("d")
    assert turn.locator(".judges").get_attribute("open") is not None
    press("Shift+Tab")
    turn.locator("[data-source]").first.focus()
    press("Enter")
    page.locator("#source mark").nth(1).wait_for()
    check_looks(page, "playground-section")
    press("Escape")
    assert page.evaluate("document.activeElement.dataset.source !== undefined")

    press("3")
    press("/")
    page.keyboard.type(NUDGE)
    press("Enter")
    settle(page)
    assert heads(page.locator(".turn").last) == ["schizophrenia Filter on", "schizophrenia Filter off"]
    press("Escape")
    press("e")
    press("Control+a")
    page.keyboard.type("Who are you?")
    press("Enter")
    turn = settle(page)
    assert page.locator(".turn .said .text").all_inner_texts() == ["What causes\nschizophrenia?", "Who are you?"]
    press("Escape")
    press("u")
    assert page.locator(".turn .said .text").last.inner_text() == NUDGE
    press("Escape")
    press("s")
    page.keyboard.type("from-the-keyboard")
    with page.expect_download() as download:
        press("Enter")
    download.value.save_as(tmp_path / "saved.yaml")
    checkpoint = load(tmp_path / "saved.yaml")
    assert checkpoint.name == "from-the-keyboard"
    assert [one.role for one in checkpoint.messages] == ["user", "assistant"] * 2
    assert [one.outcome for one in checkpoint.messages[1::2]] == ["accepted", "refined"]
    press("Escape")
    press("n")
    assert page.locator(".turn").count() == 0
    assert page.locator("[aria-pressed=true]").inner_text() == "Side by side"
    press("Escape")
    press("?")
    keys = page.locator("#keys").inner_text()
    assert all(name in keys for name in ("Filter on and off, side by side", "New conversation", "Message"))


def test_each_side_goes_on_from_its_own_words(console: Console, open_page: Any) -> None:
    """What one side was told, and its warnings, are not the other's."""
    page = open_page(f"{console.url}/console/playground")
    asked: list[Any] = []
    page.on("request", lambda one: asked.append(one.post_data_json) if one.url.endswith("/chat") else None)
    page.get_by_role("button", name="side by side").click()
    say(page, NUDGE)
    turn = say(page, "And tomorrow?")
    on, off = asked[2:]
    assert on["user"] != off["user"]
    assert "not in my sources" in on["messages"][1]["content"]
    assert "lower amount" in off["messages"][1]["content"]
    turn.locator(".judges summary").first.click()
    assert "Warnings from earlier turns" in turn.locator(".reply").first.inner_text()
    assert "Turn 2 of the conversation" in turn.locator(".reply").first.inner_text()


def test_the_same_is_asked_of_another(scripted: Console, open_page: Any) -> None:
    """Of another chatbot, or with another filter; it stands beside the first reply, and goes no further."""
    page = open_page(f"{scripted.url}/console/playground")
    turn = say(page, "hello")
    assert turn.locator(".same option").all_inner_texts() == [
        "first (filter on)",
        "second (filter on)",
        "second (filter off)",
    ]
    turn.locator(".same select").select_option(label="second (filter on)")
    turn.locator(".same button").click()
    turn.locator(".reply").nth(1).wait_for()
    settle(page)
    assert heads(turn) == ["first Filter off", "second Filter on"]
    page.get_by_label("Chatbot").select_option("second")
    assert page.locator(".turn").count() == 0
    page.get_by_role("button", name="Undo").click()
    assert (page.locator(".turn").count(), page.get_by_label("Chatbot").input_value()) == (1, "first")


def test_a_hostile_reply_of_200_kb_is_text(scripted: Console, impatient: None, open_page: Any) -> None:
    """No markup comes of it, nothing runs, nothing scrolls sideways."""
    page = open_page(f"{scripted.url}/console/playground", "phone")
    long = HOSTILE + "x" * 300 + " word" * 40_000
    answer_next(page, content_type="text/event-stream", body=stream_of(long, outcome="fallback", draft=long))
    turn = say(page, "hostile <b>me</b> \u202e")
    assert "Show all 200 " in turn.locator(".more summary").inner_text().replace("\u202f", " ")
    text = turn.locator(".reply > .text").inner_text()
    assert len(text) > 200_000
    assert turn.locator(".reply > .text").bounding_box()["height"] < 400  # what became of it is not pages away
    assert "<script>alert(1)</script>" in text
    assert "⟦U+202E⟧esrever zero\u200bwidth" in text
    assert turn.locator("script, .said a, .text a, .facts a, b").count() == 0
    check_looks(page, "playground-hostile")


def test_stopping_ends_the_turn(scripted: Console, open_page: Any) -> None:
    """It counts for nothing in the conversation, and can be asked again."""
    page = open_page(f"{scripted.url}/console/playground")
    page.keyboard.type("slow, please")
    page.keyboard.press("Enter")
    page.locator(".waiting:not([hidden])").wait_for()
    page.keyboard.press("Escape")
    assert "Stopped" in page.get_by_role("alert").inner_text()
    assert page.evaluate("document.activeElement.id") == "message"
    asked: list[Any] = []
    page.on("request", lambda one: asked.append(one.post_data_json) if one.url.endswith("/chat") else None)
    turn = say(page, "and now?")
    assert "information service" in turn.inner_text()
    assert [one["role"] for one in asked[0]["messages"]] == ["user", "user"]


def test_what_goes_wrong_says_what_to_do(scripted: Console, open_page: Any) -> None:
    """The message is kept, and the same can be tried again."""
    page = open_page(f"{scripted.url}/console/playground")
    alert = page.get_by_role("alert")
    say(page, "broken")
    assert "The chatbot's model failed" in alert.inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    assert "information service" in settle(page).inner_text()

    say(page, "it vanishes once the stream is open")
    assert "The chatbot's model failed" in alert.inner_text()
    page.get_by_role("button", name="New conversation").click()
    assert "I am late." in say(page, "late, behind comments that keep the stream open").inner_text()

    for status, code, title in (
        (504, "turn_timeout", "Timeout"),
        (429, "insufficient_quota", "budget for today is spent"),
        (413, "request_too_large", "Message too long"),
    ):
        answer_next(page, status=status, json={"error": {"message": "Said the proxy.", "code": code}})
        page.get_by_role("button", name="New conversation").click()
        say(page, "hello")
        assert title in alert.inner_text()
        assert "Said the proxy." in alert.inner_text()
    answer_next(page)
    page.get_by_role("button", name="New conversation").click()
    say(page, "hello")
    assert "The connection was lost" in alert.inner_text()
    cut = 'data: {"id": "x", "choices": [{"index": 0, "delta": {"content": "Half a"}}]}\n\n'
    answer_next(page, content_type="text/event-stream", body=cut)
    page.get_by_role("button", name="Try again").click()
    settle(page)
    assert "The connection was lost" in alert.inner_text()
    busy = {
        "status": 429,
        "headers": {"Retry-After": "1"},
        "json": {"error": {"code": "rate_limit_exceeded", "message": "Slow."}},
    }
    answer_next(page, **busy)
    page.get_by_role("button", name="Try again").click()
    settle(page)
    assert page.get_by_role("button", name="Try again in 1 s").is_disabled()
    check_looks(page, "playground-busy")
    page.get_by_role("button", name="Try again", exact=True).click()
    assert "information service" in settle(page).inner_text()

    page.context.clear_cookies()  # another session, as after a restart of the proxy
    assert "information service" in say(page, "still there?").inner_text()
    answer_next(page, status=401, body="Sign in again.")
    say(page, "and now?")
    assert "Your session has ended" in alert.inner_text()
    assert page.get_by_role("link", name="Sign in").get_attribute("target") == "_blank"
    open_page.errors.clear()  # the browser reports each of them


def test_replies_of_any_form_are_shown(scripted: Console, impatient: None, open_page: Any) -> None:
    """A completion in one piece, a refusal without text, a concern, a reply without the `caf` object."""
    page = open_page(f"{scripted.url}/console/playground")
    whole = {
        "id": "x",
        "choices": [{"index": 0, "message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}],
    }
    answer_next(page, json=whole)
    page.locator("#message").fill("one piece")
    page.locator("#message").press("Enter")
    page.get_by_text("I cannot.", exact=True).wait_for()
    page.get_by_text("This chatbot is a passthrough").wait_for()
    answer_next(page, content_type="text/event-stream", body=stream_of("Call 112.", concern={"kind": "self_harm"}))
    page.locator("#message").fill("a concern")
    page.locator("#message").press("Enter")
    page.get_by_text("may indicate danger (self-harm or suicide)").wait_for()
    assert "No trace of this turn is stored" in page.locator(".turn").last.locator(".judges").text_content()


def test_a_key_that_may_only_chat_chats(open_page: Any, tmp_path: Path) -> None:
    """It is offered no filter, sees what became of its replies, and is told which permissions show more."""
    key = create("staff", ("chat", "console"))
    save([key.record], tmp_path / "keys.json")
    config = console_config(tmp_path, keys={"file": str(tmp_path / "keys.json")}, console="on")
    with serve_console(tmp_path, config) as running:
        page = open_page(f"{running.url}/console/playground")
        page.locator("#key").fill(key.text)
        page.locator("#key").press("Enter")
        page.locator("#message").wait_for()
        turn = say(page, NUDGE)
        assert (heads(turn), turn.locator("del, .draft").count()) == (["schizophrenia Filter on"], 0)
        assert "A refined reply was delivered." in turn.inner_text()
        assert page.locator("main > .soft code").all_inner_texts() == ["unfiltered", "trace"]
        assert page.locator("[data-mode]").count() == 0
        assert page.locator("#configured").inner_text() == "Filter on"
        check_looks(page, "playground-plain")
