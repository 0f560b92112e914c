"""Authenticates clients, and enforces their permissions and limits.

keys.py          creates, stores, loads and checks API keys
key_ring.py      the keys of a running proxy, from a file and the environment; required beyond loopback
loopback.py      recognises loopback addresses
access.py        the permissions of a request
throttle.py      limit on failed authentications per address
limits.py        limits of a key: requests and tokens per minute, daily budget, concurrent requests
redis_limits.py  the same limits, shared by several processes
"""
