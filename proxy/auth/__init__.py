"""Who is asking, what they may do, and how much of it.

keys.py          API keys: salted hashes, made, read and compared
key_ring.py      those of a running proxy, from a file and the environment; required where strangers can connect
loopback.py      which addresses only this machine can connect to
access.py        what the key of a request may do
throttle.py      how often an address may fail to send a valid key
limits.py        requests and tokens a minute, money a day, requests at a time
redis_limits.py  the same, shared by several processes
"""
