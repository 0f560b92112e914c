"""The audit log: what the proxy did, in chains that show when somebody has changed them.

records.py  what it records; admin.py: of what is done by hand
log.py      writes it: a queue and a thread
chain.py    its lines, each bound to the one before
folder.py   reads and checks its files
"""
