"""`caf judges`: measure the judges, and make them better by what was measured.

app.py         the verbs and their order
evaluate.py    eval: how good the judges are
bench.py       what the verbs share: which judges, which cases, models with memory and budget, progress
figures.py     figures in a terminal
"""
