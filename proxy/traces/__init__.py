"""What happened in each turn, with its evidence; kept for as long as the configuration says.

trace.py         the trace of one turn
redaction.py     removes its texts
store.py         records traces while the proxy runs: a queue and a thread
backend.py       where they are: sqlite.py, or postgresql.py and migration.py; schema.py: the tables of both
query.py         queries by id and time, and purging
shadow.py        what the filter would have done, counted
labels.py        what a person says of a traced turn
turn_label.py    checks a label against its turn; judged_draft.py: the draft that labels are about

facts.py         what lists filter on and count, derived from a trace
fact_query.py    which turns: a filter, and its SQL
search.py        lists of turns, page by page
emergencies.py   the inbox of emergencies, and how often they were none
counts.py        what happened over time, which sections are used
"""
