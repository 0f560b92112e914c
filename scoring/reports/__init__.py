"""What a run comes to, for programs and for people.

summary.py     summary.json and scores.csv; its parts are effect.py, specificity.py, calls.py, rater_agreement.py,
               readability.py
report.py      report.html: figures.py draws its plots, showcase.py picks the exchanges that it shows
headline.py    what a run shows, in a sentence; caveats.py what to keep in mind
comparison.py  two runs beside each other
"""
