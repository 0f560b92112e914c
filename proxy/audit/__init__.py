"""The audit log: a tamper-evident record of what the proxy did, kept in hash chains.

records.py  the records; admin.py: records of administrative actions
log.py      writes the log: a queue and a thread
chain.py    the lines of a chain, each with the hash of the previous one
folder.py   reads and checks the files
"""
