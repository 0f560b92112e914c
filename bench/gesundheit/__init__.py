"""Fits the matcher of Gesundheit, and measures it on messages whose authors did not see it.

fit      fits weights and thresholds on the tuning split of `scenarios/gesundheit/questions.jsonl`
measure  prints the table of docs/gesundheit.md from the held-out split
"""
