"""Authenticates requests, and checks their permissions."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp import HttpVersion11, web
from aiohttp.hdrs import AUTHORIZATION, HOST, ORIGIN

from proxy.auth.key_ring import KeyRing
from proxy.auth.keys import KeyRecord, Permission
from proxy.auth.loopback import is_loopback
from proxy.config.chatbot_settings import FilterMode
from proxy.protocol.errors import BadRequest, Forbidden, Unauthorized

FILTER_HEADER = "X-CAF-Filter"


@dataclass(frozen=True, slots=True)
class Access:
    """The identity and the permissions of the client that sent a request."""

    key_id: str
    """Id of the client's key, which is part of each conversation's identity. On a proxy without keys: a hash of the key that the
    client sent, or `keyless`."""
    permissions: frozenset[Permission]
    """The client's permissions. A proxy without keys uses the same names."""
    key: KeyRecord | None = None
    """The client's key with its limits; None on a proxy without keys."""

    def may(self, permission: Permission) -> bool:
        """Return whether the client has a permission."""
        return permission in self.permissions

    def may_ask(self, chatbot: str) -> bool:
        """Return whether the client may use and list a chatbot."""
        return self.key is None or self.key.chatbots is None or chatbot in self.key.chatbots

    def visible_chatbots(self, names: Iterable[str]) -> list[str]:
        """Return the chatbots that the client may use."""
        return [name for name in names if self.may_ask(name)]


GRANTED = web.RequestKey("granted", Access)
"""The access of a request that a console session has authenticated. Such a request has no API key in its headers."""


def authorize(
    headers: Mapping[str, str], keys: KeyRing | None, needed: Permission = "chat", *, direct: bool = False
) -> Access:
    """Authenticate a client and check its permission.

    Args:
        headers: The headers of the request.
        keys: The proxy's keys; None: the proxy has no keys.
        needed: The permission that the request needs.
        direct: Whether the request comes directly from this machine (see `asks_directly`). Used only without keys.

    Raises:
        Unauthorized: The proxy has keys, and the client sent no valid key.
        Forbidden: The client lacks the permission.
    """
    if keys is None:
        access = keyless_access(headers, direct=direct)
        if needed != "chat" and not direct:
            raise Forbidden(f"This request needs the permission `{needed}`. {ASK_DIRECTLY}")
        return access
    scheme, _, text = headers.get(AUTHORIZATION, "").partition(" ")
    record = keys.find(text.strip() if scheme.lower() == "bearer" else "")
    if record is None:
        raise Unauthorized
    if needed not in record.permissions:
        raise Forbidden(
            f"This request needs the permission `{needed}`, which the key does not have. Use a key with this permission."
        )
    return key_access(record)


def key_access(record: KeyRecord) -> Access:
    """Return the access of a client with this key."""
    return Access(record.id, frozenset(record.permissions), record)


def keyless_access(headers: Mapping[str, str], *, direct: bool = False) -> Access:
    """Return the access of a client to a proxy without keys, which listens on loopback only.

    A program on this machine that connects directly gets the permissions `DIRECT`. A request through another server or from a web
    page gets only `chat`.
    """
    sent = headers.get(AUTHORIZATION, "")
    key_id = hashlib.blake2b(sent.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest() if sent else "keyless"
    return Access(key_id, DIRECT if direct else frozenset({"chat"}))


DIRECT: frozenset[Permission] = frozenset({"chat", "unfiltered", "evidence", "act"})
_PROXY_HEADERS = ("forwarded", "via", "x-forwarded-", "x-real-ip")
"""Prefixes of headers that other servers add."""
ASK_DIRECTLY = (
    "A proxy without keys grants it to programs on this machine that connect directly to localhost or a loopback address. "
    "For other clients, configure `keys`."
)


def asks_directly(request: web.BaseRequest, cors_origins: Collection[str] = ()) -> bool:
    """Return whether a request comes directly from a program on this machine: not through another server or from a web page.

    A reverse proxy on this machine makes remote clients look local. Such servers add headers, or speak HTTP/1.0 like nginx, which
    by default adds no header and replaces the Host. With DNS rebinding, a web page reaches loopback under its own host name, so
    the Host and the Origin must be loopback addresses.

    Args:
        request: The request.
        cors_origins: Origins whose pages may send requests from a browser. Their requests never count as direct, even if the
            origin is on this machine, because the browser does not block them as it blocks other pages.
    """
    headers = request.headers
    if headers.get(ORIGIN) in cors_origins:
        return False
    if request.version < HttpVersion11 or any(name.lower().startswith(_PROXY_HEADERS) for name in headers):
        return False
    addresses = [f"//{headers.get(HOST, '')}", *([headers[ORIGIN]] if ORIGIN in headers else [])]
    return all(is_loopback(_host_of(address)) for address in addresses)


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def requested_filter(headers: Mapping[str, str], access: Access, configured: FilterMode) -> FilterMode:
    """Return the filter mode of a request: the configured mode, or the mode in the header `X-CAF-Filter`.

    Raises:
        BadRequest: The header contains an unknown mode.
        Forbidden: The client lacks the permission.
    """
    header = headers.get(FILTER_HEADER)
    if header is None:
        return configured
    mode = MODES.get(header.strip().lower())
    if mode is None:
        raise BadRequest(f"{FILTER_HEADER} must be on, off or shadow, not {header[:20]!r}.", param=FILTER_HEADER)
    if mode != configured and not access.may("unfiltered"):
        needs = f"Changing the filter with {FILTER_HEADER} needs the permission `unfiltered`."
        raise Forbidden(needs if access.key else f"{needs} {ASK_DIRECTLY}", param=FILTER_HEADER)
    return mode


MODES: dict[str, FilterMode] = {"on": "on", "off": "off", "shadow": "shadow"}
