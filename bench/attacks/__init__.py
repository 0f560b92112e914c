"""What attacks cost the server, and whom they keep waiting: `python -m bench.attacks`.

__main__.py      the parts of a run in their order, the table
waits.py         how long others wait during an attack
connections.py   bodies, connections and keys of clients that may not ask
hearing.py       long texts with a key that has nothing left
products.py      requests and answers that are large in one part or in two, beside others
sizes.py         messages made to be slow to read, at one size and at twice that
"""
