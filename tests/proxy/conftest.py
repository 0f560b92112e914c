"""A proxy on port 0 in front of an upstream on port 0, both real aiohttp servers."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from proxy.api.service import SERVICE
from proxy.app import create_app
from proxy.config.config import parse_config
from proxy.traces.trace import Trace

Body = dict[str, Any]

ASKED = "How much sleep do adults need?"
SLEEP = "[[cite: sleep]]\nMost adults need seven to nine hours of sleep."
"""A draft that its section supports."""
NUDGE = "Which supplements should I take, and how much?"
ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night. You should also stop eating gluten."
"""A draft that no source supports."""
HELLO = "[[cite: no_claims]]\nHello."
CRISIS = "I am going to end my life tonight"
SECTIONS = {
    "sleep": (
        "Sleep",
        "How much sleep helps, and what to do when sleep is poor.",
        "Most adults need seven to nine hours of sleep. Going to bed at the same time each night helps. "
        "Tell your doctor if you cannot sleep for several nights.",
    ),
    "work": (
        "Work",
        "Finding and keeping work, and support at the workplace.",
        "Many people with the condition want to work. Job coaches can help you find and keep a job. "
        "You do not have to tell your employer about your diagnosis.",
    ),
    "causes": (
        "Causes",
        "What causes the condition, such as genes, stress and drugs.",
        "Nobody knows one single cause. Genes play a part. Heavy cannabis use raises the risk.",
    ),
}


class Upstream:
    """An OpenAI-compatible server whose answers a test decides; it keeps every request it gets."""

    def __init__(self) -> None:
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.raw: list[bytes] = []
        """The requests as they came."""
        self.cancelled = 0
        """How many requests their client left before they were answered."""
        self.respond: Callable[[web.Request], Awaitable[web.StreamResponse]] | None = None
        """Answers in place of `answer`, for streams and broken connections."""
        self.answer: Callable[[Body], Any] = lambda body: "[[cite: no_claims]]\nHello."

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.raw.append(await request.read())
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        try:
            if self.respond is not None:
                return await self.respond(request)
            answer = self.answer(body)
            if isinstance(answer, Awaitable):
                answer = await answer
        except BaseException:
            self.cancelled += 1
            raise
        if isinstance(answer, web.StreamResponse):
            return answer
        return web.json_response(completion(answer, body) if isinstance(answer, str | list) else answer)


def completion(answer: str | list[Any], body: Body) -> Body:
    """Write an upstream's chat completion with one choice, or one for each entry."""
    answers = answer if isinstance(answer, list) else [answer]
    messages = [one if isinstance(one, dict) else {"role": "assistant", "content": one} for one in answers]
    return {
        "id": "chatcmpl-up",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": i, "message": m, "finish_reason": "stop"} for i, m in enumerate(messages)],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


class Proxy:
    """A running proxy and a client for it."""

    def __init__(self, url: str, session: aiohttp.ClientSession, upstream: Upstream, app: web.Application) -> None:
        self.url, self.session, self.upstream, self.app = url, session, upstream, app

    async def post(self, body: Body | bytes, headers: dict[str, str] | None = None) -> tuple[int, Body]:
        """Post a chat request; return status and decoded body."""
        kind = {"data": body} if isinstance(body, bytes) else {"json": body}
        async with self.session.post(f"{self.url}/v1/chat/completions", headers=headers, **kind) as response:
            return response.status, await response.json()

    async def say(self, *messages: str | Body, headers: dict[str, str] | None = None, **fields: Any) -> Body:
        """Send a conversation, texts alternating from the user on; return the completion."""
        status, body = await self.post({"model": "bot", "messages": dialogue(*messages), **fields}, headers)
        assert status == 200, body
        return body

    async def error(self, body: Body | bytes, headers: dict[str, str] | None = None) -> tuple[int, Body]:
        """Post what must fail; return the status and the error, after checking that it has OpenAI's form."""
        status, answer = await self.post(body, headers)
        assert status >= 400, answer
        assert set(answer) == {"error"}
        assert set(answer["error"]) == {"message", "type", "param", "code"}
        assert isinstance(answer["error"]["message"], str)
        assert answer["error"]["message"]
        return status, answer["error"]

    async def stream(self, *messages: str | Body, **fields: Any) -> bytes:
        """Send a conversation with `stream`; return the bytes of the events."""
        body = {"model": "bot", "messages": dialogue(*messages), "stream": True, **fields}
        headers = body.pop("headers", None)
        async with self.session.post(f"{self.url}/v1/chat/completions", json=body, headers=headers) as response:
            assert response.status == 200, await response.read()
            assert response.headers["Content-Type"].startswith("text/event-stream")
            return await response.read()

    def traces(self) -> list[Trace]:
        """Return the list that the traces of further turns will come to."""
        traces: list[Trace] = []
        self.app[SERVICE].watch = traces.append
        return traces

    async def get(self, path: str) -> tuple[int, str]:
        async with self.session.get(self.url + path) as response:
            return response.status, await response.text()


def dialogue(*messages: str | Body) -> list[Body]:
    """Write messages, texts alternating from the user on."""
    return [
        m if isinstance(m, dict) else {"role": ("user", "assistant")[i % 2], "content": m}
        for i, m in enumerate(messages)
    ]


def warnings_in(body: Body) -> list[str]:
    """Return the warnings that a request to the upstream carries."""
    return [m["content"] for m in body["messages"] if m["role"] == "system" and m["content"].startswith("[warning]")]


async def eventually(holds: Callable[[], Any], seconds: float = 3) -> None:
    """Wait for something that happens behind the request."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def text_of(body: Body) -> str:
    return body["choices"][0]["message"]["content"]


def screening(*problems: tuple[str, str, int], adds: bool = False) -> str:
    """Answer the screening call of the built-in judges of replies.

    Args:
        problems: By kind, quote and severity.
        adds: Whether the reply says anything that its sources do not.
    """
    found = [{"kind": kind, "quote": quote, "severity": severity} for kind, quote, severity in problems]
    return json.dumps({"problems": found, "adds": adds})


def claims(*assertions: Body, **more: Any) -> str:
    """Answer the chief's call about what a reply asserts; `played` as well where it is asked about the role too."""
    return json.dumps({"assertions": list(assertions), "admits_not_from_sources": "no", "asks_to_verify": "no", **more})


NO_PROBLEMS = screening()
UNPLAYED = json.dumps({"played": []})
"""The chief's answer where it is asked about the role alone, and sees none that is played."""


def judge_with(*stages: str) -> list[Body]:
    return [{"name": n, "stages": list(stages)} for n in ("emergency", "source_fidelity", "transparency", "role")]


def bot_settings(**changes: Any) -> Body:
    return {
        "kind": "guarded",
        "model": "chatbot",
        "role": "You are an information service about a health condition.",
        "knowledge_base": "kb",
        "judges": judge_with("local"),
        "refiner": "local",
        "sensitive_topics": ["medication"],
        "emergency": {
            "contact": "Call 112 now.",
            "texts": {"self_harm": {"en": "You matter. Call 112.", "de": "Ruf 112."}},
        },
        **changes,
    }


def write_sections(folder: Path) -> None:
    """Write a small knowledge base."""
    folder.mkdir()
    for name, (title, summary, text) in SECTIONS.items():
        front = f"---\nid: {name}\ntitle: {title}\nsummary: {summary}\nreferences: []\nreviewed_by: null\nreviewed_on: null\n---\n"
        (folder / f"{name}.md").write_text(front + text + "\n")


@pytest.fixture
async def upstream() -> Upstream:
    return Upstream()


Start = Callable[..., Awaitable[Proxy]]


@pytest.fixture
async def start(tmp_path: Path, upstream: Upstream) -> AsyncIterator[Start]:
    """Start a proxy: keyword arguments change the chatbot's settings, `alias` those of every model; `config` overrides sections."""
    write_sections(tmp_path / "kb")
    async with AsyncExitStack() as stack:

        async def serve(app: web.Application) -> str:
            runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            return f"http://127.0.0.1:{runner.addresses[0][1]}"

        async def begin(
            config: Body | None = None,
            chatbots: Body | None = None,
            alias: Body | None = None,
            models: Body | None = None,
            **changes: Any,
        ) -> Proxy:
            served = web.Application()
            served.router.add_post("/v1/chat/completions", upstream.handle)
            url = await serve(served)
            every = {"engine": "openai", "base_url": f"{url}/v1", "max_attempts": 1, **(alias or {})}
            data = {
                "models": {
                    name: every | {"model": f"up-{name}"}
                    for name in ("chatbot", "swift", "chief", "refiner", "retriever")
                }
                | (models or {}),
                "chatbots": chatbots or {"bot": bot_settings(**changes)},
                "privacy": {"store": "none"},
                **(config or {}),
            }
            app = create_app(parse_config(data, tmp_path / "config.yaml"))
            session = await stack.enter_async_context(aiohttp.ClientSession())
            return Proxy(await serve(app), session, upstream, app)

        yield begin
