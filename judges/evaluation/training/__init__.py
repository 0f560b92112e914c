"""Labelled texts for the local judges, and the code that learns the weights of the emergency judge from them.

    emergency.jsonl, ordinary.jsonl     labelled messages, written for training; no real messages
    train.py                            learns the weights of the emergency judge
    emergencies.py                      counts the hits and false alarms of the emergency judge
    grounded.jsonl                      replies with a source and a label, used to choose the local rule for claims
    claims_dev.jsonl                    replies by an author who had seen neither code nor docs, also used to choose the rule
    claims_holdout.jsonl                replies by another such author; measured once, not used for any choice
    role.jsonl                          replies that play a part or do not: `caf judges eval -j role --stage local --data FILE`
    vectors.py                          creates the word vectors

The proxy does not need this package to serve.
"""
