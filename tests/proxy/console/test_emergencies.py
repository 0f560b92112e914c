"""The inbox of emergencies over HTTP: what it shows to whom, and what its buttons write down."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.api.service import SERVICE
from proxy.traces.backend import trace_backend
from proxy.traces.labels import labels
from tests.proxy.console.conftest import Console, console_config, serve_console
from tests.proxy.console.visitor import Granted, Visitor, serve_with_keys

EMERGENCY = "I want to kill myself tonight."
CONCERN = "I feel like there is no point in anything any more and everyone would be better off"
HOSTILE = "I want to kill myself \u202e\u200b <script>alert(1)</script> javascript:alert(2)"


def items(page: str) -> list[str]:
    """Return the items of a page, open ones and done ones."""
    return re.findall(r'<article class="alarm.*?</article>', page, re.DOTALL)


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Console]:
    with serve_console(tmp_path, console_config(tmp_path)) as running:
        yield running


def test_inbox_shows_quote_kind_layer_and_what_the_user_got(console: Console) -> None:
    """An emergency and a concern stand there with their quotes marked, in plain words, the newest first."""
    console.say_stored("What is schizophrenia?", EMERGENCY, CONCERN)
    concern, emergency = items(Visitor(console.url).get("/console/emergencies").text)
    assert "<mark>kill myself</mark>" in emergency
    assert "Self-harm or suicide" in emergency
    assert "Explicit patterns" in emergency
    assert "The emergency text instead of a reply." in emergency
    assert "I am worried about your safety" in emergency
    assert "Learned classifier" in concern
    assert "with the emergency contact as its last paragraph" in concern


def test_without_a_turn_the_inbox_says_so(console: Console) -> None:
    """Where nobody has written anything dangerous yet, the page explains itself."""
    console.say_stored("What is schizophrenia?")
    assert "No emergencies" in Visitor(console.url).get("/console/emergencies").text


def test_hostile_message_is_shown_as_text(console: Console) -> None:
    """Markup in a message is escaped, and a message of 200 kB does not make a page of 200 kB."""
    console.say_stored(HOSTILE, EMERGENCY + " y" * 100_000)
    page = Visitor(console.url).get("/console/emergencies").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    assert len(page) < 40_000


def test_answers_become_labels_of_the_judge(console: Console) -> None:
    """Right is `reject` for an emergency and `warn` for a concern, a false alarm `accept`; undo takes the last one back."""
    console.say_stored(CONCERN, EMERGENCY)
    visitor = Visitor(console.url)
    csrf = visitor.csrf()
    turns = re.findall(r"item\?turn=([0-9a-f]+)", visitor.get("/console/emergencies").text)

    def answer(turn: str, said: str) -> list[str]:
        page = visitor.post("/console/emergencies/label", {"csrf": csrf, "turn": turn, "said": said})
        assert page.status == 200
        given = labels(trace_backend(console.app[SERVICE].config.privacy))
        return [label.verdict for label in given.get(turn, ()) if label.judge == "emergency"]

    def count() -> int:
        return int(json.loads(visitor.get("/console/emergencies/open").text)["count"])

    emergency, concern = turns
    assert count() == 2
    assert answer(emergency, "right") == ["reject"]
    assert answer(concern, "right") == ["warn"]
    assert answer(concern, "emergency") == ["reject"]
    assert answer(concern, "false") == ["accept"]
    assert count() == 0
    page = visitor.get("/console/emergencies?state=false").text
    assert len(items(page)) == 1
    assert "100 %" in page  # of the concerns that somebody has looked at
    visitor.post("/console/emergencies/undo", {"csrf": csrf, "turn": emergency})
    assert count() == 1
    assert len(items(visitor.get("/console/emergencies?state=open").text)) == 1


def test_filters_choose_kind_alarm_and_time(console: Console) -> None:
    """Each filter leaves those alarms that are like it; answers that are none count as not given."""
    console.say_stored(CONCERN, EMERGENCY, "The voices tell me to jump and I have to obey")
    visitor = Visitor(console.url)
    for query, expected in {
        "": 3, "alarm=concern": 1, "alarm=emergency": 2, "kind=psychosis": 1, "kind=psychosis&alarm=concern": 0, "state=done": 0,
        "period=hour": 3, "chatbot=schizophrenia": 3, "kind=%3Cb%3E": 3,
    }.items():  # fmt: skip
        assert len(items(visitor.get(f"/console/emergencies?{query}").text)) == expected, query


def test_redacted_texts_are_shown_as_redacted(tmp_path: Path) -> None:
    """Where traces hold no texts the inbox says so, and still knows the kind of danger."""
    config = console_config(tmp_path)
    config["privacy"]["store"] = "redacted"
    with serve_console(tmp_path, config) as console:
        console.say_stored(EMERGENCY)
        page = Visitor(console.url).get("/console/emergencies").text
        assert "kill" not in page
        assert "characters]" not in page
        assert "Not stored (privacy.store: redacted)" in page
        assert "Self-harm or suicide" in page


def test_permissions_decide_who_sees_what(tmp_path: Path) -> None:
    """No text without `trace`, no label without `admin`, nothing of another key's chatbot, and nothing at all without a session."""
    granted: Granted = {
        "chat": (("chat",), None),
        "sees": (("chat", "console"), None),
        "reads": (("chat", "console", "trace"), None),
        "other": (("chat", "console", "trace", "admin"), ("other",)),
    }
    with serve_with_keys(tmp_path, granted) as (console, keys):
        console.say_stored(EMERGENCY, key=keys["chat"])
        stranger = Visitor(console.url)
        assert stranger.get("/console/emergencies/open").status == 200  # the form to sign in
        assert stranger.get("/console/emergencies", Accept="application/json").status == 401
        sees = Visitor(console.url).signed_in(keys["sees"]).get("/console/emergencies").text
        assert len(items(sees)) == 1
        assert "kill" not in sees
        assert "worried" not in sees
        assert "Hidden: needs the permission <code>trace</code>" in sees
        reads = Visitor(console.url).signed_in(keys["reads"])
        page = reads.get("/console/emergencies").text
        assert "kill myself" in page
        assert "needs the permission <code>admin</code>" in page
        turn = re.search(r"item\?turn=([0-9a-f]+)", page)[1]  # type: ignore[index]
        form = {"turn": turn, "said": "false", "csrf": reads.csrf()}
        assert reads.post("/console/emergencies/label", form).status == 403
        other = Visitor(console.url).signed_in(keys["other"])
        assert items(other.get("/console/emergencies").text) == []
        assert json.loads(other.get("/console/emergencies/open").text) == {"count": 0}
        assert other.get(f"/console/emergencies/item?turn={turn}").status == 404
        form["csrf"] = other.csrf()
        assert other.post("/console/emergencies/label", form).status == 404
        assert other.post("/console/emergencies/undo", form).status == 404
        assert labels(trace_backend(console.app[SERVICE].config.privacy)) == {}


def test_label_needs_the_sessions_token_and_its_own_page(console: Console) -> None:
    """A form of another site, or without the token, changes nothing."""
    console.say_stored(EMERGENCY)
    visitor = Visitor(console.url)
    csrf = visitor.csrf()
    turn = re.search(r"item\?turn=([0-9a-f]+)", visitor.get("/console/emergencies").text)[1]  # type: ignore[index]
    form = {"turn": turn, "said": "false"}
    assert visitor.post("/console/emergencies/label", form).status == 403
    assert (
        visitor.post("/console/emergencies/label", {**form, "csrf": csrf}, Origin="http://evil.example").status == 403
    )
    assert visitor.post("/console/emergencies/label", {**form, "csrf": csrf, "said": "perhaps"}).status == 400
    assert labels(trace_backend(console.app[SERVICE].config.privacy)) == {}


def test_reading_and_answers_go_to_the_audit_log_without_texts(tmp_path: Path) -> None:
    """One record for a page of texts, and one for an answer, with the turn's id and no word of what was said."""
    audit = tmp_path / "audit"
    with serve_console(tmp_path, console_config(tmp_path, audit={"folder": str(audit), "sync": "turn"})) as console:
        console.say_stored(EMERGENCY)
        visitor = Visitor(console.url)
        page = visitor.get("/console/emergencies").text
        turn = re.search(r"item\?turn=([0-9a-f]+)", page)[1]  # type: ignore[index]
        csrf = visitor.csrf()
        visitor.post(
            "/console/emergencies/label", {"csrf": csrf, "turn": turn, "said": "right"}, Accept="application/json"
        )
    text = "".join(one.read_text() for one in audit.rglob("*") if one.is_file())
    records = [json.loads(line) for line in text.splitlines()]
    done = {one.get("action"): one for record in records for one in (record, *record.values()) if isinstance(one, dict)}
    assert turn in json.dumps(done["console_read"])
    assert turn in json.dumps(done["console_label"])
    assert "kill" not in text
