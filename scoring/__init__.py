"""Experiments: whether the filter helps, by how much, and how sure that is.

In reading order:

    rubric.md         what each score means
    score.py          pure: from a rater's observation to the score
    rater.py          a model as rater; local_rater.py one without a model
    experiment.py     what an experiment file says
    transcript.py     what a run writes down
    runner.py         runs it: arms x facilitators x checkpoints x samples x turns
    rows.py           transcripts and ratings joined: what statistics and reports read
    statistics.py     shares, paired differences, recovery, with their uncertainty; agreement.py of raters
    rating_page.py    pages for human raters, and reading them back
    summary.py        summary.json and scores.csv; report.py report.html
"""
