"""`caf judges`: measure the judges, and make them better by what was measured.

app.py         the verbs and their order
evaluate.py    eval: how good the judges are
compare.py     compare: two prompts, stages or models on the same cases
tune.py        tune: a model edits a judge's prompt until it is measurably better; tune_report.py shows it and writes it
calibrate.py   calibrate: how much the local judges may settle by themselves; calibration.py shows it, thresholds.py writes it
bench.py       what the verbs share: which judges, which cases, models with memory and budget, progress
shipped_scenarios.py     the scenarios that come with CAF, and the role and sections that they are about
holdout_uses.py       how often held-out cases have been looked at
figures.py     figures in a terminal
"""
