"""Judges and a refiner without a model. README.md has their figures.

`judges.judge` and `judges.refiner` import these modules at the first use of a local stage or of the local refiner.

    reply.py       claims by one rule, roles by phrases, and the refiner; words in negators.yaml and role.txt
    emergency.py   signs of danger in the user's messages
    explicit.py    explicit words of danger, in eight languages (patterns/)
    classifier.py  a margin for danger, by learned weights (weights/)
    spelling.py    the words of texts with typing errors
"""
