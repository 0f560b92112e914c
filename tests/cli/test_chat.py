"""`caf chat`: what is sent, what is shown, and that nothing that goes wrong ends the chat."""

import re
from pathlib import Path

import pytest
import yaml

from cli.chat import Wrapper
from scenarios.checkpoint import load
from tests.cli.conftest import At, Caf, Played, Terminal, shipped_config


def test_questions_from_a_pipe_are_answered_in_turn(caf: Caf, played: Played) -> None:
    """A chat can be scripted: each line is asked, and the whole history goes along, as any client sends it."""
    ended = caf("chat", "--url", played.address, stdin="Hello\n\nAnd then?\n")
    assert ended.code == 0
    assert "info> You said 'Hello'. And more.\n" in ended.out
    assert [m["content"] for m in played.requests[1]["messages"]] == [
        "Hello",
        "You said 'Hello'. And more.",
        "And then?",
    ]
    assert [m["role"] for m in played.requests[1]["messages"]] == ["user", "assistant", "user"]
    assert len(played.requests) == 2


def test_outcome_citations_and_warnings_stand_under_the_reply(inside: Caf, played: Played) -> None:
    """What the proxy did about a turn is seen at once, with the id under which to look it up."""
    out = inside("chat", "--url", played.address, stdin="Hello\n").out
    assert "  warned | cites causes | " in out
    assert " | turn 0123abcd\n  warning role: You stepped outside your role.\n" in out


def test_a_proxy_that_exposes_nothing_can_be_talked_to(inside: Caf, played: Played) -> None:
    """Without the `caf` object only the time is told."""
    played.expose = False
    ended = inside("chat", "--url", played.address, stdin="Hello\n")
    assert ended.code == 0
    assert "And more." in ended.out
    assert "warned" not in ended.out


def test_chatbot_filter_user_and_key_are_sent(inside: Caf, played: Played) -> None:
    """Each option reaches the request; the key comes from the environment and is not printed."""
    options = ["--model", "other", "--filter", "off", "--user", "ann", "--api-key-env", "CAF_TEST_KEY"]
    ended = inside(
        "chat", "--url", f"{played.address}/v1/", *options, stdin="Hello\n", env={"CAF_TEST_KEY": "sk-secret"}
    )
    assert ended.code == 0
    assert (played.requests[0]["model"], played.requests[0]["user"]) == ("other", "ann")
    assert played.headers[0]["X-CAF-Filter"] == "off"
    assert played.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in ended.out + ended.err


def test_without_options_nothing_is_claimed(inside: Caf, played: Played) -> None:
    """No user, no key, no filter mode, unless asked for."""
    inside("chat", "--url", played.address, stdin="Hello\n")
    assert "user" not in played.requests[0]
    assert not {"Authorization", "X-CAF-Filter"} & set(played.headers[0])


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("refuse", "No reply: That is too much. (HTTP 429)"),
        ("html", "No reply: the server answered HTTP 502 without a reason"),
        ("fail", "No reply: The model is gone."),
        ("break", "No reply: the reply from http://"),
        ("nonsense", "No reply: cannot read the reply: the proxy sent data that is not a chunk of a chat completion"),
    ],
)
def test_an_error_is_a_sentence_and_the_chat_goes_on(inside: Caf, played: Played, question: str, said: str) -> None:
    """The failed question is not kept, the next one is asked; the exit code tells a script."""
    ended = inside("chat", "--url", played.address, stdin=f"{question}\nHello\n")
    assert said in ended.out
    assert "You said 'Hello'. And more." in ended.out
    assert [m["content"] for m in played.requests[-1]["messages"]] == ["Hello"]
    assert ended.code == 1


def test_a_refusal_is_shown_like_a_reply(inside: Caf, played: Played) -> None:
    """Some models put what they say into `refusal`."""
    assert "You said 'sorry'. I cannot. And more.\n" in inside("chat", "--url", played.address, stdin="sorry\n").out


def test_undo_and_new_change_what_is_resent(inside: Caf, played: Played) -> None:
    """/undo takes one exchange back, /new all."""
    inside("chat", "--url", played.address, stdin="one\ntwo\n/undo\nthree\n/new\nfour\n")
    said = [[m["content"] for m in r["messages"] if m["role"] == "user"] for r in played.requests]
    assert said == [["one"], ["one", "two"], ["one", "three"], ["four"]]


def test_commands_are_helped_with_and_not_sent(inside: Caf, played: Played) -> None:
    """A line that begins with a slash goes to no chatbot; behind a space it does."""
    ended = inside("chat", "--url", played.address, stdin="/help\n/undo\n/save\n/nope\n /etc/passwd?\n/quit\nnever\n")
    assert "/save FILE  write the conversation" in ended.out
    assert "nothing to undo" in ended.out
    assert "/save: expected the name of a file" in ended.out
    assert "unknown command /nope" in ended.out
    assert [r["messages"][-1]["content"] for r in played.requests] == ["/etc/passwd?"]


def test_save_writes_a_checkpoint(inside: Caf, played: Played, tmp_path: Path) -> None:
    """With --save on leaving, with /save at once; outcome and citations go along."""
    stdin = "Hello\n/save early.yaml\nAnd then?\n"
    ended = inside("chat", "--url", played.address, "--save", "my drift.yaml", stdin=stdin)
    assert ended.code == 0
    late, early = load(tmp_path / "my drift.yaml"), load(tmp_path / "early.yaml")
    assert (late.name, late.chatbot, len(late.messages), len(early.messages)) == ("my-drift", "info", 4, 2)
    assert late.messages[1].content == "You said 'Hello'. And more."
    assert (late.messages[1].outcome, late.messages[1].citations) == ("warned", ("causes",))


def test_save_never_overwrites(inside: Caf, played: Played, tmp_path: Path) -> None:
    """--save says so before the chat begins, /save without ending it."""
    (tmp_path / "old.yaml").write_text("precious")
    ended = inside("chat", "--url", played.address, "--save", "old.yaml", stdin="Hello\n")
    assert (ended.code, played.requests) == (2, [])
    assert "--save old.yaml: the file exists already" in ended.err
    ended = inside("chat", "--url", played.address, stdin="Hello\n/save old.yaml\nAnd then?\n")
    assert "not saved: old.yaml: already exists" in ended.err
    assert (ended.code, len(played.requests)) == (1, 2)
    assert (tmp_path / "old.yaml").read_text() == "precious"


def test_nothing_said_is_nothing_saved(inside: Caf, played: Played, tmp_path: Path) -> None:
    """An empty chat leaves no file."""
    assert inside("chat", "--url", played.address, "--save", "a.yaml", stdin="").code == 0
    assert not (tmp_path / "a.yaml").exists()


def test_a_reply_cannot_command_the_terminal(inside: Caf, played: Played) -> None:
    """Escape sequences in what a model wrote are shown as replacement characters."""
    out = inside("chat", "--url", played.address, stdin="evil\n").out
    assert "\ufffd[31mred\ufffd And more." in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--url", "http://127.0.0.1:9"], "cannot reach http://127.0.0.1:9"),
        (["--url", "localhost:8080"], "--url 'localhost:8080': expected an address such as http://127.0.0.1:8080"),
        (["--url", "{played}", "--model", "nobody"], "--model 'nobody': unknown chatbot (expected one of info, other)"),
        (
            ["--url", "{played}", "--api-key-env", "CAF_TEST_KEY"],
            "--api-key-env CAF_TEST_KEY: the environment variable is not set",
        ),
        (["--url", "{played}/elsewhere"], "the server answered HTTP 404"),
        (["--url", "{played}", "--config", "x.yaml"], "not both"),
        (["--config", "x.yaml"], "x.yaml: the configuration cannot be read"),
    ],
)
def test_a_chat_that_cannot_begin_says_why(inside: Caf, played: Played, options: list[str], said: str) -> None:
    """One line and the exit code for wrong usage."""
    ended = inside("chat", *(option.format(played=played.address) for option in options), stdin="Hello\n")
    assert ended.code == 2
    assert said in ended.err
    assert played.requests == []


@pytest.fixture
def typist(played: Played, terminal: At) -> Terminal:
    """Somebody at a terminal, in a chat."""
    return terminal("chat", "--url", played.address, "--save", "typed.yaml")


def test_ctrl_c_during_a_reply_cancels_that_reply_only(typist: Terminal, played: Played, tmp_path: Path) -> None:
    """The proxy sees the client go; the chat goes on without the question, and Ctrl-C at the prompt leaves, and saves."""
    typist.wait_for("you> ")
    typist.type("wait\n")
    typist.wait_for("You said 'wait'.")  # the reply is shown as it comes
    typist.interrupt()
    typist.wait_for("cancelled; the question is not part of the conversation")
    assert played.cancelled.wait(5), "the request was not cancelled"
    typist.wait_for("you> ")
    typist.type("Hello\n")
    typist.wait_for("And more.")
    typist.wait_for("you> ")
    assert [m["content"] for m in played.requests[-1]["messages"]] == ["Hello"]
    typist.interrupt()
    typist.wait_for("saved to typed.yaml")
    assert typist.end() == 0
    assert len(load(tmp_path / "typed.yaml").messages) == 2


def test_a_terminal_gets_lines_that_end_between_words(typist: Terminal) -> None:
    """The reply and what stands under it, within the width that the terminal has."""
    question = " ".join(["sleep"] * 20)
    typist.wait_for("you> ")
    typist.type(f"{question}\n")
    typist.wait_for("info> ")
    typist.wait_for("you> ")
    lines = re.sub(r"\r|\x1b\[\d*m", "", typist.before).split("\n")
    assert max(map(len, lines)) <= 80
    assert " ".join(lines[:2]).count("sleep") == 20
    assert any("  warned | cites causes | " in line for line in lines)


def test_a_reply_is_wrapped_while_it_comes() -> None:
    """A word is written once it has ended, on the next line where it does not fit; wide characters count twice."""
    wrapper = Wrapper(12, column=6)
    pieces = [wrapper.feed(piece) for piece in ("Mo", "st adu", "lts 睡", "眠好 a\n", "b")]
    assert [*pieces, wrapper.end()] == ["", "Most", "\nadults", "\n睡眠好 a", "", "\nb"]


def test_ctrl_d_leaves(typist: Terminal) -> None:
    """The end of the input is the end of the chat."""
    typist.wait_for("you> ")
    typist.type("\x04")
    assert typist.end() == 0


@pytest.fixture
def shipped(tmp_path: Path) -> None:
    """Put the shipped configuration into the folder, so that its traces stay there."""
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(shipped_config()))


@pytest.mark.usefixtures("shipped")
def test_without_a_url_a_proxy_is_started_for_the_chat(caf: Caf) -> None:
    """The shipped chatbot answers from its sources, and the turn can be looked up afterwards; no log line disturbs."""
    ended = caf("chat", stdin="What causes schizophrenia?\nI am going to end my life tonight\n")
    assert (ended.code, ended.err) == (0, "")
    assert "cites causes" in ended.out
    assert "emergency | " in ended.out
    turn = ended.out.rsplit("turn ", 1)[1].split()[0]
    assert "outcome emergency" in caf("trace", "show", turn).out


@pytest.mark.usefixtures("shipped")
def test_keys_of_the_configuration_are_not_asked_for(inside: Caf, tmp_path: Path) -> None:
    """Who can read them needs none; the traces hold no texts, as those of the proxy with keys would not."""
    with (tmp_path / "config.yaml").open("a") as config:
        config.write("\nkeys:\n  env: CAF_TEST_NOT_SET\naudit:\n  folder: audit\n")
    ended = inside("chat", stdin="What causes schizophrenia?\n")
    assert (ended.code, ended.err) == (0, "")
    assert "cites causes" in ended.out
    assert not (tmp_path / "audit").exists()
    turn = ended.out.rsplit("turn ", 1)[1].split()[0]
    assert "What causes" not in inside("trace", "show", turn).out


@pytest.mark.usefixtures("shipped")
def test_the_filter_can_be_switched_off_from_the_terminal(inside: Caf) -> None:
    """An in-process proxy listens on loopback, which grants it."""
    ended = inside("chat", "--filter", "off", stdin="What causes schizophrenia?\n")
    assert ended.code == 0
    assert "unfiltered | " in ended.out
