"""Which addresses only this machine can connect to."""

import ipaddress
from functools import lru_cache


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
