"""How well Hippocrates does what docs/hippocrates.md promises, each figure by a command of its own.

slots.py   slot filling by the grammar: which share of phrasings fills exactly the right slots, and which a wrong one
"""
