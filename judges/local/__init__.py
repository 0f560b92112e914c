"""Judges and a refiner without a model: rules and weighed words, about a millisecond for all of them together.

README.md says how far to trust them.

Reading order:

    language.py          is a text English, and plain enough to be read at all; tongues.py, common words of each language
    text.py              a text, normalised and cut into sentences
    reading.py           what a sentence says, and what each word contributes
    lexicon.py           the words: without content, alike, opposite, everyday, drugs
    reply.py, acts.py    what each clause of a reply does: asserts, admits, refers, refuses, greets ...
    talk.py              sentences that assert nothing, told by how they are phrased
    index.py             a source, prepared for reading sentences against it
    support.py           how far the cited sources carry a sentence; leave.py: what permits what they forbid
    conflicts.py         what it gets wrong in their words: numbers, names, polarity, certainty, conditions
    topics.py            which sensitive topic it touches
    claims.py            the form for source_fidelity and transparency, filled in from all of these
    refine.py            a rejected reply, cut down to what its sources support
    spelling.py          the words of a text typed in haste or distress; spellings.py, how people write
    trees.py, vectors.py, table.py   what was learned: boosted trees, word vectors, weights
    evidence.py          how strongly words speak for a class, by learned weights (weights/, made by judges/training)
    incoherence.py       word salad
    role.py              which parts the reply plays that the chatbot does not have
    emergency.py         signs of danger in what the user wrote; aftermath.py: what tells of it after a crisis only
"""
