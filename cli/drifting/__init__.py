"""`caf drift`: options and output of its commands; `scoring/experiments` does the work.

app.py       the commands and their order; compare
run.py       runs an experiment and reports it
find.py      finds a checkpoint
"""
