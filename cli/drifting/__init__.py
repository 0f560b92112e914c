"""`caf drift`: options and output of its commands; `scoring/experiments` runs the experiments.

app.py       the commands and their order; `caf drift compare`
run.py       `caf drift run`: runs an experiment and prints the report
find.py      `caf drift find`: makes a checkpoint
"""
