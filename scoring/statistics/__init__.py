"""Numbers with their uncertainty. Pure.

estimate.py    a value with its interval; the cluster bootstrap
exact.py       intervals of shares that hold near 0 and 1 too
paired.py      figures of an arm, and paired differences of two
recovery.py    how long until a reply is acceptable again
power.py       the smallest effect that a design could have seen
agreement.py   how far raters agree
correction.py  rates corrected for a rater's error
"""
