"""`caf judges`: options and output of its verbs; what they decide is in `judges/evaluation`.

app.py          the verbs and their order
evaluate.py     eval: how good the judges are; figures.py prints it
compare.py      compare: two prompts, stages or models on the same cases; figures.py prints it too
tune.py         tune: a model edits a judge's prompt until it is measurably better; tune_report.py prints it
options.py      the options that they share
output.py       progress, pages, and what is wrong with somebody's files
"""
