"""Experiments that measure the effect of the filter, with confidence intervals.

In reading order:

    rubric.md      what each score means
    score.py       pure: computes the score from a rater's observation
    experiment.py  the experiment file
    plan.py        pure: the samples of a run
    arm.py         the arms: a proxy in this process, or another server
    runner.py      holds the conversations and has them rated
    transcript.py  the lines that a run writes; folder.py the folder that holds them
    rows.py        joins transcripts with ratings, for statistics and reports
    raters/        automatic raters: a model, or code
    experiments/   runs experiments on the chatbots of a configuration
    people/        people as raters
    statistics/    estimates with confidence intervals
    reports/       summary.json, scores.csv, report.html
"""
