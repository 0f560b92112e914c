"""Measures the cost of attacks, and the latency of other clients during them: `python -m bench.attacks`.

__main__.py      the parts of a run in their order, the table
waits.py         latency of other clients during an attack
connections.py   bodies, connections and keys of clients without a valid key
hearing.py       long texts with a key over its limit
products.py      requests and answers with one or two large parts
sizes.py         messages designed to be slow to parse, at a size and at twice that size
"""
