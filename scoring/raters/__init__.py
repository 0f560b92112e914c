"""Automatic raters: a model or code describes the content of a reply, from which `scoring/score.py` computes the score.

rater.py        the protocol; a model as rater, with its prompt rater.md
local_rater.py  a rater without a model, which compares words
"""
