"""Conversations over HTTP: who sees which turns, and what of them; filters, pages, labels, scenarios, deletion."""

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml

from proxy.api.service import SERVICE
from proxy.traces.backend import TraceError
from proxy.traces.labels import labels
from proxy.traces.trace import Attempt
from tests.proxy.console.conftest import Console, console_config, serve_console
from tests.proxy.console.rich_trace import DRAFT, rich_trace
from tests.proxy.console.visitor import Answer, Granted, Keyed, Visitor, serve_with_keys

LIST = "/console/conversations"
SECRETS = (
    "clozapine",
    "cannot go on",
    "prescriber",
    "leaflet",
    "nowhere",
    "prescribe",
    "assertions",
    "not kind",
    "asks for help",
)
HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> [x](javascript:alert(3)) \u202egnp.exe zero\u200bwidth \x07 "
    "</textarea></pre>\"'><svg onload=alert(4)>"
)


def record(console: Console, *traces: Any) -> None:
    """Store traces, and wait until they are written."""
    store = console.app[SERVICE].traces
    for trace in traces:
        store.record(trace)
    until = time.monotonic() + 10
    while any(store.waits_for(trace.conversation_id) for trace in traces):
        assert time.monotonic() < until
        time.sleep(0.02)


def serve(folder: Path, **changes: Any) -> Any:
    return serve_console(folder, console_config(folder, **changes))


def turns_of(page: str) -> list[str]:
    """Return the ids of the turns that a list shows, in its order."""
    return re.findall(r'href="/console/conversations/(\w+)[^"]*" data-row', page)


def link(page: str, rel: str) -> str | None:
    """Return the address of a link."""
    found = re.search(rf'href="([^"]+)" rel="{rel}"|rel="{rel}" href="([^"]+)"', page)
    return unescape(found[1] or found[2]) if found else None


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console without keys: real turns of the shipped chatbot, and one in which everything happens."""
    folder = tmp_path_factory.mktemp("conversations")
    with serve(folder) as console:
        for text in (
            "What is schizophrenia?",
            "I want to kill myself tonight",
            "Which dose of olanzapine should I take?",
        ):
            console.say(text)
        record(console, rich_trace())
        yield console


def ask(console: Console, path: str) -> str:
    status, body, _ = Visitor(console.url).ask("GET", path)
    assert status == 200, body
    return body


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", 4),
        ("?outcome=emergency", 1),
        ("?outcome=refined", 2),
        ("?outcome=error", 0),
        ("?outcome=nonsense", 4),
        ("?judge=kindness", 1),
        ("?judge=role&verdict=reject", 2),
        ("?rule=sensitive_topic&judge=source_fidelity", 1),
        ("?chatbot=schizophrenia", 4),
        ("?chatbot=other", 0),
        ("?age=1h", 4),
        ("?to=2026-01-01T00:00", 0),
        ("?from=2026-01-01T00:00", 4),
        ("?label=unlabelled", 4),
        ("?label=labelled", 0),
        ("?q=OLANZAPINE", 1),
        ("?q=kill+tonight", 1),
        ("?alarm=concern", 1),
        ("?alarm=any", 2),
        ("?id=f00d", 1),
        ("?conversation=c0ffee" + 26 * "0", 1),
        ("?view=conversations", 4),
    ],
)
def test_filters_stand_in_the_address(told: Console, query: str, expected: int) -> None:
    """Each narrows the list; what has no meaning is left out."""
    page = ask(told, LIST + query)
    assert len(turns_of(page)) == expected
    if not expected:
        assert "No matching turns" in page


def test_a_field_of_the_form_keeps_what_was_asked(told: Console) -> None:
    """A page that was filtered shows by what, and its links to turns carry it along."""
    page = ask(told, LIST + "?q=kill&outcome=emergency&age=7d")
    assert 'name="q" value="kill"' in page
    assert re.search(r'<option value="emergency"[^>]* selected>', page)
    (turn,) = re.findall(r'href="(/console/conversations/\w+[^"]*)" data-row', page)
    assert unescape(turn).endswith("?q=kill&outcome=emergency&age=7d")
    assert 'href="/console/conversations?q=kill&amp;outcome=emergency&amp;age=7d" data-key="u"' in ask(
        told, unescape(turn)
    )


@pytest.mark.parametrize("query", ["?from=yesterday", "?before=x", "?before=1&trail=1.x", "?to=0000"])
def test_an_address_that_means_nothing_is_refused_in_words(told: Console, query: str) -> None:
    """With the list's form around it."""
    status, body, _ = Visitor(told.url).ask("GET", LIST + query)
    assert status == 400
    assert 'role="alert"' in body
    assert "<form" in body


def test_pages_follow_each_other_both_ways(tmp_path: Path) -> None:
    """Every turn stands on exactly one page, though new ones come meanwhile; the way back leads over the same pages."""
    with serve(tmp_path) as console:
        now = time.time()
        turns = [rich_trace(f"{n:032x}", started=now - 1000 + n, conversation_id=f"c{n // 5}") for n in range(120)]
        record(console, *turns)
        seen, pages, at = [], [], LIST
        while True:
            page = ask(console, at)
            if not pages:
                assert "120 turns" in page
            pages.append(turns_of(page))
            seen += pages[-1]
            record(console, rich_trace(f"{len(pages):032x}".replace("0", "e", 9), started=now))
            following = link(page, "next")
            if following is None:
                break
            at = following
        assert seen == [one.turn_id for one in reversed(turns)]
        for expected in reversed(pages[1:-1]):
            previous = link(page, "prev")
            assert previous is not None
            page = ask(console, previous)
            assert turns_of(page) == expected
        assert link(page, "prev") == LIST


def test_turns_fold_into_conversations(told: Console) -> None:
    """Each conversation of the page once, with a link to all its turns."""
    page = ask(told, LIST + "?view=conversations")
    assert page.count('class="card talk"') == 4
    assert f'href="{LIST}" data-key="v"' in page  # back to the list of turns, without a field that says nothing
    assert f'href="/console/conversations?conversation=c0ffee{26 * "0"}"' in page


def test_the_beginning_of_an_id_is_enough(told: Console) -> None:
    """One turn: its page; several: their list; none: said so."""
    visitor = Visitor(told.url)
    status, _, headers = visitor.ask("GET", f"{LIST}/f00d?q=x")
    assert (status, headers["Location"]) == (303, f"{LIST}/f00d{28 * '0'}?q=x")
    record(
        told, rich_trace("abc1" + 28 * "0", conversation_id="two"), rich_trace("abc2" + 28 * "0", conversation_id="two")
    )
    status, _, headers = visitor.ask("GET", f"{LIST}/abc")
    assert (status, headers["Location"]) == (303, f"{LIST}?id=abc")
    status, body, _ = visitor.ask("GET", f"{LIST}/nobody")
    assert (status, "No such turn" in body) == (404, True)
    told.app[SERVICE]
    for name in ("abc1", "abc2"):
        delete(told, visitor, name + 28 * "0")


def delete(console: Console, visitor: Visitor, turn: str) -> Answer:
    return visitor.ask("POST", f"{LIST}/{turn}/delete", {"csrf": visitor.csrf()})


def test_a_turn_is_told_in_the_order_of_events(told: Console) -> None:
    """Message, emergency, sources, warnings, attempts with judges and quotes, what was delivered, times."""
    page = unescape(ask(told, f"{LIST}/f00d{28 * '0'}"))
    order = (
        "How much clozapine", "Sign of self-harm", "selected by the selection model", "found by the draft",
        "found by a flagged quote", "A leaflet", "You stepped outside your role",
        "fill slots", "which does not exist", "Take it in the evening", "Claim not supported by the cited sources", "could harm",
        "Many people are helped by talking therapies.", "0f1e2d3c4b5a6978", "not kind", "Rewritten reply", "Completed reply",
        "not declared in the request", "In danger? Call 112.", "<del>", "You went beyond your sources.",
        "Reply judges (chief)", "14 710",
    )  # fmt: skip
    at = 0
    for words in order:
        assert words.replace("14 710", "14\u202f710") in page[at:], words
        at = page.index(words.replace("14 710", "14\u202f710"), at)


def test_a_real_turn_notes_when_its_calls_began(told: Console) -> None:
    """The trace of a call says when it began, milliseconds after the turn."""
    (turn,) = turns_of(ask(told, LIST + "?q=olanzapine"))
    assert "before the proxy noted" not in ask(told, f"{LIST}/{turn}")


def test_hostile_texts_are_shown_as_texts(tmp_path: Path) -> None:
    """Markup, links, marks of direction, and 200 kB of them, in every place that holds a text."""
    long = HOSTILE * 1500
    with serve(tmp_path) as console:
        attempt = Attempt("draft", 0, long, [HOSTILE], 1.0, [HOSTILE])
        record(
            console,
            rich_trace(user_message=HOSTILE, attempts=[attempt], replies=[long], selection_note=HOSTILE, error=HOSTILE,
                       conversation_id=HOSTILE, notes=[]),
        )  # fmt: skip
        for page in (
            ask(console, LIST),
            ask(console, LIST + "?view=conversations"),
            ask(console, f"{LIST}/f00d{28 * '0'}"),
        ):
            assert "&lt;script&gt;alert(1)" in page
            body = page.partition("<main")[2]
            assert not re.findall(r"<script|<img|<svg on|href=\"javascript", body)
            assert len(page) < 2_000_000


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    """A proxy with keys and two chatbots, each with a turn."""
    folder = tmp_path_factory.mktemp("keyed")
    granted: Granted = {
        "bare": (("console",), ("schizophrenia",)),
        "texts": (("console", "trace"), ("schizophrenia",)),
        "all": (("console", "trace", "admin"), None),
        "labeller": (("console", "admin"), ("schizophrenia",)),
    }
    with serve_with_keys(folder, granted, audit={"folder": str(folder / "audit")}) as running:
        record(running.console, rich_trace(), rich_trace("beef" + 28 * "0", chatbot="other", conversation_id="feed"))
        yield running


def test_without_the_permission_no_byte_of_a_text_is_sent(keyed: Keyed) -> None:
    """Metadata is: outcome, judges, times, tokens. Nor does a search tell whether a word stands there."""
    for name in ("bare", "labeller"):
        visitor = keyed.visitor(name)
        for path in (
            LIST,
            f"{LIST}?view=conversations",
            f"{LIST}/f00d{28 * '0'}",
            f"{LIST}?q=clozapine",
            f"{LIST}?q=absent",
        ):
            status, page, _ = visitor.ask("GET", path)
            assert status == 200
            assert "the permission <code>trace</code>" in page
            shown = page.partition("<main")[2].replace("?q=clozapine", "")
            assert not [secret for secret in SECRETS if secret in shown.lower()]
            assert "Refined" in page
        assert turns_of(visitor.ask("GET", f"{LIST}?q=absent")[1]) == turns_of(visitor.ask("GET", LIST)[1])
    assert DRAFT.partition(".")[0] in keyed.visitor("texts").ask("GET", f"{LIST}/f00d{28 * '0'}")[1]


def test_turns_of_other_chatbots_do_not_exist(keyed: Keyed) -> None:
    """Neither in the list nor by their id, its beginning or their conversation; and nobody can act on them."""
    visitor, other = keyed.visitor("texts"), "beef" + 28 * "0"
    for query in ("", "?chatbot=other", "?id=beef", "?conversation=feed"):
        assert other not in visitor.ask("GET", LIST + query)[1]
    unknown = visitor.ask("GET", f"{LIST}/{'0' * 32}")
    for path in (other, "beef"):
        status, page, _ = visitor.ask("GET", f"{LIST}/{path}")
        assert (status, page.replace(path, "0" * 32)) == (404, unknown[1])
    labeller = keyed.visitor("labeller")
    for action in ("label", "delete"):
        form = {"csrf": labeller.csrf(), "judge": "role", "verdict": "accept"}
        assert labeller.ask("POST", f"{LIST}/{other}/{action}", form)[0] == 404
    assert other in keyed.visitor("all").ask("GET", LIST)[1]


def test_only_admins_label_delete_and_make_scenarios(keyed: Keyed) -> None:
    """Others are refused, and their pages offer none of it."""
    visitor, turn = keyed.visitor("texts"), f"{LIST}/f00d{28 * '0'}"
    page = visitor.ask("GET", turn)[1]
    assert "/label" not in page
    assert "/delete" not in page
    form = {"csrf": visitor.csrf(), "judge": "role", "verdict": "accept"}
    for method, path in (("POST", "/label"), ("POST", "/delete"), ("GET", "/delete"), ("GET", "/scenario")):
        assert visitor.ask(method, turn + path, form if method == "POST" else None)[0] == 403
    assert keyed.visitor("labeller").ask("GET", turn + "/scenario")[0] == 403, "a scenario holds texts"


def test_who_read_labelled_and_deleted_is_recorded(keyed: Keyed) -> None:
    """In the audit log, without a text."""
    visitor, turn = keyed.visitor("all"), "beef" + 28 * "0"
    visitor.ask("GET", f"{LIST}/{turn}")
    form = {"csrf": visitor.csrf(), "judge": "role", "verdict": "accept", "note": "a private note"}
    assert visitor.ask("POST", f"{LIST}/{turn}/label", form)[0] == 303
    assert delete(keyed.console, visitor, turn)[0] == 303
    assert visitor.ask("GET", f"{LIST}/{turn}")[0] == 404
    until = time.monotonic() + 5
    logged = ""
    while "console_delete" not in logged and time.monotonic() < until:
        logged = "".join(path.read_text() for path in (keyed.console.folder / "audit").rglob("*") if path.is_file())
        time.sleep(0.05)
    for action in ("console_read", "console_label", "console_delete"):
        assert action in logged
    assert "private note" not in logged


def test_what_another_chatbot_said_is_not_deleted_along(keyed: Keyed) -> None:
    """Clients choose ids of conversations: one has the same as that of another tenant's client, or has guessed it."""
    own, theirs = "ace" + 29 * "0", "bad" + 29 * "0"
    shared = rich_trace(own, conversation_id="shared"), rich_trace(theirs, chatbot="other", conversation_id="shared")
    record(keyed.console, *shared)
    labeller, staff = keyed.visitor("labeller"), keyed.visitor("all")
    assert labeller.ask("GET", f"{LIST}/{own}/delete")[0] == 403
    status, page, _ = delete(keyed.console, labeller, own)
    assert (status, theirs in page) == (403, False)
    assert {staff.ask("GET", f"{LIST}/{turn}")[0] for turn in (own, theirs)} == {200}
    assert delete(keyed.console, staff, own)[0] == 303
    assert {staff.ask("GET", f"{LIST}/{turn}")[0] for turn in (own, theirs)} == {404}


def test_a_label_is_kept_shown_and_filtered_by(told: Console) -> None:
    """In the table that `caf trace label` writes to; the last one counts."""
    visitor, turn = Visitor(told.url), "f00d" + 28 * "0"
    path = f"{LIST}/{turn}/label"
    form = {"csrf": visitor.csrf(), "judge": "role", "list": "?outcome=refined&evil=1"}
    for wrong in (
        {"verdict": "nonsense"},
        {"verdict": "accept", "judge": "nobody"},
        {"verdict": "accept", "choice": "7"},
    ):
        assert visitor.ask("POST", path, form | wrong)[0] == 400
    assert visitor.ask("POST", path, form | {"verdict": "reject"})[0] == 303
    status, _, headers = visitor.ask("POST", path, form | {"verdict": "accept", "note": "<i>it</i> explains"})
    assert (status, headers["Location"]) == (303, f"{LIST}/{turn}?outcome=refined#labels")
    (given,) = labels(told.folder / "traces.db")[turn]
    assert (given.judge, given.verdict, given.note) == ("role", "accept", "<i>it</i> explains")
    assert "&lt;i&gt;it&lt;/i&gt; explains" in ask(told, f"{LIST}/{turn}")
    for label in ("labelled", "false_alarm"):
        page = ask(told, f"{LIST}?label={label}")
        assert turns_of(page) == [turn]
        assert "role: accept" in page


def test_where_traces_are_is_not_said_when_a_label_cannot_be_written(
    told: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands in the log; the page says to try again later."""

    def fail(*_: Any) -> None:
        raise TraceError("postgresql://caf@db.example/traces: does not answer")

    monkeypatch.setattr("proxy.traces.turn_label.add", fail)
    visitor = Visitor(told.url)
    (turn, *_) = turns_of(visitor.ask("GET", LIST)[1])
    form = {"csrf": visitor.csrf(), "judge": "emergency", "verdict": "accept"}
    status, page, _ = visitor.ask("POST", f"{LIST}/{turn}/label", form)
    assert (status, "db.example" in page) == (503, False)
    status, page, _ = visitor.ask("POST", f"{LIST}/{turn}/label", {**form, "judge": "nobody"})
    assert (status, "No judge" in page) == (400, True)


def test_a_turn_becomes_a_scenario(told: Console) -> None:
    """To copy or to download; what is wrong with it is said."""
    (turn,) = turns_of(ask(told, LIST + "?q=olanzapine"))
    page = ask(told, f"{LIST}/{turn}/scenario")
    assert "user_message: Which dose of olanzapine should I take?" in unescape(page)
    status, text, headers = Visitor(told.url).ask("GET", f"{LIST}/{turn}/scenario?choice=0&download")
    assert (status, headers["Content-Type"]) == (200, "application/yaml; charset=utf-8")
    assert headers["Content-Disposition"] == f'attachment; filename="trace-{turn[:12]}.yaml"'
    (scenario,) = yaml.safe_load(text)["scenarios"]
    assert scenario["user_message"] == "Which dose of olanzapine should I take?"


def test_a_conversation_is_deleted_after_asking(told: Console) -> None:
    """The first page only asks; the form deletes, and leads back to the list as it was."""
    record(
        told,
        rich_trace("dead" + 28 * "0", conversation_id="gone"),
        rich_trace("dea1" + 28 * "0", conversation_id="gone"),
    )
    visitor, turn = Visitor(told.url), "dead" + 28 * "0"
    page = ask(told, f"{LIST}/{turn}/delete?outcome=refined")
    assert "You cannot undo this" in page
    assert ask(told, f"{LIST}/{turn}")
    form = {"csrf": visitor.csrf(), "list": "?outcome=refined"}
    status, _, headers = visitor.ask("POST", f"{LIST}/{turn}/delete", form)
    assert (status, headers["Location"]) == (303, f"{LIST}?outcome=refined")
    assert turns_of(ask(told, LIST + "?id=dea")) == []


def test_redacted_texts_are_shown_as_redacted(tmp_path: Path) -> None:
    """Their lengths, never as if they were texts."""
    with serve(tmp_path, privacy={"store": "redacted", "path": str(tmp_path / "traces.db")}) as console:
        record(console, rich_trace())
        for path in (LIST, f"{LIST}/f00d{28 * '0'}"):
            page = ask(console, path)
            assert "Not stored (" in page
            assert not re.search(r"\[\d+ characters\]", page)
            assert "clozapine" not in page.lower()
        assert "privacy.store: redacted" in page


def test_where_there_is_nothing_it_says_what_to_do(tmp_path: Path) -> None:
    """Nothing stored, nothing yet, or a file that is something else."""
    (tmp_path / "none").mkdir()
    with serve(tmp_path / "none", privacy={"store": "none", "path": str(tmp_path / "none/traces.db")}) as console:
        assert "privacy.store: none" in ask(console, LIST)
        assert Visitor(console.url).ask("GET", f"{LIST}/f00d")[0] == 404
    (tmp_path / "new").mkdir()
    with serve(tmp_path / "new") as console:
        assert "No turns yet" in ask(console, LIST)
        console.say("What is schizophrenia?")
        record(console, replace(rich_trace(), replies=[None]))
        for file in (tmp_path / "new").glob("traces.db*"):
            file.unlink()
        (tmp_path / "new/traces.db").write_text("this is no database" * 1000)
        for path in (LIST, f"{LIST}/f00d"):
            status, page, _ = Visitor(console.url).ask("GET", path)
            assert (status, "cannot be read" in page) == (503, True)
