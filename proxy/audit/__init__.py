"""The audit log: what the proxy did, in chains that show when somebody has changed them.

records.py  its records; admin.py: those of administrative actions
log.py      writes it: a queue and a thread
chain.py    its lines, each bound to the one before
folder.py   reads and checks its files
"""
