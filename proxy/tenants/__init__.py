"""Who is asking, what they may do, and how much of it.

keys.py          API keys: salted hashes in a file or the environment
reach.py         whether strangers can connect, and the keys that they need then
access.py        what the key of a request may do
throttle.py      how often an address may fail to send a valid key
limits.py        requests and tokens a minute, money a day, requests at a time
redis_limits.py  the same, shared by several processes
"""
