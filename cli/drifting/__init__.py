"""`caf drift`: options and output of its verbs; what they do is in `scoring/experiments`.

app.py       the verbs and their order; two runs compared
run.py       an experiment file, run and reported
find.py      a checkpoint found
"""
