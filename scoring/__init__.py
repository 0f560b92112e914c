"""Experiments: whether the filter helps, by how much, and how sure that is.

In reading order:

    rubric.md      what each score means
    score.py       pure: from a rater's observation to the score
    experiment.py  what an experiment file says
    plan.py        pure: the samples that it consists of
    arm.py         whatever answers: a proxy of ours, any other server
    runner.py      has the conversations, and lets raters see them
    transcript.py  the lines that it writes down; folder.py where
    rows.py        transcripts and ratings joined: what statistics and reports read
    raters/        who rates
    experiments/   an experiment run on chatbots of a configuration
    people/        people as raters
    statistics/    numbers with their uncertainty
    reports/       summary.json, scores.csv, report.html
"""
