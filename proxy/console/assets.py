"""Style sheets and scripts: files of `static`, read once."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from aiohttp import hdrs, web

from proxy.console.render import HEADERS

TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Asset:
    body: bytes
    content_type: str
    tag: str
    """Changes with the body."""


@cache
def assets() -> dict[str, Asset]:
    """Return all of them, by file name."""
    found = {}
    for file in files("proxy.console").joinpath("static").iterdir():
        kind = TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            body = file.read_bytes()
            found[file.name] = Asset(body, kind, f'"{hashlib.blake2b(body, digest_size=8).hexdigest()}"')
    return found


async def asset(request: web.Request) -> web.Response:
    """Answer with a style sheet or script. They hold nothing of anybody, and so are for everyone."""
    found = assets().get(request.match_info["name"])
    if found is None:
        raise web.HTTPNotFound
    headers = {**HEADERS, "Cache-Control": "no-cache", "ETag": found.tag}
    if request.headers.get(hdrs.IF_NONE_MATCH) == found.tag:
        return web.Response(status=304, headers=headers)
    return web.Response(body=found.body, content_type=found.content_type, charset="utf-8", headers=headers)
