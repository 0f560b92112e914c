"""`caf drift`: options and output of its verbs; what they do is in `scoring/experiments`.

app.py       the verbs and their order
run.py       an experiment file, run and reported
find.py      a checkpoint found
compare.py   two runs
"""
