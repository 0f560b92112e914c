"""Judges and a refiner without a model. README.md has their figures.

They are imported when a local stage or the local refiner is first asked (`judges.judge`, `judges.refiner`).

    reply.py       claims by one rule, roles by phrases, and the refiner; negators.yaml, role.txt: their words
    emergency.py   signs of danger in what the user wrote
    explicit.py    explicit words of danger, in eight languages (patterns/)
    classifier.py  how strongly words speak for danger, by learned weights (weights/)
    spelling.py    the words of a text typed in haste or distress
"""
