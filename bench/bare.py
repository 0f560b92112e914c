"""The reference server of the benchmark: an aiohttp + uvloop pass-through that only forwards bytes.

python -m bench.bare http://127.0.0.1:PORT     prints the server's address; ends when its standard input is closed
"""

import asyncio
import sys
from collections.abc import AsyncIterator

import aiohttp
import uvloop
from aiohttp import web

SESSION = web.AppKey("session", aiohttp.ClientSession)
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer sk-upstream"}


def create_app(upstream: str) -> web.Application:
    url = f"{upstream}/v1/chat/completions"

    async def chat(request: web.Request) -> web.StreamResponse:
        async with request.app[SESSION].post(url, data=await request.read(), headers=HEADERS) as answer:
            if answer.content_type != "text/event-stream":
                return web.Response(status=answer.status, body=await answer.read(), content_type="application/json")
            response = web.StreamResponse(status=answer.status, headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            return response

    async def session(app: web.Application) -> AsyncIterator[None]:
        timeout, jar = aiohttp.ClientTimeout(total=None), aiohttp.DummyCookieJar()
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, cookie_jar=jar) as app[SESSION]:
            yield

    app = web.Application(client_max_size=4_000_000)
    app.cleanup_ctx.append(session)
    app.router.add_post("/v1/chat/completions", chat)
    return app


async def serve(upstream: str) -> None:
    """Serve until standard input is closed."""
    runner = web.AppRunner(create_app(upstream), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
