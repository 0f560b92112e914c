"""Recognises loopback addresses, to which only this machine can connect."""

import ipaddress
from functools import lru_cache


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Return whether a host is `localhost` or a loopback IP address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
