"""Judges and a refiner without a model: they compare words, in a few milliseconds for all of them together.

They know no subject. README.md says how far to trust them. Nothing outside imports them but `judges.judge` and
`judges.refiner`, when a local stage or the local refiner is first asked.

Reading order:

    language.py          is a text in the language that is expected, and plain enough to be read at all
    claims.py            the form for source_fidelity and transparency, by one rule; negators.yaml: its words of polarity
    refine.py            a rejected reply, cut down to what its sources support
    role.py              which parts the reply plays that the chatbot does not have: phrases
    spelling.py          the words of a text typed in haste or distress
    vectors.py           what was learned of words: how rare they are, and what they mean
    classifier.py        how strongly words speak for danger, by learned weights (weights/, made by judges/training)
    explicit.py          explicit words of danger, in eight languages
    programs.py          is a message written by a program
    emergency.py         signs of danger in what the user wrote
"""
