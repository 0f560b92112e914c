"""People as raters: pages to rate on, and what comes back.

sheet.py             which replies a rater gets, in which order; what the ids on the page stand for
page.py              the page
export.py            the pages of several raters, with nothing of others lost
returned_ratings.py  what a rater sent back, checked
folder.py            a run's folder, read and written for all this
survey.py            a study's form: the page to answer it on, and the table of the answers
"""
