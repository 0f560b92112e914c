"""Judges and a refiner that work without a model. README.md lists their accuracy.

`judges.judge` and `judges.refiner` import these modules at the first use of a local stage or of the local refiner.

    reply.py       judges the claims and the role of a reply, and refines a reply (negators.yaml, role.txt)
    emergency.py   looks for signs of danger in the user's messages
    explicit.py    matches explicit words of danger in eight languages (patterns/)
    classifier.py  computes a margin for danger from learned weights (weights/)
    spelling.py    corrects the spelling of a text, for the classifier (spelling.txt)
"""
