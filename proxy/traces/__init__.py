"""Traces: records of turns with their evidence, stored for the configured time.

trace.py         the trace of one turn
redaction.py     removes its texts
store.py         records traces while the proxy runs: a queue and a thread
backend.py       the storage: sqlite.py, or postgresql.py and migration.py; schema.py: the tables of both
query.py         queries by id and time, and purging
shadow.py        counts of what the filter would have done
labels.py        the verdicts that people give on traced turns
turn_label.py    checks a label against its turn; judged_draft.py: the draft that labels refer to

facts.py         fields for filters and counts, derived from a trace
fact_query.py    a filter of turns, and its SQL
search.py        lists of turns, page by page
emergencies.py   the inbox of emergencies, and the number of false alarms
counts.py        counts over time, and use of sections
"""
