"""Reports of a run: files for programs, and a page for people.

summary.py     summary.json and scores.csv; its parts are effect.py, specificity.py, calls.py, rater_agreement.py,
               readability.py
report.py      report.html: figures.py draws its plots, showcase.py selects the exchanges that it shows
headline.py    the result of a run in one sentence; caveats.py lists its limits
comparison.py  compares two runs
"""
