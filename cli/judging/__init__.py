"""`caf judges`: options and output of its commands; the measurements are in `judges/evaluation`.

app.py          the commands and their order
evaluate.py     eval: measures the judges; figures.py prints the result
compare.py      compare: two prompts, stages or models on the same cases; figures.py prints the result
tune.py         tune: a model edits a judge's prompt until it is measurably better; tune_report.py prints the result
options.py      shared options
output.py       progress, pages, and errors in files
"""
