"""What a run comes to, for programs and for people.

summary.py     summary.json and scores.csv: effect.py, specificity.py, rater_agreement.py, origin.py, readability.py are its parts
report.py      report.html: figures.py and svg.py draw it, showcase.py picks the exchanges that it shows
headline.py    what a run shows, in a sentence; caveats.py what to keep in mind
comparison.py  two runs beside each other
"""
