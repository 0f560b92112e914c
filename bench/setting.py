"""Prepares a run: writes conversations and a configuration to a temporary folder, and starts the servers."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from bench import load
from bench.load import Request, Talk
from bench.processes import ROOT, Server, ask, cores, run_server
from bench.script import Exchange, conversations
from knowledge_base.library import load as load_library
from models.unique_keys import load_yaml
from proxy.auth import keys

CANDIDATES = 144
FEWEST = 8
"""Minimum number of conversations for a run."""
SHIPPED = "schizophrenia"
"""The chatbot of config.yaml whose settings the chatbots of the benchmark copy."""
NO_LIMIT = 10**9
"""The value of every limit of the clients' key. The proxy counts requests against each limit, but no limit is reached."""
JUDGE = "late-20-opinion"
"""The model that judges the wrapped chatbot's replies."""
OWN = """---
name: manner
stage: swift
model: {model}
observation: verdict
---
Is the reply polite?
"""
"""Prompt file of an additional judge."""


def configuration(upstream: str, folder: Path) -> dict[str, Any]:
    """Return the shipped configuration with the chatbots of the benchmark, in front of a mock upstream."""
    shipped: dict[str, Any] = load_yaml((ROOT / "config.yaml").read_text())
    bot = shipped["chatbots"][SHIPPED] | {
        "role": str(ROOT / shipped["chatbots"][SHIPPED]["role"]),
        "knowledge_base": str(ROOT / shipped["chatbots"][SHIPPED]["knowledge_base"]),
    }
    model = {"engine": "openai", "base_url": f"{upstream}/v1", "api_key_env": "CAF_BENCH_KEY"}
    model["price"] = {"input": 0.4, "output": 1.6}
    shipped["models"] |= {"mock": model | {"model": "bench"}, "mock-paced": model | {"model": "bench-paced"}}
    shipped["models"] |= {name: model | {"model": name} for name in ("bench-reworded", JUDGE)}
    wrapped = {"kind": "wrapped", "knowledge_base": None, "judges": [write_judge(folder, JUDGE)]}
    shipped["chatbots"] = {
        "embedded": bot,
        "passthrough": {"kind": "passthrough", "model": "mock"},
        "passthrough-paced": {"kind": "passthrough", "model": "mock-paced"},
        "off": bot | {"model": "mock", "filter": "off"},
        "on": bot | {"model": "mock", "filter": "on"},
        "judged": bot | wrapped | {"model": "bench-reworded", "filter": "on"},
    }
    shipped["keys"] = {"file": str(folder / "keys.json")}
    shipped["privacy"] = {"store": "full", "path": str(folder / "traces.db")}
    return shipped


def write_judge(folder: Path, model: str) -> str:
    """Write the prompt file of a judge that uses a model, and return the path of the file."""
    path = folder / f"{model}.md"
    path.write_text(OWN.format(model=model))
    return str(path)


def client_body(model: str, exchanges: list[Exchange], n: int, seed: int, delivered: list[str]) -> dict[str, Any]:
    """Return the body of the client's request for exchange `n` of a conversation, with the earlier delivered replies."""
    messages: list[dict[str, str]] = []
    for exchange, reply in zip(exchanges[:n], delivered, strict=False):
        messages += [{"role": "user", "content": exchange.question}, {"role": "assistant", "content": reply}]
    messages.append({"role": "user", "content": exchanges[n].question})
    return {"model": model, "messages": messages, "temperature": 0.3, "seed": seed}


@dataclass(slots=True)
class PlayedConversation:
    """A conversation with the replies that the guarded chatbot delivered in the trial."""

    number: int
    exchanges: list[Exchange]
    delivered: list[str]
    outcomes: list[str]
    """Outcome of each exchange with the filter on."""
    key: str

    def requests(self, address: str, model: str, **more: object) -> Talk:
        """Return the requests of the conversation for a server and a model."""
        return [
            load.request(
                address,
                client_body(model, self.exchanges, n, 2 * self.number + n, self.delivered) | more,
                EXPECT.get(model) or b'"outcome":"%b"' % outcome.encode(),
                self.key,
            )
            for n, outcome in enumerate(self.outcomes)
        ]


EXPECT = {
    "bench": b'"id":"chatcmpl-bench"',
    "passthrough": b'"id":"chatcmpl-bench"',
    "bench-paced": b"data: [DONE]",
    "passthrough-paced": b"data: [DONE]",
    "off": b'"outcome":"unfiltered"',
    "judged": b'"outcome":"accepted"',
}
"""Text that a correct response contains. With the filter on, a response must also have the outcome of the trial."""


@dataclass(slots=True)
class Setting:
    """The data and the servers that the parts of a run share."""

    folder: Path
    server_cores: set[int]
    upstream: Server
    candidates: list[list[Exchange]]
    key: str
    """API key of the clients, with every kind of limit."""

    @property
    def config(self) -> Path:
        return self.folder / "config.yaml"

    @contextmanager
    def bare(self) -> Iterator[Server]:
        """Run the bare pass-through within a `with` block."""
        arguments = ["-m", "bench.bare", self.upstream.address]
        with run_server(arguments, self.server_cores, self.folder / "bare.log") as server:
            yield server

    @contextmanager
    def caf(self, *options: str, config: Path | None = None, log: str = "caf.log") -> Iterator[Server]:
        """Run `caf serve` within a `with` block.

        Args:
            options: Options of the Python interpreter.
            config: Configuration file; default: `self.config`.
            log: Name of the file for standard error.
        """
        arguments = [*options, "-m", "cli", "serve", "--config", str(config or self.config), "--port", "0"]
        with run_server(arguments, self.server_cores, self.folder / log, "CAF serves") as server:
            yield server

    def first(self, address: str, model: str) -> Request:
        """Return the first request of the first conversation. Any outcome is accepted."""
        body = client_body(model, self.candidates[0], 0, 0, [])
        return load.request(address, body, b'"choices":', self.key)

    def judged_talks(self, address: str) -> list[Talk]:
        """Return one-turn conversations for the wrapped chatbot. Every question is unique."""
        talks: list[Talk] = []
        for number, (first, *_) in enumerate(self.candidates):
            asked = replace(first, question=f"{load.USER.decode()} asks: {first.question}")
            body = client_body("judged", [asked], 0, 2 * number, [])
            talks.append([load.request(address, body, EXPECT["judged"], self.key)])
        return talks

    def play_all(self, caf: Server) -> tuple[list[PlayedConversation], dict[str, int]]:
        """Play every conversation once with the guarded chatbot, and keep the conversations with unchanged replies.

        The load generator repeats the kept conversations, so that each second request continues the first request.

        Returns:
            The kept conversations, and the number of replies by outcome.
        """
        played, outcomes = [], dict[str, int]()
        for number, exchanges in enumerate(self.candidates):
            delivered: list[str] = []
            seen: list[str] = []
            for n in range(len(exchanges)):
                body = client_body("on", exchanges, n, 2 * number + n, delivered) | {"metadata": {"bench": "trial"}}
                one = load.request(caf.address, body, b"", self.key)
                response = ask(caf.address, one.before + b"trial-%06d" % number + one.after)
                if fault := load.fault_of(response, b""):
                    raise RuntimeError(f"trial with the guarded chatbot: {fault}: {response[-500:]!r}")
                answer: dict[str, Any] = load.body_of(response)
                outcome = answer["caf"]["outcome"]
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
                if outcome not in ("accepted", "warned"):
                    break
                seen.append(outcome)
                delivered.append(answer["choices"][0]["message"]["content"])
            else:
                played.append(PlayedConversation(number, exchanges, delivered, seen, self.key))
        if len(played) < FEWEST:
            raise RuntimeError(
                f"trial with the guarded chatbot: {len(played)} of {len(self.candidates)} conversations were delivered as "
                f"drafted ({outcomes}): expected at least {FEWEST}"
            )
        return played, outcomes


@contextmanager
def setting(folder: Path) -> Iterator[Setting]:
    """Write the conversations and the configuration, and run the mock upstream within a `with` block."""
    load_cores, server_cores = cores()
    os.environ.setdefault("CAF_BENCH_KEY", "sk-bench-upstream")
    library = load_library(ROOT / "knowledge_base" / "schizophrenia")
    candidates = conversations(library, lambda q: [choice.id for choice in library.index.choose(q, "", 2)], CANDIDATES)
    key = keys.create(
        "bench",
        ("admin", "chat"),
        requests_per_minute=NO_LIMIT,
        tokens_per_minute=NO_LIMIT,
        daily_budget=NO_LIMIT,
        max_concurrent=NO_LIMIT,
    )
    keys.save([key.record], folder / "keys.json")
    replies = folder / "replies.json"
    replies.write_text(json.dumps([exchange.reply for talk in candidates for exchange in talk]))
    with ExitStack() as stack:
        upstream = stack.enter_context(
            run_server(["-m", "bench.upstream", str(replies)], load_cores, folder / "upstream.log")
        )
        (folder / "config.yaml").write_bytes(orjson.dumps(configuration(upstream.address, folder)))
        yield Setting(folder, server_cores, upstream, candidates, key.text)
