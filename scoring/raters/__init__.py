"""Raters: what states what is in a reply.

rater.py        the protocol; a model as rater, with its prompt rater.md
local_rater.py  one without a model, which counts words
"""
