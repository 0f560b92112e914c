"""Authentication, permissions and limits of clients.

keys.py          API keys: created, stored as salted hashes, compared
key_ring.py      the keys of a running proxy, from a file and the environment; required beyond loopback
loopback.py      loopback addresses
access.py        permissions of a request
throttle.py      limit on failed authentications per address
limits.py        limits of a key: requests and tokens per minute, daily budget, concurrent requests
redis_limits.py  the same limits, shared by several processes
"""
