"""Where the weights of the local judges come from: labelled texts, and what learns from them.

    emergency.jsonl, ordinary.jsonl     messages with their labels, written for this purpose; nobody's real messages
    train.py                            learns the weights of the emergency judge; emergencies.py: its hits and false alarms
    grounded.jsonl, sentences.jsonl     replies and sentences with their sources and labels, written likewise
    inversions.py                       sentences of sources, changed by a program so that they say something else
    claims.py                           learns the dozen weights of the judge of claims, and says what plain containment does
    role.jsonl                          replies that play a part or do not: `caf judges eval -j role --stage local --data FILE`
    vectors.py                          makes the word vectors

Not needed to serve.
"""
