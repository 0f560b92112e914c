"""Estimates with confidence intervals. Pure.

estimate.py    a value with its interval; the cluster bootstrap
exact.py       intervals of shares that are valid near 0 and 1
paired.py      figures of an arm, and paired differences of two arms
recovery.py    turns until a reply is acceptable again
power.py       the smallest effect that an experiment can detect
agreement.py   agreement of raters
correction.py  rates corrected for a rater's error
"""
