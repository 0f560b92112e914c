"""Forwarding requests and relaying responses unchanged."""

import asyncio
import gzip

import pytest
from aiohttp import web

from models.engine import Forwarded
from models.errors import UpstreamGarbled, UpstreamRefused, UpstreamTimeout, UpstreamUnavailable
from models.openai_engine import OpenAIEngine
from models.settings import ModelSettings
from tests.models.conftest import KEY, cut, drip, give, hang, refuse, stream

RAW = b'{"model": "m",   "messages": [], "odd": 1.0}'


async def read(answer: Forwarded) -> bytes:
    assert answer.chunks is not None
    async with answer:
        return b"".join([chunk async for chunk in answer.chunks])


async def test_bytes_are_not_touched(models_at, upstream):
    """White space and the spelling of numbers stay unchanged in both directions."""
    upstream.replies = [give(b'{"choices":  [1.00]}', 200, X_Request_Id="r-1")]
    answer = await models_at().forward("judge", RAW, {})
    assert upstream.raw == [RAW]
    assert (answer.status, answer.body, answer.chunks) == (200, b'{"choices":  [1.00]}', None)
    assert answer.headers == {"Content-Type": "application/json", "X-Request-ID": "r-1"}


async def test_clients_secrets_stay_with_the_proxy(models_at, upstream):
    """The client's key, cookies and account are not forwarded. Trace and idempotency headers are."""
    client = {"Authorization": "Bearer client", "Cookie": "a=b", "OpenAI-Organization": "o", "Idempotency-Key": "i-1"}
    await models_at().forward("judge", RAW, client | {"Content-Type": "text/evil"})
    got = upstream.headers[0]
    assert (got["Authorization"], got["Idempotency-Key"]) == (f"Bearer {KEY}", "i-1")
    assert got["Content-Type"] == "application/json"
    assert not {"Cookie", "OpenAI-Organization"} & set(got)


async def test_upstreams_account_stays_hidden(models_at, upstream):
    """Rate limit and timing headers are relayed. Cookies and the organisation are not."""
    headers = {"OpenAI_Organization": "acme", "Set_Cookie": "a=b", "OpenAI_Processing_Ms": "7", "Server": "x"}
    upstream.replies = [give(b"{}", 200, X_RateLimit_Remaining_Requests="9", **headers)]
    answer = await models_at().forward("judge", RAW, {})
    assert set(answer.headers) == {"Content-Type", "OpenAI-Processing-Ms", "X-RateLimit-Remaining-Requests"}


@pytest.mark.parametrize("status", [400, 404, 409, 413, 422, 429])
async def test_errors_are_relayed_once(models_at, upstream, status):
    """The client gets the upstream's error and may retry itself."""
    upstream.replies = [refuse(status, message="why", Retry_After="3")]
    answer = await models_at().forward("judge", RAW, {})
    assert (answer.status, answer.headers["Retry-After"]) == (status, "3")
    assert answer.body is not None
    assert b"why" in answer.body
    assert len(upstream.raw) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 529])
async def test_a_fault_of_the_upstreams_is_raised(models_at, upstream, status):
    """An error page may quote the request with the proxy's key."""
    upstream.replies = [refuse(status, message=f"Authorization: Bearer {KEY}", Retry_After="3")]
    with pytest.raises(UpstreamUnavailable, match=str(status)) as raised:
        await models_at().forward("judge", RAW, {})
    assert KEY not in str(raised.value)
    assert raised.value.retry_after == 3
    assert len(upstream.raw) == 1


@pytest.mark.parametrize("reply", [refuse(401, message=KEY), refuse(403), give(b"", 308, Location="http://else.where")])
async def test_trouble_with_our_own_key_or_address_is_raised(models_at, upstream, reply):
    """A relayed 401 would suggest that the client's key is wrong, and may quote the proxy's key."""
    upstream.replies = [reply]
    with pytest.raises(UpstreamRefused, match="'judge'") as raised:
        await models_at().forward("judge", RAW, {})
    assert KEY not in str(raised.value)


async def test_stream_is_relayed_as_it_comes(models_at, upstream):
    """The first event arrives before the upstream has finished."""
    go = asyncio.Event()

    async def wait(request):
        await go.wait()

    upstream.replies = [stream(b"data: 1\n\n", then=wait)]
    async with await models_at().forward("judge", RAW, {}) as answer:
        assert answer.body is None
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.chunks is not None
        assert await asyncio.wait_for(anext(answer.chunks), 1) == b"data: 1\n\n"
        go.set()
        with pytest.raises(StopAsyncIteration):
            await anext(answer.chunks)


async def test_leaving_a_stream_closes_the_connection(models_at, upstream):
    """If the client disconnects, the upstream stops generating tokens."""
    upstream.replies = [stream(b"data: 1\n\n", then=hang)]
    async with await models_at().forward("judge", RAW, {}) as answer:
        assert answer.chunks is not None
        await anext(answer.chunks)
        assert not upstream.left.is_set()
    await asyncio.wait_for(upstream.left.wait(), 2)


async def test_closing_the_chunks_alone_closes_the_connection(models_at, upstream):
    """Closing or cancelling the iterator closes the upstream connection."""
    upstream.replies = [stream(b"data: 1\n\n", then=hang)]
    answer = await models_at().forward("judge", RAW, {})
    assert answer.chunks is not None
    await anext(answer.chunks)
    await answer.chunks.aclose()
    await asyncio.wait_for(upstream.left.wait(), 2)


async def test_stream_that_is_never_read_can_be_closed(models_at, upstream):
    """Closing works before the first chunk."""
    upstream.replies = [stream(b"data: 1\n\n", then=hang)]
    answer = await models_at().forward("judge", RAW, {})
    await answer.close()
    await answer.close()
    await asyncio.wait_for(upstream.left.wait(), 2)


@pytest.mark.parametrize("reply", [hang, stream(b"data: 1\n\n", then=hang)])
async def test_cancelling_closes_the_connection(models_at, upstream, reply):
    """Cancellation before the headers or within the stream closes the upstream connection."""
    upstream.replies = [reply]

    async def relay():
        return await read(await models_at().forward("judge", RAW, {}))

    task = asyncio.create_task(relay())
    await asyncio.sleep(0.15)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(upstream.left.wait(), 2)


async def test_broken_stream_is_an_error(models_at, upstream):
    """An interrupted stream must not look complete."""

    async def abort(request):
        await asyncio.sleep(0.05)
        request.transport.abort()

    upstream.replies = [stream(b"data: 1\n\n", then=abort)]
    answer = await models_at().forward("judge", RAW, {})
    with pytest.raises(UpstreamUnavailable, match="'judge', step 'forward'"):
        await read(answer)


async def test_silent_stream_times_out(models_at, upstream):
    """`timeout_s` limits the time between two chunks."""
    upstream.replies = [stream(b"data: 1\n\n", then=hang)]
    answer = await models_at(timeout_s=0.2).forward("judge", RAW, {})
    with pytest.raises(UpstreamTimeout):
        await read(answer)


@pytest.mark.parametrize(
    ("reply", "error"), [(cut, UpstreamUnavailable), (hang, UpstreamTimeout), (drip, UpstreamTimeout)]
)
async def test_broken_answer_is_an_error(models_at, upstream, reply, error):
    """An incomplete body is not relayed, and forwarding never retries."""
    upstream.replies = [reply]
    with pytest.raises(error, match="'judge', step 'forward'"):
        await models_at(timeout_s=0.2).forward("judge", RAW, {})
    assert len(upstream.raw) == 1


@pytest.mark.parametrize("chunked", [True, False])
async def test_huge_answer_is_not_read_to_its_end(session, upstream, chunked):
    """The limit applies with and without Content-Length."""
    upstream.replies = [chunked_json(b"x" * 5000) if chunked else give(b"x" * 5000)]
    settings = ModelSettings(engine="openai", base_url=upstream.url)
    engine = OpenAIEngine(settings, session, {}, max_answer=4000)
    with pytest.raises(UpstreamGarbled, match="4000 bytes"):
        await engine.forward(RAW, {})
    with pytest.raises(UpstreamGarbled, match="4000 bytes"):
        await engine.complete({})


async def test_compressed_bomb_is_not_read_to_its_end(session, upstream):
    """The limit applies to the size after decompression."""
    upstream.replies = [give(gzip.compress(b"x" * 500_000), Content_Encoding="gzip")]
    engine = OpenAIEngine(ModelSettings(engine="openai", base_url=upstream.url), session, {}, max_answer=100_000)
    with pytest.raises(UpstreamGarbled, match="100000 bytes"):
        await engine.complete({})


async def test_connections_are_used_again(models_at, upstream):
    """Two consecutive requests share a connection."""
    models, ports = models_at(), []

    async def port(request):
        ports.append(request.transport.get_extra_info("peername")[1])
        return await give(b"{}")(request)

    upstream.replies = [port]
    await models.forward("judge", RAW, {})
    await models.forward("judge", RAW, {})
    assert len(set(ports)) == 1


def chunked_json(body: bytes):
    async def reply(request):
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(body)
        return response

    return reply
