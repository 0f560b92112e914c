"""What Health keeps of a conversation is erased with it: by the route, and by `caf trace purge`."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from assistants.assistant import AssistantError
from cli.main import app
from proxy.api.service import SERVICE
from tests.assistants.health.conftest import Models, Serve, upload
from tests.assistants.health.doubles import AUGUST, Doctor, plan, step
from tests.assistants.health.test_uploads import GOOD, SLEEP
from tests.proxy.conftest import Body, Proxy, eventually, text_of


def rows(path: Path) -> list[str]:
    """Return the conversations that the file holds."""
    with sqlite3.connect(path) as connection:
        return [row[0] for row in connection.execute("SELECT conversation_id FROM messages ORDER BY 1")]


def raw(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


async def begin(serve: Serve, folder: Path, config: Body | None = None) -> tuple[Path, Proxy, Models]:
    """Serve Health with a file of runs, and a plan for each message."""
    proxy, models = await serve(config, memory=str(folder / "runs.db"))
    models.plan = SLEEP
    return folder / "runs.db", proxy, models


async def talk(proxy: Proxy, ident: str, question: str = "How did I sleep?") -> str:
    return text_of(await proxy.say(upload(question, GOOD), headers={"X-Conversation-Id": ident}))


async def erase(proxy: Proxy, ident: str) -> tuple[int, Any]:
    async with proxy.session.delete(f"{proxy.url}/admin/conversations/{ident}") as response:
        return response.status, await response.json()


async def test_the_route_erases_a_conversation_and_no_other(serve: Serve, tmp_path: Path) -> None:
    """Its bytes are gone from the file, and a follow-up knows nothing of it."""
    path, proxy, models = await begin(serve, tmp_path)
    first = await talk(proxy, "c1")
    await talk(proxy, "c2", "How did I sleep, please?")
    assert rows(path) == ["c1", "c2"]
    status, body = await erase(proxy, "c1")
    assert (status, body["assistants"]) == (200, 1)
    assert rows(path) == ["c2"]
    assert b"c1" not in raw(path)
    models.plan = plan()
    await proxy.say(upload("How did I sleep?", GOOD), first, "And what was it?")
    assert models.last("writer")["found_earlier"] == []
    assert (await erase(proxy, "c1"))[1]["assistants"] == 0


async def test_a_conversation_is_known_by_its_history_as_well(serve: Serve, tmp_path: Path) -> None:
    """Its later turns have the id of the first, also in a branch, though the client names none."""
    path, proxy, _ = await begin(serve, tmp_path)
    first = await proxy.say(upload("How did I sleep?", GOOD))
    await proxy.say(upload("How did I sleep?", GOOD), text_of(first), "And again?")
    await proxy.say(upload("How did I sleep?", GOOD), text_of(first), "And in another way?")
    assert rows(path) == [first["caf"]["conversation_id"]] * 3
    assert (await erase(proxy, first["caf"]["conversation_id"]))[1]["assistants"] == 3


async def test_what_cannot_be_erased_is_not_said_to_be(serve: Serve, tmp_path: Path) -> None:
    """An answer of 200 would be a promise."""
    path, proxy, _ = await begin(serve, tmp_path)
    await talk(proxy, "c1")
    with sqlite3.connect(path) as other:
        other.execute("BEGIN IMMEDIATE")
        assert (await erase(proxy, "c1"))[0] == 503
    assert (await erase(proxy, "c1"))[1]["assistants"] == 1


async def test_results_of_equal_steps_go_too() -> None:
    """They may be those of an upload."""
    doctor = Doctor(*[plan(step("s1", "count", **AUGUST))] * 2)
    await doctor.reply("How many days?")
    assert await doctor.health.erase(None) == 1
    await doctor.reply("How many days?")
    assert len(doctor.count.asked) == 2
    doctor.memory.store.close()
    with pytest.raises(AssistantError):
        await doctor.health.erase(["c1"])


@pytest.mark.parametrize("arguments", [["--conversation", "c1"], ["--all", "--yes"]])
async def test_the_command_erases_while_the_proxy_runs(serve: Serve, tmp_path: Path, arguments: list[str]) -> None:
    """In the file that the proxy has open. A conversation may be named by a beginning of its id."""
    config, traces = tmp_path / "purge.yaml", {"privacy": {"store": "full", "path": str(tmp_path / "traces.db")}}
    path, proxy, _ = await begin(serve, tmp_path, traces)
    await talk(proxy, "c1-of-anna")
    await talk(proxy, "d2", "How did I sleep, please?")
    service = proxy.app[SERVICE]
    await eventually(lambda: not service.traces.waits_for("d2"))
    health = service.config.models["health"].options | {"engine": "assistant", "name": "health"}
    bots = {"bot": {"kind": "passthrough", "model": "health"}}
    config.write_text(yaml.safe_dump({"models": {"health": health}, "chatbots": bots, **traces}))
    command = ["trace", "purge", *arguments, "--config", str(config)]
    result = await asyncio.to_thread(CliRunner().invoke, app, command)
    assert result.exit_code == 0, result.output
    one = arguments[0] == "--conversation"
    entries, turns = ("1 entry", "1 turn") if one else ("2 entries", "2 turns")
    assert result.output.splitlines() == [f"{entries} deleted from the data of assistants", f"{turns} deleted"]
    assert rows(path) == (["d2"] if one else [])
    assert b"c1-of-anna" not in raw(path)
    await talk(proxy, "c1-of-anna", "And now?")
    assert rows(path) == (["c1-of-anna", "d2"] if one else ["c1-of-anna"])
