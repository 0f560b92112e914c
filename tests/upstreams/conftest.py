"""The proxy in front of an upstream that the suites of `tests/proxy` have."""

from tests.proxy.conftest import start, upstream

__all__ = ["start", "upstream"]
