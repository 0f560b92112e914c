"""What Hippocrates must show, each with its command.

discovery.py  how well databases are found on 200 simulated ones, beside the method of the thesis
thesis.py     that method
slots.py      slot filling by the grammar: which share of phrasings fills exactly the right slots, and which a wrong one
planner.py    the same for a language model that reads what the grammar does not
"""
