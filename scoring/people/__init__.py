"""People as raters: makes pages on which people rate replies, and reads the returned ratings.

sheet.py             the replies for a rater, in order, and the key of the page's ids
page.py              the page
export.py            writes the pages of several raters without overwriting others
returned_ratings.py  checks the ratings that a rater returned
folder.py            the files of a run that concern raters
survey.py            a study's survey: its form, its page and the table of answers
"""
