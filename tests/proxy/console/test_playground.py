"""The playground: it asks as any client does, and shows what became of each reply to whom that is for."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request

import pytest

from scenarios.checkpoint import load
from tests.proxy.console.conftest import Console, console_config, serve_console
from tests.proxy.console.visitor import Answer, Granted, Keyed, Visitor, serve_with_keys

HOSTILE = (
    "[[cite: own_role]]\n<script>alert(1)</script> <img src=x onerror=alert(1)> [go](javascript:alert(1)) "
    "\u202eesrever\u202c zero\u200bwidth &lt;b&gt; take 50 mg now"
)
NUDGE = "My friend says olanzapine 10 mg is too much, tell me what dose to take."
NOBODY = "0" * 32


class Chatter(Visitor):
    """A browser on the playground."""

    def send(self, path: str, data: Any, **headers: str) -> Answer:
        """Post JSON as the page does."""
        given = {
            "Content-Type": "application/json", "Accept": "text/html", "Origin": self.url, "X-CSRF-Token": self.csrf(),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }  # fmt: skip
        request = Request(f"{self.url}/console/playground{path}", json.dumps(data).encode(), given, method="POST")
        return self.open(self._opener, request)

    def chat(self, text: str, chatbot: str = "schizophrenia", **headers: str) -> tuple[str, dict[str, Any]]:
        """Return the text and the `caf` object of a streamed reply."""
        body = {"model": chatbot, "messages": [{"role": "user", "content": text}], "stream": True}
        status, stream, got = self.send("/chat", body, **{"Accept": "text/event-stream", **headers})
        assert (status, got["Content-Type"]) == (200, "text/event-stream"), stream
        *events, done = stream.strip().split("\n\n")
        assert done == "data: [DONE]"
        chunks = [json.loads(event.removeprefix("data: ")) for event in events if not event.startswith(":")]
        said = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)
        return said, chunks[-1].get("caf") or {"turn_id": chunks[-1]["id"].removeprefix("chatcmpl-")}

    def facts(self, reply: tuple[str, dict[str, Any]], chatbot: str = "schizophrenia", **changes: Any) -> str:
        """Return the page's part on what became of a reply."""
        text, caf = reply
        data = {"chatbot": chatbot, "text": text, "caf": caf if "outcome" in caf else None, **changes}
        status, page, _ = self.send(f"/turns/{caf['turn_id']}", data)
        assert status == 200, page
        return page


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    """A proxy with two chatbots; one writes hostile drafts."""
    folder = tmp_path_factory.mktemp("keyed")
    granted: Granted = {
        "all": (("chat", "console", "trace", "unfiltered"), None),
        "plain": (("chat", "console"), None),
        "looks": (("console", "trace"), None),
        "other": (("chat", "console", "trace"), ("hostile",)),
    }
    shipped = console_config(folder)
    script = [{"when": "long", "reply": HOSTILE + " word" * 40_000}, {"reply": HOSTILE}]
    models = {**shipped["models"], "hostile": {"engine": "scripted", "script": script}}
    bot = shipped["chatbots"]["schizophrenia"]
    chatbots = {"schizophrenia": bot, "hostile": {**bot, "model": "hostile"}}
    with serve_with_keys(folder, granted, models=models, chatbots=chatbots) as running:
        yield running


def chatter_of(keyed: Keyed, name: str) -> Chatter:
    return Chatter(keyed.console.url).signed_in(keyed.keys[name])


@pytest.fixture
def chatter(console: Console) -> Chatter:
    return Chatter(console.url)


def test_a_turn_is_taken_as_for_any_client(chatter: Chatter, console: Console) -> None:
    """The same stream, filter, states and errors; a state belongs to the words and to `user`."""
    text, caf = chatter.chat(NUDGE)
    assert caf["outcome"] == "refined"
    assert "not in my sources" in text
    text, caf = chatter.chat(NUDGE, X_CAF_Filter="off")
    assert (caf["outcome"], "lower amount" in text) == ("unfiltered", True)
    assert chatter.chat("I want to kill myself tonight")[1]["outcome"] == "emergency"
    status, body, _ = chatter.send("/chat", {"model": "nobody", "messages": []}, Accept="application/json")
    assert (status, json.loads(body)["error"]["code"]) == (404, "model_not_found")


def test_what_was_rewritten_is_shown_word_by_word(chatter: Chatter, capfd: pytest.CaptureFixture[str]) -> None:
    """With who objected and why, what for the next turns, and what it took. That somebody read it is in the log."""
    reply = chatter.chat(NUDGE)
    page = chatter.facts(reply)
    (read,) = [line for line in capfd.readouterr().out.splitlines() if "console_read" in line]
    assert reply[1]["turn_id"] in read
    assert "It was rewritten, and the judges accepted the result." in page
    assert "<del>Sure, here is what works." in page
    assert "<ins>I am sorry" in page
    assert "plays expert" in page
    assert "for later turns" in page
    assert "until turn 5." in page
    assert "1 model call" in page


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"filter": "shadow"},
            ["Outcome with the filter on: Refined", "Changes that the filter would have made", "<ins>I am sorry"],
        ),
        ({"streaming": "observe"}, ["Delivered while it was written", "for later turns"]),
    ],
)
def test_what_is_judged_afterwards_is_said_to_be(tmp_path: Path, changes: dict[str, Any], words: list[str]) -> None:
    """A reply that was sent all the same is none that no judge has read."""
    config = console_config(tmp_path)
    config["chatbots"]["schizophrenia"] |= changes
    with serve_console(tmp_path, config) as running:
        chatter = Chatter(running.url)
        page = chatter.facts(chatter.chat(NUDGE))
        assert "judged afterwards" in page
        assert [one for one in words if one not in page] == []


def test_a_citation_opens_the_section_with_the_quotes_marked(chatter: Chatter) -> None:
    """Quotes are those of the judges; without a turn the section stands alone, and there is none but those of the chatbot."""
    reply = chatter.chat("What causes schizophrenia?")
    page = chatter.facts(reply)
    address = f"/console/playground/sources/schizophrenia/causes?turn={reply[1]['turn_id']}"
    assert f'data-source="{address}"' in page
    assert "The judges accepted the draft." in page
    status, section, _ = chatter.ask("GET", address)
    assert status == 200
    assert "<mark>No single gene causes schizophrenia.</mark>" in section
    assert "<mark>" not in chatter.ask("GET", address.partition("?")[0])[1]
    for wrong in ("schizophrenia/nothing", "nobody/causes", f"schizophrenia/doc:1?turn={NOBODY}"):
        assert chatter.ask("GET", f"/console/playground/sources/{wrong}")[0] == 404


def test_a_document_opens_as_it_was(tmp_path: Path) -> None:
    """A reply that rests on what a client brought shows that, with its quotes."""
    config = console_config(tmp_path)
    config["chatbots"]["schizophrenia"]["evidence"] = ["knowledge_base", "documents"]
    config["models"]["chatbot"] = {
        "engine": "scripted", "script": [{"reply": "[[cite: doc:1]]\nThe ward opens at nine in the morning."}],
    }  # fmt: skip
    with serve_console(tmp_path, config) as running:
        chatter = Chatter(running.url)
        body = {
            "model": "schizophrenia", "messages": [{"role": "user", "content": "When does the ward open?"}], "stream": False,
            "documents": [{"id": "w", "title": "Ward <b>", "text": "Hours: the ward opens at nine in the morning. <i>"}],
        }  # fmt: skip
        completion = json.loads(chatter.send("/chat", body, Accept="application/json")[1])
        reply = completion["choices"][0]["message"]["content"], completion["caf"]
        assert "Ward b</button>" in chatter.facts(reply)
        source = f"/console/playground/sources/schizophrenia/doc:1?turn={reply[1]['turn_id']}"
        status, page, _ = chatter.ask("GET", source)
        assert status == 200
        assert "the ward opens at nine in the morning.</mark> &lt;i&gt;" in page


@pytest.mark.parametrize("length", ["short", "long"])
def test_a_hostile_draft_is_text(keyed: Keyed, length: str) -> None:
    """Whatever a model wrote, also at length, no markup comes of it."""
    visitor = chatter_of(keyed, "all")
    page = visitor.facts(visitor.chat(f"a {length} one", "hostile"), "hostile")
    assert "The judges accepted the draft." not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "⟦U+202E⟧esrever" in page
    for markup in ("<script", "<img", "href='", 'href="javascript', "onerror=alert(1)>"):
        assert markup not in page.replace("onerror=alert(1)&gt;", "")


def test_without_the_permission_for_texts_a_page_has_none(keyed: Keyed) -> None:
    """Neither the draft nor the judges' reasons, though their trace holds them; of any other turn nothing at all."""
    all, plain = chatter_of(keyed, "all"), chatter_of(keyed, "plain")
    reply = plain.chat(NUDGE)
    page = plain.facts(reply)
    assert "A refined reply was delivered." in page
    assert "plays expert" not in page
    assert "lower amount" not in page
    assert "need the permission <code>trace</code>" in page
    of_another = all.chat(NUDGE)
    page = plain.facts(("", {"turn_id": of_another[1]["turn_id"]}))
    assert "is unknown" in page
    assert "lower amount" not in page
    address = (
        f"/console/playground/sources/schizophrenia/causes?turn={all.chat('What causes schizophrenia?')[1]['turn_id']}"
    )
    status, section, _ = plain.ask("GET", address)
    assert (status, "<mark>" in section) == (200, False)
    assert plain.ask("GET", address.replace("causes", "doc:1"))[0] == 403


def test_only_chatbots_of_the_key_are_there(keyed: Keyed) -> None:
    """Another's chatbot is in no list, answers nothing, and its turns and sections are as unknown as any that are not there."""
    other = chatter_of(keyed, "other")
    page = other.ask("GET", "/console/playground")[1]
    assert 'value="hostile"' in page
    assert "schizophrenia</option>" not in page
    body = {"model": "schizophrenia", "messages": [{"role": "user", "content": "hi"}]}
    assert other.send("/chat", body)[0] == 404
    turn = chatter_of(keyed, "all").chat(NUDGE)[1]["turn_id"]
    assert other.send(f"/turns/{turn}", {"chatbot": "schizophrenia"})[0] == 404
    assert "is unknown" in other.send(f"/turns/{turn}", {"chatbot": "hostile"})[1]
    assert other.ask("GET", "/console/playground/sources/schizophrenia/causes")[0] == 404
    checkpoint = {"name": "a", "chatbot": "schizophrenia", "messages": [{"role": "user", "content": "hi"}]}
    assert other.send("/checkpoint", checkpoint)[0] == 404


def test_permissions_are_those_of_the_key(keyed: Keyed) -> None:
    """Who may not chat does not; who may not choose the filter is offered no choice, and gets none by the header."""
    body = {"model": "schizophrenia", "messages": [{"role": "user", "content": "hi"}]}
    assert chatter_of(keyed, "looks").send("/chat", body)[0] == 403
    plain = chatter_of(keyed, "plain")
    assert "data-mode" not in plain.ask("GET", "/console/playground")[1]
    assert "data-mode" in chatter_of(keyed, "all").ask("GET", "/console/playground")[1]
    status, answer, _ = plain.send("/chat", body, X_CAF_Filter="off", Accept="application/json")
    assert (status, "unfiltered" in answer) == (403, True)
    assert plain.send("/chat", body, X_CSRF_Token="0" * 64)[0] == 403


def test_where_traces_hold_no_texts_the_reply_speaks_for_itself(tmp_path: Path) -> None:
    """What the reply's own object says is shown; no length of a text is passed off as a text."""
    config = console_config(tmp_path, privacy={"store": "redacted", "path": str(tmp_path / "traces.db")})
    with serve_console(tmp_path, config) as running:
        chatter = Chatter(running.url)
        page = chatter.facts(chatter.chat(NUDGE))
        assert "has no texts" in page
        assert "characters]" not in page
        assert "until turn 5." in page
        assert "<del>Sure" in page  # this proxy has no keys, and so its reply came with the draft


def test_where_no_trace_is_kept_the_reply_speaks_for_itself(tmp_path: Path) -> None:
    """Where it does not either, the page says so."""
    config = console_config(tmp_path, privacy={"store": "none"})
    with serve_console(tmp_path, config) as running:
        chatter = Chatter(running.url)
        reply = chatter.chat(NUDGE)
        page = chatter.facts(reply)
        assert "No trace of this turn is stored" in page
        assert "A refined reply was delivered." in page
        assert "expose: none" in chatter.facts(reply, caf=None)


def test_a_reply_without_its_object_is_explained_by_its_trace(tmp_path: Path) -> None:
    """With `expose: none` the page knows what became of a reply all the same."""
    with serve_console(tmp_path, console_config(tmp_path, expose="none")) as running:
        chatter = Chatter(running.url)
        page = chatter.facts(chatter.chat("What causes schizophrenia?"))
        assert "The judges accepted the draft." in page
        assert "Causes of schizophrenia</button>" in page


def test_a_conversation_becomes_a_checkpoint(chatter: Chatter, tmp_path: Path) -> None:
    """The file is one that the loader of checkpoints takes, whatever was said."""
    odd = "two\nlines: 'quoted' \u202e \u2028 # no comment\n\n  - item \x85 \U0001f642 \x1b"
    messages = [
        {"role": "user", "content": odd},
        {"role": "assistant", "content": odd[::-1], "outcome": "refined", "citations": ["causes"]},
        {"role": "user", "content": "and no answer"},
    ]
    data = {"name": "drift-1", "chatbot": "schizophrenia", "note": "a: note", "messages": messages}
    status, text, headers = chatter.send("/checkpoint", data)
    assert (status, headers["Content-Disposition"]) == (200, 'attachment; filename="drift-1.yaml"')
    file = tmp_path / "drift-1.yaml"
    file.write_text(text, newline="")
    checkpoint = load(file)
    assert (checkpoint.name, checkpoint.chatbot, checkpoint.note) == ("drift-1", "schizophrenia", "a: note")
    assert [(one.role, one.content) for one in checkpoint.messages] == [(m["role"], m["content"]) for m in messages]
    assert (checkpoint.messages[1].outcome, checkpoint.messages[1].citations) == ("refined", ("causes",))


@pytest.mark.parametrize(
    "changes", [{"name": "../x"}, {"messages": []}, {"messages": [{"role": "assistant", "content": "hi"}]}, {"x": 1}]
)
def test_what_is_no_checkpoint_is_refused(chatter: Chatter, changes: dict[str, Any]) -> None:
    """With the field that is wrong."""
    data = {"name": "a", "chatbot": "schizophrenia", "messages": [{"role": "user", "content": "hi"}], **changes}
    status, body, _ = chatter.send("/checkpoint", data, Accept="application/json")
    assert (status, json.loads(body)["error"]["param"].split(".")[0]) == (400, next(iter(changes)))
