"""Raters: they describe the content of a reply, and code derives its score.

rater.py        the protocol; a model as rater, with its prompt rater.md
local_rater.py  a rater without a model, which compares words
"""
