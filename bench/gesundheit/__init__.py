"""Gesundheit: fitting its matcher, and measuring it on messages that were written without sight of it.

fit      weights and thresholds from the tuning split of `scenarios/gesundheit/questions.jsonl`
measure  the table of docs/gesundheit.md from the held-out split
"""
