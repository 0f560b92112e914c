"""Where the weights of the local judges come from: labelled texts, and what learns from them.

    emergency.jsonl, ordinary.jsonl     messages with their labels, written for this purpose; nobody's real messages
    train.py                            learns the weights of the emergency judge; emergencies.py: its hits and false alarms
    grounded.jsonl                      replies with a source and a label, on which the local judge of claims was chosen
    claims_dev.jsonl                    replies by an author who had seen neither code nor docs; looked at while the rule was chosen
    claims_holdout.jsonl                the same by another such author; measured once, nothing was chosen on it
    role.jsonl                          replies that play a part or do not: `caf judges eval -j role --stage local --data FILE`
    vectors.py                          makes the word vectors

Not needed to serve.
"""
