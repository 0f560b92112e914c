"""`caf drift`: experiments.

app.py       the verbs
run.py       an experiment file, run and reported
find.py      a facilitator let loose with the filter off, until the first drift: a checkpoint
compare.py   two runs
cast.py      everything that takes part in a run, opened: arms, facilitators' voice, raters
manifest.py  what a run was made of
outcome.py   a run's files read, its summary, table and report written
"""
